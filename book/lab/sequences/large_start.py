"""An RNN that starts with recurrent weights 2.5 times too large, with and without clipping."""

import math

import numpy as np
import torch
from numpy import ndarray

from mathlm.models import Recurrent
from mathlm.optim import SGD
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.distributed import DeviceName


def train(
    text: bytes, threshold: float, seed: int, device: DeviceName = "cpu", steps: int = 60
) -> tuple[ndarray, ndarray]:
    """Losses [bits per byte] and gradient norms, of each step of plain gradient descent.

    Args:
        text: What is read, in windows of 48 bytes, 16 a step.
        threshold: Longest gradient that is not shortened; inf = never clip.
        seed: Of the weights.
        device: Where it is trained.
        steps: Number of updates.
    """
    windows = TokenWindows(
        np.frombuffer(text, np.uint8), context=48, batch_size=16, vocab_size=256
    )
    torch.manual_seed(seed)
    model = Recurrent(kind="rnn", d_model=64).to(device)
    model.layers.get_parameter("weight_hh_l0").data.mul_(2.5)
    config = TrainerConfig(steps=steps, clip=threshold, device=device)
    history = Trainer(model, next_token, windows, SGD(model.parameters(), lr=4.0), config).fit()
    losses = np.array([record["loss"] for record in history]) / math.log(2)
    return losses, np.array([record["grad_norm"] for record in history])
