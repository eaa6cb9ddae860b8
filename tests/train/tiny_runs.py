"""A model of a few weights and runs of a few steps."""

import hashlib

import torch
from torch import nn

from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token

IDS = [(i * i + i // 3) % 11 for i in range(200)]


def tiny_model(seed=1, dropout=0.1):
    torch.manual_seed(seed)
    return nn.Sequential(
        nn.Embedding(11, 6), nn.Linear(6, 6), nn.Tanh(), nn.Dropout(dropout), nn.Linear(6, 11)
    )


def tiny_data(context=8, batch_size=5, seed=3, ids=IDS):
    return TokenWindows(ids, context=context, batch_size=batch_size, vocab_size=11, seed=seed)


def tiny_trainer(
    model=None, data=None, objective=next_token, held_out=None, weight_decay=0.01, **config
):
    model = model or tiny_model()
    options = {"steps": 6, "schedule": warmup_cosine(0.05, 2, 20)} | config
    return Trainer(
        model,
        objective,
        data or tiny_data(),
        AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=weight_decay),
        TrainerConfig(**options),
        held_out=held_out,
    )


def weights(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach().clone()


def gradient(model):
    return torch.cat([p.grad.flatten() for p in model.parameters()])


def digest(model):
    return hashlib.sha256(weights(model).numpy().tobytes()).hexdigest()
