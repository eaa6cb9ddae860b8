"""Networks of several widths learn to add, each scored by smooth and by sharp metrics.

    cd book
    python -m lab.explanations.addition --digits 3 --record addition.json

One hidden layer of ReLU reads the digits of both numbers and answers every digit of the sum.
"""

import argparse
import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, one_hot

from mathlm.errors import ConfigError
from mathlm.optim import AdamW
from mathlm.train.record import record_on_cpu

from .emergence import answer_scores

LOG = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class AdditionConfig:
    """One run of AdamW at a constant rate, on fresh sums.

    Args:
        digits: Of each number; a sum has one more.
        width: Hidden units.
        seed: Of the weights and the sums.
    """

    digits: int = 3
    width: int = 64
    batch: int = 256
    lr: float = 5e-3
    steps: int = 600
    seed: int = 0

    def __post_init__(self) -> None:
        if min(self.digits, self.width, self.batch, self.steps) < 1:
            raise ConfigError(f"sizes must be at least 1: {self}")
        if self.digits > 17:
            raise ConfigError(f"digits={self.digits} do not fit 64 bits; expected 17 at most")


def sums(digits: int, count: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """Digits of a and b (count, 2 digits), and of a + b (count, digits + 1), lowest first."""
    a, b = rng.integers(10**digits, size=(2, count))

    def places(n: np.ndarray, number: int) -> Tensor:
        return torch.from_numpy(n[:, None] // 10 ** np.arange(number) % 10)

    return torch.cat([places(a, digits), places(b, digits)], 1), places(a + b, digits + 1)


def answer(model: nn.Module, asked: Tensor) -> Tensor:
    """Log-probabilities of each digit of the sum, (count, digits + 1, 10)."""
    seen = one_hot(asked, 10).flatten(1).to(next(model.parameters()).dtype)
    return model(seen).unflatten(1, (-1, 10)).log_softmax(-1)


@torch.inference_mode()
def score(model: nn.Module, asked: Tensor, right: Tensor) -> dict[str, float]:
    """The answers under every metric."""
    logp = answer(model, asked).double()
    of_right = logp.gather(-1, right[..., None])[..., 0]
    return answer_scores((logp.argmax(-1) == right).numpy(), of_right.numpy())


def train(config: AdditionConfig, asked: int = 2000) -> tuple[nn.Module, dict[str, float]]:
    """A trained network, and its scores on sums that were not drawn for training."""
    k, rng = config.digits, np.random.default_rng((config.seed, 1))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(config.seed)
        first, last = nn.Linear(20 * k, config.width), nn.Linear(config.width, 10 * (k + 1))
    model = nn.Sequential(first, nn.ReLU(), last).float()
    optimizer = AdamW(model.parameters(), lr=config.lr, weight_decay=0.0)
    for _ in range(config.steps):
        seen, right = sums(k, config.batch, rng)
        cross_entropy(answer(model, seen).flatten(0, 1), right.flatten()).backward()
        optimizer.step()
        optimizer.zero_grad()
    parameters = float(sum(p.numel() for p in model.parameters()))
    scores = score(model, *sums(k, asked, np.random.default_rng((config.seed, 2))))
    return model, {"parameters": parameters} | scores


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train every width, log the scores, and record them if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[8, 16, 32, 64, 128, 256])
    parser.add_argument("--digits", type=int, default=AdditionConfig.digits)
    parser.add_argument("--steps", type=int, default=AdditionConfig.steps)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--record", type=Path, help="JSON file for the scores")
    args, results, start = parser.parse_args(argv), list[dict](), time.process_time()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for width in args.widths:
        for seed in range(args.seeds):
            sizes = {"width": width, "digits": args.digits, "steps": args.steps, "seed": seed}
            _, scores = train(config := AdditionConfig(**sizes))
            results.append({"config": config, "scores": scores})
            LOG.info("width %d, seed %d: %s", width, seed, scores)
    seconds = time.process_time() - start
    record_on_cpu(args.record, options=vars(args), results=results, cpu_seconds=seconds)
    return results


if __name__ == "__main__":
    main()
