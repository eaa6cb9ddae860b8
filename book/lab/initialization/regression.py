"""Linear regression with a prior on the weights or noise on the inputs, in closed form."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array
from mathlm.shapes import Float


def ridge_regression(
    x: Float[ndarray, "N D"], y: Float[ndarray, " M"], penalty: float | int
) -> Float[ndarray, " D"]:
    """Least squares with a penalty on the squared weights.

    Implements eq-ridge::

        w = argmin ½ Σ_n (y_n - x_n·w)² + ½ λ |w|² = (XᵀX + λI)⁻¹ Xᵀy

    With Gaussian noise of variance σ² and a Gaussian prior of variance τ² on each weight it is
    the most probable w, for λ = σ²/τ².

    Args:
        x: Inputs, one row for each example.
        y: Targets.
        penalty: λ >= 0.

    Raises:
        InputError: If λ < 0, the lengths differ, or XᵀX + λI cannot be inverted.

    Example:
        >>> ridge_regression(np.array([[1.0], [1.0]]), np.array([3.0, 3.0]), 1).tolist()
        [2.0]
    """
    x, y = _examples(x, y)
    if not 0 <= penalty < np.inf:
        raise InputError(f"penalty={penalty} must be finite and not negative")
    gram, moment = _products(x, y)
    return _solve(gram + penalty * np.eye(x.shape[1]), moment)


def dropout_regression(
    x: Float[ndarray, "N D"], y: Float[ndarray, " M"], p: float | int
) -> Float[ndarray, " D"]:
    """Least squares when inputs are dropped at random, averaged over all masks.

    Implements eq-dropout-ridge::

        E ½ Σ_n (y_n - x̃_n·w)² = ½ Σ_n (y_n - x_n·w)² + ½ p/(1-p) Σ_j (Σ_n x_nj²) w_j²
        w = (XᵀX + p/(1-p) diag(XᵀX))⁻¹ Xᵀy

    Here x̃ is x with each entry set to 0 with probability p and divided by 1 - p otherwise.

    Args:
        x: Inputs, one row for each example.
        y: Targets.
        p: Probability of dropping an input, 0 <= p < 1.

    Raises:
        InputError: If p is outside [0, 1), the lengths differ, or the matrix is singular.

    References:
        Srivastava et al. (2014), JMLR 15, section 9.1.
    """
    x, y = _examples(x, y)
    if not 0 <= p < 1:
        raise InputError(f"p={p} must lie in [0, 1)")
    gram, moment = _products(x, y)
    return _solve(gram + p / (1 - p) * np.diag(np.diag(gram)), moment)


def _examples(x: ndarray, y: ndarray) -> tuple[ndarray, ndarray]:
    x, y = finite_array(x, "x"), finite_array(y, "y")
    if x.ndim != 2 or y.shape != x.shape[:1]:
        raise InputError(
            f"x has shape {x.shape} and y has shape {y.shape}; give one target for each row"
        )
    return x, y


def _products(x: ndarray, y: ndarray) -> tuple[ndarray, ndarray]:
    with np.errstate(over="ignore", invalid="ignore"):
        gram, moment = x.T @ x, x.T @ y
    if not (np.isfinite(gram).all() and np.isfinite(moment).all()):
        raise InputError(f"XᵀX overflows: the largest input is {np.abs(x).max():.3g}; rescale")
    return gram, moment


def _solve(matrix: ndarray, target: ndarray) -> ndarray:
    if np.linalg.matrix_rank(matrix) < len(matrix):
        raise InputError(
            f"the {len(matrix)} × {len(matrix)} normal matrix is singular: give more examples "
            "or a positive penalty"
        )
    return np.linalg.solve(matrix, target)
