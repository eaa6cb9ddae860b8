"""Directions that carry the most: PCA, truncated SVD and effective rank."""

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float


def covariance(X: Float[ndarray, "N D"]) -> Float[ndarray, "D D"]:
    """Covariance matrix of the columns of X.

    Implements eq-linear-covariance::

        C = (X - μ)ᵀ (X - μ) / (N - 1),   μ = mean of the rows

    Args:
        X: One observation a row.

    Raises:
        InputError: If there are fewer than 2 rows.
    """
    if len(X) < 2:
        raise InputError(f"a covariance needs at least 2 rows, got {len(X)}")
    centered = X - X.mean(axis=0)
    return centered.T @ centered / (len(X) - 1)


def pca(X: Float[ndarray, "N D"]) -> tuple[Float[ndarray, " D"], Float[ndarray, "D D"]]:
    """Principal axes of a cloud of points: eigenvectors of its covariance.

    Implements eq-linear-pca::

        C u_k = λ_k u_k,   λ_1 ≥ λ_2 ≥ ... ≥ 0

    The sign of an axis is not determined; here its largest entry is positive.

    Args:
        X: One observation a row.

    Returns:
        Variances λ [units of X, squared] in falling order, and the axes u_k as columns.
    """
    variances, axes = np.linalg.eigh(covariance(X))
    return np.maximum(variances[::-1], 0.0), _orient(axes[:, ::-1])


def pca_by_svd(X: Float[ndarray, "N D"]) -> tuple[Float[ndarray, " R"], Float[ndarray, "D R"]]:
    """The same from the singular values of the centered data, without the covariance.

    Implements eq-linear-pca-svd::

        X - μ = U Σ Vᵀ,   λ_k = σ_k² / (N - 1),   u_k = v_k

    Squaring X loses half the digits of the small variances; this form keeps them.

    Args:
        X: One observation a row.

    Returns:
        R = min(N, D) variances in falling order, and the axes as columns.

    Raises:
        InputError: If there are fewer than 2 rows.
    """
    if len(X) < 2:
        raise InputError(f"a variance needs at least 2 rows, got {len(X)}")
    _, sigma, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return sigma**2 / (len(X) - 1), _orient(Vt.T)


def low_rank(A: Float[ndarray, "M N"], k: int) -> Float[ndarray, "M N"]:
    """The matrix of rank k that is nearest to A in the Frobenius norm.

    Implements eq-linear-truncated-svd::

        A_k = Σ_{i≤k} σ_i u_i v_iᵀ,   ‖A - A_k‖_F² = Σ_{i>k} σ_i²

    Args:
        A: Matrix.
        k: Rank to keep, 0 ≤ k ≤ min(M, N).

    Raises:
        InputError: If k is out of range.

    References:
        Eckart and Young (1936), The approximation of one matrix by another of lower rank.
    """
    if not 0 <= k <= min(A.shape):
        raise InputError(f"k={k} is outside 0..{min(A.shape)} for a matrix of shape {A.shape}")
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    return (U[:, :k] * sigma[:k]) @ Vt[:k]


def energy_kept(sigma: Float[ndarray, " R"]) -> Float[ndarray, " R"]:
    """Share of ‖A‖_F² that the first k singular values hold, for every k.

    Implements eq-linear-energy::

        E(k) = Σ_{i≤k} σ_i² / Σ_i σ_i²

    Args:
        sigma: Singular values in falling order; of a cloud of points, √λ.

    Returns:
        R values that rise to 1.

    Raises:
        InputError: If all singular values are zero.
    """
    return np.cumsum(_shares(sigma))


def effective_rank(sigma: Float[ndarray, " R"]) -> float:
    """How many equal singular values would be spread as evenly as these are.

    Implements eq-linear-effective-rank::

        exp(-Σ_i p_i ln p_i),   p_i = σ_i² / Σ_j σ_j²

    Between 1 and the rank; it does not change when the matrix is scaled.

    Args:
        sigma: Singular values; of a cloud of points, √λ.

    Raises:
        InputError: If all singular values are zero.

    References:
        Roy and Vetterli (2007), The effective rank, which takes p_i = σ_i / Σ_j σ_j.
    """
    p = _shares(sigma)
    p = p[p > 0]
    return float(np.exp(-np.sum(p * np.log(p))))


def _shares(sigma: ndarray) -> ndarray:
    """σ_i² / Σ_j σ_j²."""
    energy = np.asarray(sigma) ** 2
    if not np.sum(energy) > 0:
        raise InputError("all singular values are zero (or NaN): a zero matrix has no spectrum")
    return energy / np.sum(energy)


def _orient(axes: ndarray) -> ndarray:
    """Columns with their largest entry positive."""
    largest = np.argmax(np.abs(axes), axis=0)
    return axes * np.sign(axes[largest, np.arange(axes.shape[1])])


__all__ = [
    "covariance",
    "effective_rank",
    "energy_kept",
    "low_rank",
    "pca",
    "pca_by_svd",
]
