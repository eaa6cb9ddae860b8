"""An RNN that starts with recurrent weights 2.5 times too large, with and without clipping.

    cd book
    python -m lab.sequences.large_start --record large-start.json

Takes about half a minute on one core. ``--seeds 1 --steps 3`` is a quick look.
"""

import argparse
import math
from collections.abc import Sequence

import numpy as np
import torch
from numpy import ndarray

from mathlm.models import Recurrent
from mathlm.optim import SGD
from mathlm.text import corpus
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.distributed import DeviceName
from mathlm.train.record import write_record


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


def main(argv: Sequence[str] | None = None) -> None:
    """Mean loss of the last third of each run, how many gradients exceed 1, and two courses."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", default="large-start.json")
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--steps", type=int, default=60)
    args, rows = parser.parse_args(argv), []
    text = corpus.split("shakespeare")[0].encode()
    for clip in (1.0, math.inf):
        for seed in range(args.seeds):
            losses, norms = train(text, clip, seed, steps=args.steps)
            end, long = losses[-max(1, args.steps // 3) :].mean(), int((norms > 1).sum())
            row = {"clip": clip, "seed": seed, "end": float(end), "long_steps": long}
            if seed == 0:  # the pair that the page draws
                row |= {"losses": losses.round(4).tolist(), "norms": norms.round(4).tolist()}
            rows.append(row)
    config = {"seeds": args.seeds, "steps": args.steps}
    write_record(args.record, config=config, device="CPU", runs=rows)


if __name__ == "__main__":
    main()
