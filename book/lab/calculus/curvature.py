"""What the second derivative says: kinds of critical points, steps and their limits."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.calculus.forward_mode import hessian_vector_product


def critical_point(gradient: ndarray, H: ndarray, tol: float = 1e-8) -> str:
    """Name a point at which the gradient is zero.

    Implements eq-calculus-critical::

        all λ > 0: minimum;  all λ < 0: maximum;  both signs: saddle;  else undecided

    Args:
        gradient: ∇f there; must be zero within ``tol``.
        H: Hessian there, symmetric.
        tol: What counts as zero, for the gradient and for an eigenvalue λ of H.

    Returns:
        "minimum", "maximum", "saddle", or "undecided": an eigenvalue is zero, and the others
        do not have both signs.

    Raises:
        InputError: If the gradient is not zero (the signs then decide nothing), or H is not a
            symmetric matrix that fits it.
    """
    _require_hessian(gradient, H)
    length = float(np.linalg.norm(gradient))
    if length > tol:
        raise InputError(
            f"the gradient has length {length:.3g}, not 0: this is no critical point, "
            "and the signs of the curvatures name none"
        )
    curvatures = np.linalg.eigvalsh(H)
    up, down = (curvatures > tol), (curvatures < -tol)
    if up.any() and down.any():
        return "saddle"
    return "minimum" if up.all() else "maximum" if down.all() else "undecided"


def newton_step(gradient: ndarray, H: ndarray) -> ndarray:
    """The step to the critical point of the local parabola.

    Implements eq-calculus-newton::

        Δx = -H⁻¹ ∇f

    Where H has a negative eigenvalue the step heads for a saddle or a maximum.

    Args:
        gradient: ∇f at x.
        H: Hessian at x.

    Returns:
        Δx, of the shape of the gradient.

    Raises:
        InputError: If H is singular to working precision or does not fit the gradient.
    """
    _require_hessian(gradient, H)
    condition = np.linalg.cond(H)
    if not condition < 1e15:
        raise InputError(
            f"H has condition number {condition:.1e}: the parabola has a flat direction"
        )
    return -np.linalg.solve(H, gradient)


def best_step(gradient: ndarray, Hg: ndarray) -> float:
    """The step size that is best for the local parabola, straight down the gradient.

    Implements eq-calculus-best-step::

        η = (g · g) / (g · H g)

    Args:
        gradient: g = ∇f, not zero.
        Hg: Hessian times gradient, from :func:`hessian_vector_product`.

    Returns:
        η; the parabola falls by ½ η g·g there, and is back at its start after 2η.

    Raises:
        InputError: If g is zero, or the curvature g·Hg is not positive: then the parabola has
            no lowest point on this line; if shapes differ or something is not finite.
    """
    if np.shape(gradient) != np.shape(Hg):
        raise InputError(f"gradient {np.shape(gradient)} and Hg {np.shape(Hg)} differ in shape")
    with np.errstate(over="ignore"):  # the sums are checked instead
        square, bend = float((gradient * gradient).sum()), float((gradient * Hg).sum())
    if not np.isfinite([square, bend]).all():
        raise InputError(f"g·g = {square:.3g} and g·Hg = {bend:.3g} must be finite; scale g")
    if square == 0:
        raise InputError("the gradient is zero: there is no direction to step in")
    if not bend > 0:
        raise InputError(f"g·Hg = {bend:.3g} ≤ 0: along g the parabola has no lowest point")
    return square / bend


def sharpness(
    f: Callable[[Any], Any], x: ndarray, start: ndarray, steps: int = 30
) -> tuple[Any, ndarray]:
    """Eigenvalue of the Hessian of largest size, by power iteration without the Hessian.

    Computes::

        v ← H v / ‖H v‖,   λ = v · H v

    Args:
        f: Scalar function of a vector, as for :func:`gradient`.
        x: Point; or several as rows, if f is a sum with one term for each row.
        start: First v, not zero and not at right angles to the answer: draw it at random, or
            take the v of a nearby point.
        steps: Hessian-vector products; each costs about two gradients.

    Returns:
        λ with its sign, and v; one of each for each row of x.

    Raises:
        InputError: If ``steps`` is not positive, ``start`` is zero, or H v becomes zero.
    """
    if steps < 1:
        raise InputError(f"steps={steps} must be at least 1")
    v, eigenvalue = _unit(start), 0.0
    for _ in range(steps):
        Hv = hessian_vector_product(f, x, v)[2]
        eigenvalue = (v * Hv).sum(axis=-1)
        v = _unit(Hv)
    return eigenvalue, v


def _unit(v: ndarray) -> ndarray:
    with np.errstate(over="ignore"):  # the length is checked instead
        length = np.sqrt((v * v).sum(axis=-1, keepdims=True))
    if not np.isfinite(length).all():
        raise InputError(
            f"the vector of the power iteration has length {length.max()}; scale it"
        )
    if not (length > 0).all():
        raise InputError("the vector of the power iteration is zero; take another start")
    return v / length


def _require_hessian(gradient: ndarray, H: ndarray) -> None:
    n = np.size(gradient)
    if np.ndim(gradient) != 1 or np.shape(H) != (n, n) or n == 0:
        raise InputError(
            f"gradient {np.shape(gradient)} and H {np.shape(H)} do not fit: (n,), (n, n), n ≥ 1"
        )
    if not np.isfinite(H).all() or not np.isfinite(gradient).all():
        raise InputError("the gradient or H holds entries that are not finite")
    gap = float(np.abs(H - np.transpose(H)).max())
    if gap > 1e-6 * max(1.0, float(np.abs(H).max())):
        raise InputError(f"H differs from its transpose by {gap:.3g}; a Hessian is symmetric")


__all__ = ["best_step", "critical_point", "newton_step", "sharpness"]
