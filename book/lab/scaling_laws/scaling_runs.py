"""A family of GPTs on bytes, trained at a constant rate and read off on the way.

All have two blocks and heads of eight features; only the width differs. A run that never
lowers its rate aims at no end: it can be read off after any number of tokens.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np
import torch

from mathlm.functional import cross_entropy
from mathlm.models import GPT, GPTConfig
from mathlm.optim import Adam, clip_grad_norm, constant, warmup
from mathlm.scaling import count_parameters, flops_per_token
from mathlm.text import corpus
from mathlm.train import TokenWindows

CONTEXT, WINDOWS = 64, 16
STEP, WARMUP = CONTEXT * WINDOWS, 32  # bytes that one step learns from; steps
LAYERS, D_HEAD = 2, 8
HELD_OUT = 65_536  # bytes that a run is judged by


def family(d_model: int) -> GPTConfig:
    """The member of the family with that width: 12 L D² weights in its blocks' matrices."""
    heads = d_model // D_HEAD
    return GPTConfig(
        vocab_size=256, context=CONTEXT, d_model=d_model, n_layers=LAYERS, n_heads=heads,
        norm="rms", position="rope", bias=False, tie_embeddings=False,
    )  # fmt: skip


def sizes(d_model: int) -> dict[str, Any]:
    """Parameters of the blocks, those that multiply (the head's too), and FLOP of a token."""
    config = family(d_model)
    parts = count_parameters(config, by_part=True)
    blocks = parts["attention"] + parts["feed_forward"]
    cost = flops_per_token(config, CONTEXT, training=True)
    return {"parameters": blocks, "multiplying": blocks + parts["head"], "flop_token": cost}


@cache
def texts() -> tuple[np.ndarray, np.ndarray]:
    """Bytes of the plays to train on, and of those held out."""
    parts = [np.frombuffer(text.encode(), np.uint8) for text in corpus.split("shakespeare")]
    return parts[0], parts[1]


def windows(ids: np.ndarray, seed: int = 0, batch: int | None = None) -> TokenWindows:
    """Batches over bytes, each of them once an epoch."""
    rows = batch or WINDOWS
    return TokenWindows(ids, context=CONTEXT, batch_size=rows, vocab_size=256, seed=seed)


def start(d_model: int, seed: int) -> GPT:
    """A member of the family before training."""
    torch.manual_seed(seed)
    return GPT(family(d_model))


def read_off(
    model: GPT,
    data: Callable[[int], dict],
    measure: Callable[[GPT], dict[str, Any]],
    reads: Sequence[int],
    lr: float,
    groups: Iterable[dict[str, Any]] | None = None,
    warm: int = WARMUP,
) -> list[dict[str, Any]]:
    """Train at a constant rate after the warm-up, and measure after some numbers of steps.

    Args:
        model: What is trained.
        data: Step to batch.
        measure: Model to what is read off, such as :func:`held_out_loss`.
        reads: Steps after which it is measured, in increasing order.
        lr: The constant rate; groups may have an ``lr_scale`` on it.
        groups: Groups of the parameters. None is one of all.
        warm: Length of the warm-up [steps].

    Returns:
        Of each reading the tokens seen, what was measured, the mean training loss since the one
        before [nats], and the seconds of CPU that the training took.
    """
    optimizer = Adam(groups or model.parameters(), lr=lr, betas=(0.9, 0.95))
    rate, tokens, spent = warmup(warm, constant(lr)), 0, 0.0
    rows, losses = list[dict[str, Any]](), list[float]()
    for step in range(max(reads)):
        began = time.process_time()
        for group in optimizer.param_groups:
            group["lr"] = rate(step) * group.get("lr_scale", 1.0)
        batch = data(step)
        optimizer.zero_grad()
        loss, count = cross_entropy(model(batch["ids"]), batch["targets"])
        (loss / count).backward()
        clip_grad_norm(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item() / count)
        tokens, spent = tokens + int(count), spent + time.process_time() - began
        if step + 1 in reads:
            row = {"tokens": tokens, "training_loss": float(np.mean(losses))}
            rows.append(row | measure(model) | {"cpu_seconds": spent})
            losses = []
    return rows


def held_out_loss(size: int, ids: np.ndarray | None = None) -> Callable[[GPT], dict[str, Any]]:
    """A measure: mean loss over the first ``size`` bytes held out [nats/byte].

    Args:
        size: How many.
        ids: Bytes held out; those of the plays if None.
    """
    batches = list(windows((texts()[1] if ids is None else ids)[: size + 1]))

    @torch.no_grad()
    def measure(model: GPT) -> dict[str, Any]:
        parts = [cross_entropy(model(batch["ids"]), batch["targets"]) for batch in batches]
        return {"loss": sum(float(loss) for loss, _ in parts) / sum(n for _, n in parts)}

    return measure
