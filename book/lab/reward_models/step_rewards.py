"""Values of the steps of a solution, in a world where they are known."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mathlm.checks import require_counts, require_share

Array = NDArray[np.float64]


def step_values(steps: int, slip: float, luck: float) -> Array:
    """Chance of a right answer after 0, 1, ..., K good steps.

    Computes::

        v_t = (1 - e)^(K - t) + (1 - (1 - e)^(K - t)) g

    Args:
        steps: K.
        slip: e, probability that a step after good ones is wrong.
        luck: g, probability that a solution with a wrong step ends in the right answer.
    """
    require_counts(1, steps=steps)
    require_share(slip=slip, luck=luck)
    good = (1 - slip) ** np.arange(steps, -1, -1)
    return np.asarray(good + (1 - good) * luck)


def credits(values: ArrayLike, outcome: float) -> Array:
    """What each step changes, and at the end the outcome itself.

    Implements eq-reward-process::

        A_t = v_t - v_{t-1},   Σ_t A_t = outcome - v_0

    Args:
        values: v_0, ..., v_K: chance of a right answer before the first step and after each.
        outcome: 1 if the answer is right, 0 if it is not.

    Returns:
        K + 1 numbers: of the K steps, and of the answer after the last.
    """
    v = np.asarray(values, dtype=np.float64)
    return np.diff(np.append(v, outcome))
