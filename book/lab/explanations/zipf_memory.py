"""Facts under Zipf's law, learned three ways: held, seen, and stepped towards.

Each fact is one bit. A memory of d weights shows every fact as d random numbers and answers by
the sign of a weighted sum; a table has a score of its own for each fact.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from mathlm.errors import ConfigError
from mathlm.scaling import fit_power_law
from mathlm.shapes import Float

from .zipf import zipf_exponents, zipf_probabilities

WIDTHS, DRAWS, STEPS = (
    (8, 16, 32, 64, 128),
    (16, 64, 256, 1024, 4096),
    (30, 100, 300, 1000, 3000),
)


def remember(p: Float[np.ndarray, " V"], width: int, seed: int = 0) -> Float[np.ndarray, " V"]:
    """Margins of the facts in the best memory of ``width`` weights, by Newton's method.

    Computes::

        min_w Σ_k p_k log(1 + exp(-z_k)),   z_k = y_k w·x_k,   y_k = ±1, x_k random

    Args:
        p: Probability of each fact; there must be many more facts than weights.
        width: Weights d.
        seed: Of the facts.

    Returns:
        z: a fact is answered rightly if its margin is positive.

    Raises:
        ConfigError: If there are fewer than 4 d facts, which a plane may separate.
    """
    if not 1 <= width <= len(p) // 4:
        raise ConfigError(
            f"width={width} must be at least 1, and at most a quarter of {len(p)}"
        )
    x = np.random.default_rng(seed).normal(size=(len(p), width))  # signs of y are in x
    w, step = np.zeros(width), np.inf
    while step > 1e-9:
        miss = 1 / (1 + np.exp(x @ w))
        gradient = x.T @ (p * miss)
        direction = np.linalg.solve(x.T @ (x * (p * miss * (1 - miss))[:, None]), gradient)
        here, length = bits_lost(p, x @ w), 1.0
        while bits_lost(p, x @ (w + length * direction)) > here and length > 1e-9:
            length /= 2
        w, step = w + length * direction, float(gradient @ direction) / here
    return np.asarray(x @ w)


def bits_lost(p: Float[np.ndarray, " V"], margins: Float[np.ndarray, " V"]) -> float:
    """Mean loss in bits: 1 for a guess, 0 for an answer known for sure."""
    return float(p @ np.logaddexp(0, -margins) / np.log(2))


def seen_losses(
    p: Float[np.ndarray, " V"], draws: Sequence[int], seeds: int = 20
) -> Float[np.ndarray, " N"]:
    """Share of the tokens whose fact is not among D drawn ones, mean over fresh draws."""
    found = np.zeros(len(draws))
    for seed in range(seeds):
        tokens = np.random.default_rng(seed).choice(len(p), max(draws), p=p)
        found += [1 - p[np.unique(tokens[:d])].sum() for d in draws]
    return found / seeds


def table_losses(
    p: Float[np.ndarray, " V"], steps: Sequence[int], rate: float | int = 4
) -> Float[np.ndarray, " N"]:
    """Loss of a table after steps of gradient descent on all facts at once [bits]."""
    score, found = np.zeros(len(p)), dict[int, float]()
    for step in range(1, max(steps) + 1):
        score += rate * p / (1 + np.exp(score))
        if step in steps:
            found[step] = bits_lost(p, score)
    return np.array([found[step] for step in steps])


def measure(exponent: float | int, facts: int = 16384, seed: int = 0) -> dict[str, Any]:
    """Losses by weights, tokens and steps; exponents as measured and as predicted."""
    p = zipf_probabilities(exponent, facts)
    margins = {width: remember(p, width, seed) for width in WIDTHS}
    losses: dict[str, tuple[Sequence[int], Any]] = {
        "capacity": (WIDTHS, [bits_lost(p, z) for z in margins.values()]),
        "data": (DRAWS, seen_losses(p, DRAWS)),
        "steps": (STEPS, table_losses(p, STEPS)),
    }
    laws = {name: fit_power_law(*rows) for name, rows in losses.items()}
    found = {name: -law.exponent for name, law in laws.items()}
    predicted = zipf_exponents(exponent)._asdict()
    return {"losses": losses, "margins": margins, "measured": found, "predicted": predicted}
