"""How fast descent goes on a quadratic: exact factors for each curvature."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float


def descent_factors(
    curvatures: Float[ndarray, " D"] | Sequence, lr: float | int
) -> Float[ndarray, " D"]:
    """What one step of gradient descent multiplies each coordinate by.

    Implements eq-descent-factor::

        θ_i ← (1 - η λ_i) θ_i

    Between -1 and 1 it converges, which is 0 < η λ_i < 2.

    Args:
        curvatures: Eigenvalues λ of the Hessian.
        lr: Step size η.

    Example:
        >>> descent_factors([2.0], 0.9).round(6).tolist()
        [-0.8]
    """
    return 1 - lr * np.asarray(curvatures, dtype=float)


def best_descent(low: float | int, high: float | int) -> tuple[float, float]:
    """Step size of gradient descent that is best for all curvatures in an interval.

    Implements eq-descent-best::

        η = 2 / (λ_min + λ_max),   factor = (κ - 1) / (κ + 1),   κ = λ_max / λ_min

    Args:
        low: Smallest curvature λ_min > 0.
        high: Largest curvature λ_max.

    Returns:
        (η, factor): the step size, and what a step multiplies the worst error by.

    Raises:
        InputError: Unless 0 < low <= high < ∞.

    Example:
        >>> [round(x, 6) for x in best_descent(1.0, 3.0)]
        [0.5, 0.5]
    """
    _require_interval(low, high)
    return 2 / (low + high), (high - low) / (high + low)


def momentum_factors(
    curvatures: Float[ndarray, " D"] | Sequence, lr: float | int, beta: float | int
) -> Float[ndarray, " D"]:
    """Largest |eigenvalue| of one step of heavy-ball momentum, for each curvature.

    Implements eq-momentum-recursion::

        ρ_i = max |roots of  r² - (1 + β - η λ_i) r + β|

    In the long run the error shrinks by ρ a step; with complex roots ρ = √β.

    Args:
        curvatures: Eigenvalues λ of the Hessian.
        lr: Step size η.
        beta: Momentum β.

    Raises:
        InputError: If β is outside [0, 1).

    References:
        Polyak (1964), USSR Computational Mathematics and Mathematical Physics 4(5), 1-17.
    """
    if not 0 <= beta < 1:
        raise InputError(f"beta={beta} must lie in [0, 1)")
    middle = 1 + beta - lr * np.asarray(curvatures, dtype=float)
    root = np.sqrt(middle**2 - 4 * beta + 0j)
    return np.maximum(np.abs(middle + root), np.abs(middle - root)) / 2


def best_momentum(low: float | int, high: float | int) -> tuple[float, float, float]:
    """Step size and momentum that are best for all curvatures in an interval.

    Implements eq-momentum-best::

        η = 4 / (√λ_max + √λ_min)²,   β = factor²,   factor = (√κ - 1) / (√κ + 1)

    Args:
        low: Smallest curvature λ_min > 0.
        high: Largest curvature λ_max.

    Returns:
        (η, β, factor): the two settings, and the long-run factor of a step.

    Raises:
        InputError: Unless 0 < low <= high < ∞.

    Example:
        >>> [round(x, 6) for x in best_momentum(1.0, 9.0)]
        [0.25, 0.25, 0.5]
    """
    _require_interval(low, high)
    factor = (high**0.5 - low**0.5) / (high**0.5 + low**0.5)
    return 4 / (high**0.5 + low**0.5) ** 2, factor**2, factor


def noisy_descent(
    curvatures: Float[ndarray, " D"] | Sequence,
    start: Float[ndarray, " D"] | Sequence,
    noise: Float[ndarray, " D"] | Sequence,
    lrs: Float[ndarray, " T"] | Sequence,
) -> Float[ndarray, " T1"]:
    """Expected loss of stochastic gradient descent on a quadratic, without sampling.

    Implements eq-noise-floor::

        E θ_i² ← (1 - η_t λ_i)² E θ_i² + η_t² s_i,   E L = ½ Σ_i λ_i E θ_i²

    The gradient is λ_i θ_i plus independent noise of mean 0 and variance s_i.

    Args:
        curvatures: Eigenvalues λ of the Hessian.
        start: First point.
        noise: Variances s of the gradient, σ²/b for a batch of b.
        lrs: Step sizes η_t, one a step.

    Returns:
        E L before the first step and after each one.

    Raises:
        InputError: If the lengths do not fit or a variance is negative.
    """
    lam, first, s = (np.asarray(a, dtype=float) for a in (curvatures, start, noise))
    if not lam.shape == first.shape == s.shape or (s < 0).any():
        raise InputError(
            f"need as many curvatures, coordinates and variances >= 0, got shapes {lam.shape}, "
            f"{first.shape} and {s.shape}, smallest variance {s.min() if s.size else None}"
        )
    squares = [first**2]
    for lr in np.asarray(lrs, dtype=float):
        squares.append((1 - lr * lam) ** 2 * squares[-1] + lr**2 * s)
    return 0.5 * np.stack(squares) @ lam


def _require_interval(low: float | int, high: float | int) -> None:
    if not 0 < low <= high < np.inf:
        raise InputError(f"need 0 < low <= high < ∞, got low={low}, high={high}")
