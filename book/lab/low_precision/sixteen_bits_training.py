"""One run of a small GPT with products or weights of 16 bits.

The loss is divided as in a step of four million targets: each micro-batch has a small share.
"""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.functional import round_stochastic, round_to
from mathlm.optim import clip_grad_norm, warmup_cosine
from mathlm.train import next_token
from mathlm.train.precision import LossScale, Scaling

from .sixteen_bits import RoundedProducts, small_model, windows

SPREAD = 8192  # micro-batches of 512 targets in a step of four million
PEAK = 3e-3  # step size


@dataclass(frozen=True, kw_only=True)
class Arm:
    """What is held in 16 bits: products (as under autocast), or weights (no master copy)."""

    products: torch.dtype | None = None
    weights: torch.dtype | None = None
    stochastic: bool = False
    scale: LossScale | None = None


HALF, BRAIN = torch.float16, torch.bfloat16
ARMS = {
    "float32": Arm(),
    "bfloat16 products": Arm(products=BRAIN),
    "float16 products": Arm(products=HALF),
    "float16, scaled": Arm(products=HALF, scale=LossScale(initial=2.0**32, interval=50)),
    "bfloat16 weights": Arm(weights=BRAIN),
    "bfloat16, stochastic": Arm(weights=BRAIN, stochastic=True),
}


def train(name: str, steps: int, seed: int = 0) -> dict[str, Any]:
    """Train as one arm does; returns its losses, scales and how many updates changed nothing.

    Raises:
        ConfigError: If there is no such arm.
    """
    if name not in ARMS:
        raise ConfigError(f"arm {name!r} is not one of {', '.join(ARMS)}")
    arm, (model, optimizer), (data, held_out) = ARMS[name], small_model(seed), windows(seed)
    schedule = warmup_cosine(PEAK, min(20, steps // 4), steps, final=PEAK / 10)
    scaling = Scaling(arm.scale) if arm.scale else None
    losses, scales, stuck = [], [], []
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = schedule(step)
        scales.append(scaling.scale if scaling else 1.0)
        losses.append(gradient(model, data(step), arm.products, scales[-1]))
        finite = all(p.grad.isfinite().all() for p in model.parameters() if p.grad is not None)
        if finite:
            clip_grad_norm(model.parameters(), 1.0)
            stuck.append(update(model, optimizer, arm))
        if scaling:
            scaling.adapt(finite, step)
        optimizer.zero_grad()
    lost = {"scales": scales, "skipped": steps - len(stuck), "stuck": sum(stuck) / len(stuck)}
    return {"losses": losses, "held_out": judge(model, held_out)} | lost


def gradient(
    model: nn.Module, batch: dict[str, Tensor], products: torch.dtype | None, scale: float
) -> float:
    """Leave the gradient of the batch's mean loss, as one of ``SPREAD`` equal micro-batches."""
    with RoundedProducts(products) if products else nullcontext():
        loss, count = next_token(model, batch)
        (loss * (scale / (count * SPREAD))).backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad.mul_(SPREAD / scale)  # in float32: the sum over all micro-batches
    return loss.item() / count


@torch.no_grad()
def update(model: nn.Module, optimizer: torch.optim.Optimizer, arm: Arm) -> float:
    """Take a step; returns the share of weights that the rounding put back."""
    before = [p.clone() for p in model.parameters()]
    optimizer.step()
    if arm.weights is None:
        return 0.0
    for p in model.parameters():
        p.copy_((round_stochastic if arm.stochastic else round_to)(p, arm.weights))
    same = sum(int((p == q).sum()) for p, q in zip(model.parameters(), before, strict=True))
    return same / sum(p.numel() for p in before)


@torch.no_grad()
def judge(model: nn.Module, held_out: Any) -> float:
    """Mean loss of held-out text [nats]."""
    parts = [next_token(model, batch) for batch in held_out]
    return sum(float(loss) for loss, _ in parts) / sum(count for _, count in parts)
