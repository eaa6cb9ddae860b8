"""What many sampled answers are good for: votes, the likeliest sample, and any right one."""

import numpy as np
from numpy import ndarray

from mathlm.evaluation import majority, pass_at_k


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
            votes.append(majority(a[some].tolist()) == y)
            best.append(a[some[np.argmax(p[some])]] == y)
    counts = (answers == right[:, None]).sum(1).tolist()
    anyone = [pass_at_k(m, c, n) for c in counts]
    return {
        "majority": float(np.mean(votes)),
        "likeliest sample": float(np.mean(best)),
        "any sample": float(np.mean(anyone)),
    }
