"""How large the attention scores of a small GPT become, by step size, and what holds them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mathlm.errors import ConfigError
from mathlm.functional import cross_entropy
from mathlm.models import GPT, BlockVariant, GPTConfig
from mathlm.optim import AdamW
from mathlm.text import corpus
from mathlm.train import TokenWindows

CONTEXT, WARMUP = 32, 20
ARMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "QK-norm": {"qk_norm": True},
    "cap 50": {"variant": BlockVariant(score_cap=50.0)},
    "norms after, QK-norm": {
        "qk_norm": True,
        "variant": BlockVariant(placement="after", qk_norm_over="all"),
    },
}


@dataclass(frozen=True, kw_only=True)
class GrowthConfig:
    """One training run of a GPT of two blocks on bytes of Shakespeare.

    Args:
        arm: One of ``ARMS``.
        lr: Step size after a warmup of 20 steps; then it falls linearly to 0.
        steps: Each on ``batch`` windows of 32 bytes.
    """

    arm: str = "plain"
    lr: float | int = 1e-2
    steps: int = 200
    batch: int = 32
    width: int = 32
    seed: int = 0

    def __post_init__(self) -> None:
        if self.arm not in ARMS:
            raise ConfigError(f"arm={self.arm!r} is not one of {', '.join(ARMS)}")
        if self.lr <= 0 or self.steps < 2:
            raise ConfigError(f"lr={self.lr} must be positive, steps={self.steps} at least 2")


class Growth(NamedTuple):
    """The model, its loss on held-out bytes, and how its attention looks there."""

    model: GPT
    loss: float  # [nats/byte]
    score: float  # the largest, before a cap
    top: float  # mean of the largest weight of a query that sees 9 keys or more
    curve: list[float]  # training loss before each step


def shape(config: GrowthConfig) -> GPTConfig:
    """The GPT of an arm: RMSNorm, SwiGLU, rotary positions, no biases."""
    form: dict[str, Any] = {"norm": "rms", "activation": "swiglu", "position": "rope"}
    sizes: dict[str, Any] = {"vocab_size": 256, "context": CONTEXT, "d_model": config.width}
    return GPTConfig(**sizes, **form, n_layers=2, n_heads=4, bias=False, **ARMS[config.arm])


def data(config: GrowthConfig, held_out: bool = False) -> TokenWindows:
    """Windows of half a million bytes of Shakespeare, or of other bytes."""
    text = corpus.split("shakespeare")[1 if held_out else 0]
    ids = np.frombuffer(text.encode()[:500_000], np.uint8)
    size = 128 if held_out else config.batch
    return TokenWindows(ids, vocab_size=256, context=CONTEXT, batch_size=size, seed=config.seed)


def rate(config: GrowthConfig, step: int) -> float:
    """Step size of one step."""
    rest = (config.steps - step) / max(1, config.steps - WARMUP)
    return config.lr * min((step + 1) / WARMUP, rest, 1.0)


def train(config: GrowthConfig) -> Growth:
    """Train one arm at one step size, without clipping."""
    torch.manual_seed(config.seed)
    model, windows, curve = GPT(shape(config)), data(config), []
    optimizer = AdamW(model.parameters(), lr=config.lr, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(config.steps):
        batch = windows(step)
        total, count = cross_entropy(model(batch["ids"]), batch["targets"])
        optimizer.param_groups[0]["lr"] = rate(config, step)
        optimizer.zero_grad()
        (total / count).backward()
        optimizer.step()
        curve.append(float(total.detach() / count))
    batch = data(config, held_out=True)(0)
    with torch.no_grad():
        total, count = cross_entropy(model.eval()(batch["ids"]), batch["targets"])
    return Growth(model, float(total / count), *attention_of(model, batch["ids"]), curve)


@torch.no_grad()
def scores_and_weights(model: GPT, ids: Tensor) -> list[tuple[Tensor, Tensor]]:
    """For each layer q·k/√K before a cap, 0 at later keys, and the weights of attention."""
    taps: dict[str, Tensor] = {}
    model.eval()(ids, taps=taps)
    found = []
    for i in range(model.config.n_layers):
        q, k, weights = (taps[f"blocks.{i}.attention.{n}"] for n in ("q", "k", "weights"))
        found.append(((q @ k.mT / math.sqrt(q.shape[-1])).tril(), weights))
    return found


def attention_of(model: GPT, ids: Tensor) -> tuple[float, float]:
    """The largest |q·k|/√K of all pairs, before a cap, and the mean largest weight."""
    layers = scores_and_weights(model, ids)
    score = max(float(z.abs().max()) for z, _ in layers)
    tops = [float(A[:, :, 8:].amax(-1).mean()) for _, A in layers]
    return score, sum(tops) / len(tops)


def share_beyond(model: GPT, ids: Tensor, size: float | int) -> float:
    """Share of the scores of all layers, before a cap, that are larger than ``size``."""
    T = ids.shape[1]
    seen = torch.ones(T, T, dtype=torch.bool).tril()
    z = torch.stack([z[..., seen] for z, _ in scores_and_weights(model, ids)])
    return float((z.abs() > size).double().mean())
