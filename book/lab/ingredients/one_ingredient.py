"""One training run of the small GPT of chapter 19, at a fixed number of bytes."""

import json
import math
from collections.abc import Callable

import numpy as np
import torch

from mathlm.errors import ConfigError, NonFiniteLossError
from mathlm.models import GPT
from mathlm.optim import SGD, AdamW, Muon, clip_grad_norm, constant, warmup, warmup_cosine
from mathlm.train import TokenWindows, next_token

from .small_gpt import CONTEXT, Ingredients, build


def optimizers(model: GPT, ingredients: Ingredients) -> list[torch.optim.Optimizer]:
    """What moves the weights: one optimizer, or Muon and AdamW."""
    decay, params = ingredients.weight_decay, list(model.parameters())
    if ingredients.optimizer == "sgd":
        return [SGD(params, lr=ingredients.lr, momentum=0.9)]
    if ingredients.optimizer == "adamw":
        return [AdamW(params, betas=(0.9, 0.95), weight_decay=decay)]
    matrices = [p for p in model.blocks.parameters() if p.ndim == 2]
    chosen = set(matrices)
    rest = [p for p in params if p not in chosen]
    muon = Muon(matrices, weight_decay=decay, scale="match_rms_adamw", fused=False)
    return [muon, AdamW(rest, betas=(0.9, 0.95), weight_decay=decay)]


def train(
    ingredients: Ingredients, ids: np.ndarray, tokens: int, seed: int = 0
) -> tuple[GPT, np.ndarray]:
    """Train on ``tokens`` tokens; returns the model, and (loss [nats], gradient norm) by step.

    A run whose loss or gradient is no longer finite ends there, with that loss as infinity.
    """
    steps = tokens // (CONTEXT * ingredients.batch_size)
    if steps < 1:
        raise ConfigError(f"tokens={tokens} do not fill one batch of {ingredients.batch_size}")
    sizes = {"context": CONTEXT, "batch_size": ingredients.batch_size, "vocab_size": 256}
    data, model = TokenWindows(ids, **sizes, seed=seed), build(ingredients, seed)
    movers, rate, history = (
        optimizers(model, ingredients),
        schedule(ingredients, steps),
        list[tuple[float, float]](),
    )
    for step in range(steps):
        batch = data(step)
        model.zero_grad()
        loss, count = next_token(model, batch)
        (loss / count).backward()
        try:
            norm = clip_grad_norm(model.parameters(), ingredients.clip or math.inf)
        except NonFiniteLossError:
            return model, np.array([*history, (math.inf, math.inf)])
        history.append((loss.item() / count, norm.item()))
        for mover in movers:
            for group in mover.param_groups:
                group["lr"] = rate(step)
            mover.step()
    return model.eval(), np.array(history)


def schedule(ingredients: Ingredients, steps: int) -> Callable[[int], float]:
    """Step number to step size."""
    rise, lr = round(ingredients.warmup * steps), ingredients.lr
    if ingredients.schedule == "constant":
        return warmup(rise, constant(lr))
    return warmup_cosine(lr, rise, steps, final=lr / 10)


@torch.inference_mode()
def held_out_bits(model: GPT, ids: np.ndarray) -> float:
    """Cost of a text that was not trained on [bits/byte]."""
    windows = TokenWindows(ids, context=CONTEXT, batch_size=64, vocab_size=256)
    nats = sum(float(next_token(model, batch)[0]) for batch in windows)
    return nats / (len(ids) - 1) / math.log(2)


def changed(pair: str) -> tuple[str, object]:
    """A name and its value, from ``name=value``; what is not JSON is a word."""
    name, _, value = pair.partition("=")
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value
