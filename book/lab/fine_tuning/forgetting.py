"""What moving costs near a minimum, and what each way of holding on moves less.

Old loss and new loss are parabolas here: L(δ) = g·δ + ½ δ·Hδ around the pretrained weights for
the old text, ½ (δ - δ*)·A(δ - δ*) for the new text.
"""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Numbers, finite_array, require_same_shape
from mathlm.shapes import Float


def second_order_change(gradient: Numbers, bend: Numbers, delta: Numbers) -> float:
    """Change of a loss by a step, from its slope and its curvature.

    Implements eq-tune-forgetting::

        ΔL ≈ g·δ + ½ δ·Hδ

    Args:
        gradient: g, where the step begins.
        bend: Hδ, the Hessian there times the step.
        delta: δ.

    Raises:
        InputError: If the shapes differ, or an entry is not finite.
    """
    g, bend, delta = (
        finite_array(x, name)
        for x, name in ((gradient, "gradient"), (bend, "bend"), (delta, "delta"))
    )
    require_same_shape(g, delta, ("gradient", "delta"))
    require_same_shape(bend, delta, ("bend", "delta"))
    return float((g * delta).sum() + 0.5 * (bend * delta).sum())


def descended(
    A: Float[ndarray, "N M"], target: Float[ndarray, " K"], step_size: float | int, steps: int
) -> Float[ndarray, " K"]:
    """Where gradient descent on a parabola stands after some steps from the origin.

    Implements eq-tune-descended::

        δₖ = (I - (I - ηA)ᵏ) δ*

    Args:
        A: Curvature of the new loss, symmetric.
        target: δ*, where the new loss is least.
        step_size: η > 0.
        steps: k >= 0.

    Raises:
        InputError: If A is not symmetric, the sizes differ, η is not positive or k is negative.
    """
    A, target = _parabola(A, target)
    if not 0 < step_size < np.inf or steps < 0:
        raise InputError(
            f"step_size={step_size} must be positive and finite, steps={steps} at least 0"
        )
    left = np.linalg.matrix_power(np.eye(len(A)) - step_size * A, steps)
    return target - left @ target


def pulled(
    A: Float[ndarray, "N M"], target: Float[ndarray, " K"], weight: float | int
) -> Float[ndarray, " K"]:
    """Where a parabola with a pull towards the origin is least.

    Implements eq-tune-pulled::

        δ = argmin ½ (δ - δ*)·A(δ - δ*) + λ |δ|² = (A + 2λI)⁻¹ A δ*

    Args:
        A: Curvature of the new loss, symmetric.
        target: δ*, where the new loss is least.
        weight: λ >= 0.

    Raises:
        InputError: If A is not symmetric, the sizes differ, λ is negative, or no point is
            least.
    """
    A, target = _parabola(A, target)
    if not 0 <= weight < np.inf:
        raise InputError(f"weight={weight} must be finite and not negative")
    return _least(A + 2 * weight * np.eye(len(A)), A @ target)


def replayed(
    A: Float[ndarray, "N M"],
    target: Float[ndarray, " K"],
    H: Float[ndarray, "P Q"],
    share: float | int,
    slope: Float[ndarray, " S"] | None = None,
) -> Float[ndarray, " K"]:
    """Where a mixture of the new and the old parabola is least.

    Implements eq-tune-replayed::

        δ = argmin (1 - ρ) ½ (δ - δ*)·A(δ - δ*) + ρ (g·δ + ½ δ·Hδ)
          = ((1 - ρ) A + ρ H)⁻¹ ((1 - ρ) A δ* - ρ g)

    Args:
        A: Curvature of the new loss, symmetric.
        target: δ*, where the new loss is least.
        H: Curvature of the old loss, symmetric.
        share: ρ, share of the old text, 0 <= ρ < 1.
        slope: g of the old loss at the origin; None is 0, a minimum.

    Raises:
        InputError: If a matrix is not symmetric, sizes differ, ρ is outside its range, or no
            point is least.
    """
    A, target = _parabola(A, target)
    H, slope = _parabola(H, np.zeros(len(A)) if slope is None else slope)
    require_same_shape(A, H, ("A", "H"))
    if not 0 <= share < 1:
        raise InputError(f"share={share} is outside 0 <= ρ < 1: some text must be new")
    return _least((1 - share) * A + share * H, (1 - share) * A @ target - share * slope)


def best_between(
    new_bend: float | int,
    old_bend: float | int,
    weight: float | int,
    old_slope: float | int = 0,
) -> float:
    """The best point on the line from the old weights to the new ones.

    Implements eq-tune-between::

        t* = argmin ½ a (1 - t)² + μ (s t + ½ b t²) = (a - μ s) / (a + μ b),   kept in 0..1

    Args:
        new_bend: a = δ·Aδ > 0, curvature of the new loss along the line at its end, which is
            least there.
        old_bend: b = δ·Hδ >= 0, curvature of the old loss along the line.
        weight: μ >= 0, what a nat of old text counts in nats of new text.
        old_slope: s = g·δ of the old loss at the beginning.

    Raises:
        InputError: If a number is not finite or outside its range.
    """
    values = new_bend, old_bend, weight, old_slope
    if not np.isfinite(values).all() or new_bend <= 0 or old_bend < 0 or weight < 0:
        raise InputError(
            f"new_bend={new_bend} must be positive, old_bend={old_bend} and weight={weight} "
            f"not negative, all finite, and old_slope={old_slope} finite"
        )
    t = (new_bend - weight * old_slope) / (new_bend + weight * old_bend)
    return float(min(max(t, 0.0), 1.0))


def _parabola(A: ndarray, point: ndarray) -> tuple[ndarray, ndarray]:
    """Curvature and point, if they fit."""
    A, point = finite_array(A, "the curvature"), finite_array(point, "the point")
    if A.ndim != 2 or A.shape != (point.size, point.size) or point.ndim != 1:
        raise InputError(
            f"a point of shape {point.shape} needs a square curvature of its size, got "
            f"{A.shape}"
        )
    if not np.allclose(A, A.T, rtol=1e-10, atol=1e-12 * np.abs(A).max()):
        raise InputError(f"the curvature is not symmetric: {A.tolist()}; use ½ (A + Aᵀ)")
    return A, point


def _least(M: ndarray, moment: ndarray) -> ndarray:
    """Solution of M δ = moment, where M curves upward in every direction."""
    lowest = float(np.linalg.eigvalsh(M)[0])
    if not lowest > 1e-14 * np.abs(M).max():
        raise InputError(
            f"the loss curves by {lowest:.3g} in some direction, not upward: no point is least"
        )
    return np.linalg.solve(M, moment)
