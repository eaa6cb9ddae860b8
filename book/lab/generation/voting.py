"""What many sampled answers are good for: votes, the likeliest sample, and any right one."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
from numpy import ndarray


def pass_at(n: int, right: int, samples: int) -> float:
    """Probability that n of the samples, drawn without replacement, hold a right one.

    Computes::

        1 − C(samples − right, n) / C(samples, n)
    """
    return 1 - math.comb(samples - right, n) / math.comb(samples, n)


def winner(answers: Sequence[int]) -> int:
    """The most frequent answer; of equally frequent ones the first that was sampled."""
    return Counter(answers).most_common(1)[0][0]


def shares(
    answers: ndarray, logp: ndarray, right: ndarray, n: int, draws: int = 10, seed: int = 0
) -> dict[str, float]:
    """How many questions are answered rightly from n samples each.

    Args:
        answers: (Q, m), of m samples for each question.
        logp: (Q, m), their log-probabilities.
        right: (Q,), the right answers.
        n: Samples that are used, at most m.
        draws: Subsets of n samples over which votes and choices are averaged.
        seed: Of the subsets.
    """
    rng, m = np.random.default_rng(seed), answers.shape[1]
    votes, best = [], []
    for _ in range(draws):
        for a, p, y in zip(answers, logp, right, strict=True):
            some = rng.permutation(m)[:n]
            votes.append(winner(a[some].tolist()) == y)
            best.append(a[some[np.argmax(p[some])]] == y)
    counts = (answers == right[:, None]).sum(1).tolist()
    anyone = [pass_at(n, c, m) for c in counts]
    return {
        "majority": float(np.mean(votes)),
        "likeliest sample": float(np.mean(best)),
        "any sample": float(np.mean(anyone)),
    }
