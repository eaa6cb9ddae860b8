"""Rows of an embedding table: how many a batch looks up, how far one moves when idle."""

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError, InputError
from mathlm.reference.arrays import Numbers, finite_array, first_place, require_same_shape
from mathlm.reference.statistics.information import Numbers as Probabilities
from mathlm.reference.statistics.information import require_distribution


def expected_rows_touched(p: Probabilities, n: int) -> float:
    """Expected number of different rows that a batch of independent tokens looks up.

    Implements eq-expected-rows::

        E[rows] = Σ_v (1 - (1 - p_v)^n)  ≤  min(n, V)

    Row v is missed by all n tokens with probability (1 - p_v)^n.

    Args:
        p: Probability of each of the V tokens.
        n: Tokens in the batch.

    Returns:
        A number of rows.

    Raises:
        InputError: If p is not one distribution, or n is no integer or negative.

    Example:
        >>> expected_rows_touched([0.5, 0.5], 2)  # both tokens the same: half of the time
        1.5
    """
    p = require_distribution(p, "p")
    if p.ndim != 1:
        raise InputError(f"p has shape {p.shape}, expected one probability for each token")
    if not isinstance(n, int | np.integer) or not 0 <= n < 1 << 63:
        raise InputError(
            f"n={n} tokens cannot be looked up; give an integer from 0 to 2^63 - 1"
        )
    sure = p >= 1  # log(1 - p) does not exist there
    hit = -np.expm1(n * np.log1p(-np.where(sure, 0.0, p)))  # keeps the digits of a small p
    return float(hit.sum() + sure.sum() * min(n, 1))


def idle_adam_steps(
    m: Numbers,
    v: Numbers,
    steps: int,
    *,
    t: int,
    lr: float | int,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
) -> ndarray:
    """What Adam adds to a row in the steps after its last gradient.

    Computes::

        -η m̂_j / (√v̂_j + ε),   m̂_j = β₁^j m / (1 - β₁^(t+j)),   v̂_j = β₂^j v / (1 - β₂^(t+j))

    for j = 1 ... steps: the lines of Adam with g = 0.

    Args:
        m: First moment after step t, at which the row had its last gradient.
        v: Second moment there, of the shape of m; 0 only where m is.
        steps: How many steps to follow.
        t: Number of steps that Adam had done then, at least 1.
        lr: Step size η.
        betas: (β₁, β₂), both in [0, 1).
        eps: ε > 0.

    Returns:
        One change of the row for each step, shape (steps, ...).

    Raises:
        InputError: If m and v do not fit each other, or v is negative, or 0 where m is not.
        ConfigError: If another number is outside its range.
    """
    m, v = finite_array(m, "m"), finite_array(v, "v")
    require_same_shape(m, v, ("m", "v"))
    if not (v >= 0).all():
        raise InputError(f"v has the entry {v.min()}; a mean of squares is not negative")
    if (alone := (v == 0) & (m != 0)).any():
        raise InputError(
            f"v is 0 at {first_place(alone)}, where m is not: no gradient does that"
        )
    _require_adam(t, steps, lr, betas, eps)
    b1, b2 = betas
    j = np.arange(1, steps + 1).reshape(-1, *[1] * m.ndim)
    m_hat = b1**j * m / (1 - b1 ** (t + j))
    v_hat = b2**j * v / (1 - b2 ** (t + j))
    return -lr * m_hat / (np.sqrt(v_hat) + eps)


def coasting_factor(beta1: float | int, beta2: float | int = 1) -> float:
    """How many of its last steps a row still goes once its gradient is zero forever.

    Implements eq-adam-coasting::

        Σ_{j≥1} r^j = r / (1 - r),   r = β₁ / √β₂

    For momentum β₂ = 1; for Adam, long after its start, both count.

    Args:
        beta1: Decay rate β₁ of the mean gradient [1/step].
        beta2: Decay rate β₂ of the mean square [1/step].

    Raises:
        ConfigError: If a rate is outside its range, or r ≥ 1: the row would never come to
            rest.

    Example:
        >>> round(coasting_factor(0.9), 3), round(coasting_factor(0.9, 0.999), 3)
        (9.0, 9.045)
    """
    if not (0 <= beta1 < 1 and 0 < beta2 <= 1 and beta1 < np.sqrt(beta2)):
        raise ConfigError(
            f"beta1={beta1} must be in [0, 1) and less than the root of beta2={beta2} in (0, 1]"
        )
    r = beta1 / np.sqrt(beta2)
    return float(r / (1 - r))


def _require_adam(t: int, steps: int, lr: float, betas: tuple, eps: float) -> None:
    """Refuse numbers that Adam does not have."""
    whole = isinstance(t, int | np.integer) and isinstance(steps, int | np.integer)
    rates = len(betas) == 2 and all(0 <= beta < 1 for beta in betas)
    if not (
        whole and t >= 1 and steps >= 0 and rates and 0 <= lr < np.inf and 0 < eps < np.inf
    ):
        raise ConfigError(
            f"{t=}, {steps=}, {lr=}, {betas=}, {eps=}: need t >= 1, steps >= 0, lr >= 0, two "
            "betas in [0, 1) and eps > 0; all finite, t and steps integers"
        )


__all__ = ["coasting_factor", "expected_rows_touched", "idle_adam_steps"]
