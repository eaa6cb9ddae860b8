"""Judges with scales of their own, who give marks or compare: which finds the truth better."""

import numpy as np
from numpy.typing import NDArray

from mathlm.align import count_wins, fit_strengths
from mathlm.reference import spearman

Array = NDArray[np.float64]
ANSWERS, JUDGES, EACH, NOISE = 100, 40, 20, 0.8


def correlations(spread: float, seed: int, noise: float = NOISE) -> tuple[float, float, float]:
    """Rank correlations with the true quality of 100 answers, each found in another way.

    Forty judges read twenty answers each and feel their quality with Gumbel noise. Each has a
    zero and a unit of her own. They write down marks from 1 to 10, or compare the answers by
    twos, with the same feelings.

    Args:
        spread: Standard deviation of the judges' zeros [marks].
        seed: Of everything that is drawn.
        noise: Scale of the noise in each feeling.

    Returns:
        By mean marks, by mean marks less the judge's own mean, and by ten comparisons of each
        judge.
    """
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=ANSWERS)
    zero = rng.normal(0, spread, (JUDGES, 1))
    unit = np.exp(rng.normal(0, 0.3, (JUDGES, 1)))
    read = np.array([rng.choice(ANSWERS, EACH, replace=False) for _ in range(JUDGES)])
    felt = quality[read] + noise * rng.gumbel(size=read.shape)
    marks = np.clip(np.round(5.5 + zero + 1.5 * unit * felt), 1, 10)
    first = felt[:, ::2] > felt[:, 1::2]
    won = np.where(first, read[:, ::2], read[:, 1::2])
    lost = np.where(first, read[:, 1::2], read[:, ::2])
    wins = count_wins(won.ravel(), lost.ravel(), ANSWERS)
    centered = marks - marks.mean(1, keepdims=True)
    raw, less = (spearman(quality, _means(read, x)) for x in (marks, centered))
    return raw, less, spearman(quality, fit_strengths(wins, prior_std=1).values)


def _means(read: NDArray[np.int64], marks: Array) -> Array:
    """Mean mark of each answer; 0 for one that nobody read."""
    number = np.bincount(read.ravel(), minlength=ANSWERS)
    return np.bincount(read.ravel(), marks.ravel(), ANSWERS) / np.maximum(number, 1)
