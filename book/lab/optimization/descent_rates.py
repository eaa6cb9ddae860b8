"""How fast descent goes on a quadratic: exact factors for each curvature."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError, NonFiniteLossError
from mathlm.reference.arrays import finite_array
from mathlm.shapes import Float


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

    Raises:
        InputError: If there are no curvatures or a number is not finite.

    Example:
        >>> descent_factors([2.0], 0.9).round(6).tolist()
        [-0.8]
    """
    return 1 - _step_size(lr) * _vector(curvatures, "curvatures")


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
        InputError: If β is outside [0, 1), there are no curvatures or a number is not finite.

    References:
        Polyak (1964), USSR Computational Mathematics and Mathematical Physics 4(5), 1-17.
    """
    if not 0 <= beta < 1:
        raise InputError(f"beta={beta} must lie in [0, 1)")
    middle = 1 + beta - _step_size(lr) * _vector(curvatures, "curvatures") + 0j
    root = np.sqrt(middle - 2 * beta**0.5) * np.sqrt(middle + 2 * beta**0.5)
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
        InputError: If the lengths do not fit, a variance is negative or a number is not finite.
        NonFiniteLossError: If the walk diverges beyond what float64 holds.
    """
    lam, first = _vector(curvatures, "curvatures"), _vector(start, "start")
    s, rates = _vector(noise, "noise"), _vector(lrs, "lrs")
    if not lam.shape == first.shape == s.shape or (s < 0).any():
        raise InputError(
            f"need as many curvatures, coordinates and variances >= 0, got shapes {lam.shape}, "
            f"{first.shape} and {s.shape}, smallest variance {s.min()}"
        )
    with np.errstate(over="ignore", invalid="ignore"):
        squares = [first**2]
        for lr in rates:
            squares.append((1 - lr * lam) ** 2 * squares[-1] + lr**2 * s)
        losses = 0.5 * np.stack(squares) @ lam
    if not np.isfinite(losses).all():
        raise NonFiniteLossError(
            f"the expected loss overflows after step {np.isfinite(losses).argmin()} of "
            f"{len(rates)}: largest η λ = {np.max(rates) * np.max(lam):.3g}, stable below 2"
        )
    return losses


def _vector(x: ndarray | Sequence, name: str) -> ndarray:
    vector = finite_array(x, name)
    if vector.ndim != 1:
        raise InputError(f"{name} must be a list of numbers, got shape {vector.shape}")
    return vector


def _step_size(lr: float | int) -> float | int:
    if not np.isfinite(lr):
        raise InputError(f"lr={lr} must be finite")
    return lr


def _require_interval(low: float | int, high: float | int) -> None:
    if not 0 < low <= high < np.inf:
        raise InputError(f"need 0 < low <= high < ∞, got low={low}, high={high}")
