"""Compute at test time: many answers of one network to the same sum, and a check that picks.

    cd book
    python -m lab.explanations.test_time --record test-time.json

The digits of an answer are drawn independently given the sum, so the probability that one
answer is right is a product, and what many answers reach is known without drawing any.
"""

import argparse
import itertools
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from mathlm.errors import InputError
from mathlm.scaling.power_law import Numbers
from mathlm.shapes import Float
from mathlm.train.record import record_on_cpu

from .addition import AdditionConfig, answer, sums, train

LOG = logging.getLogger(__name__)
ASKED = 4000  # sums that a network is judged by
SAMPLES = (1, 3, 10, 30, 100, 300, 1000, 3000, 10_000)  # answers to a sum


@torch.inference_mode()
def right_probabilities(
    model: nn.Module, asked: Tensor, right: Tensor
) -> Float[np.ndarray, " N"]:
    """Probability of each sum that one sampled answer has every digit right."""
    logp = answer(model, asked).double().gather(-1, right[..., None])[..., 0]
    return logp.sum(-1).exp().numpy()


def coverage(probabilities: Numbers, samples: Numbers) -> Float[np.ndarray, " K"]:
    """Share of questions of which at least one of k answers is right.

    Implements eq-explain-coverage::

        mean over questions of  1 − (1 − p)^k

    Args:
        probabilities: p of each question, that one answer is right.
        samples: Numbers k of independent answers, 1 or more.

    Returns:
        One share for each k. With a check that recognizes a right answer it is the accuracy.

    Raises:
        InputError: If a probability lies outside [0, 1], or there is less than one answer.
    """
    p, k = np.asarray(probabilities, float), np.asarray(samples, float)
    if p.size == 0 or not ((p >= 0) & (p <= 1)).all() or not (k >= 1).all():
        raise InputError(
            f"{p.size} probabilities from {p.min(initial=1):.3g} to {p.max(initial=0):.3g}, "
            f"and {k.min(initial=1):.3g} answers at least: expected probabilities in [0, 1] "
            "and 1 or more answers"
        )
    with np.errstate(divide="ignore", invalid="ignore"):  # k · log 0 is -inf: never wrong
        wrong = np.exp(np.multiply.outer(k, np.log1p(-p)))
    return 1 - wrong.mean(-1)


def samples_needed(
    probabilities: Numbers, target: float | int, most: float | int = 1e9
) -> float:
    """Number of answers at which the coverage reaches a target; infinity if beyond ``most``."""
    if not 0 < target < 1:
        raise InputError(f"target={target} must lie between 0 and 1")
    k = np.geomspace(1, most, 901)
    reached = coverage(probabilities, k)
    if reached[-1] < target:
        return float("inf")
    return float(np.exp(np.interp(target, reached, np.log(k)))) if reached[0] < target else 1.0


def measure(width: int, steps: int, seed: int = 0) -> dict:
    """Train one network; its compute, and the probability of each of many sums.

    Returns:
        ``parameters``; ``training``, the compute of its training, 6 · parameters a sum [FLOP];
        ``answering``, that of one answer, 2 · parameters [FLOP]; ``p``, one for each sum.
    """
    config = AdditionConfig(width=width, steps=steps, seed=seed)
    model, scores = train(config, asked=1)
    n = scores["parameters"]
    p = right_probabilities(
        model, *sums(config.digits, ASKED, np.random.default_rng((seed, 3)))
    )
    seen = config.batch * steps
    return {"parameters": n, "training": 6 * n * seen, "answering": 2 * n, "p": p}


def main(argv: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Train every width for every number of steps; record the coverage of each network."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--widths", type=int, nargs="+", default=[16, 32, 64, 128])
    parser.add_argument("--steps", type=int, nargs="+", default=[150, 250, 400, 600])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--record", type=Path)
    args, rows = parser.parse_args(argv), list[dict[str, Any]]()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    for width, steps, seed in itertools.product(args.widths, args.steps, range(args.seeds)):
        row = measure(width, steps, seed)
        p = row.pop("p")
        row |= {"coverage": coverage(p, SAMPLES), "half": samples_needed(p, 0.5)}
        rows.append({"width": width, "steps": steps, "seed": seed} | row)
        LOG.info("width %d, %d steps, seed %d: %.1f", width, steps, seed, row["half"])
    record_on_cpu(args.record, options=vars(args), samples=SAMPLES, results=rows)
    return rows


__all__ = [
    "coverage",
    "main",
    "measure",
    "right_probabilities",
    "samples_needed",
]


if __name__ == "__main__":
    main()
