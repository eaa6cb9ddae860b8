"""Does a cloud of vectors fill its space evenly? Two measures, and two repairs."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array
from mathlm.reference.linear_algebra import pca
from mathlm.reference.statistics.softmax import logsumexp
from mathlm.shapes import Float

LARGEST = 1e150  # entries whose squares are finite


def mean_cosine(vectors: Float[ndarray, "N D"]) -> float:
    """Mean cosine over all pairs of different rows, without visiting the pairs.

    Implements eq-mean-cosine::

        (2 / N(N-1)) Σ_{i<j} u_i·u_j = (N ‖ū‖² - 1) / (N - 1),   u_i = v_i / ‖v_i‖

    Near 0 if the directions are spread evenly, near 1 if they form a narrow cone.

    Args:
        vectors: At least two rows, none of them zero.

    Returns:
        Between -1/(N-1) and 1.

    Raises:
        InputError: If there are fewer than two rows, or a row is zero or not finite.

    References:
        Ethayarajh (2019), arXiv:1909.00512, which estimates it from random pairs.
    """
    v = _cloud(vectors)
    largest = np.abs(v).max(axis=1, keepdims=True)
    if not np.all(largest > 0):
        raise InputError(f"vector {int(np.argmin(largest))} is zero: it has no direction")
    u = v / largest  # no square overflows or vanishes
    N, u_mean = len(v), (u / np.linalg.norm(u, axis=1, keepdims=True)).mean(axis=0)
    return float((N * u_mean @ u_mean - 1) / (N - 1))


def partition_isotropy(vectors: Float[ndarray, "N D"]) -> float:
    """How evenly a softmax over all rows is normalized, whichever way its query points.

    Computes::

        min_c Z(c) / max_c Z(c),   Z(c) = Σ_i exp(c·v_i),   c = ± eigenvectors of VᵀV

    The eigenvectors have length 1 and stand for all directions. Both signs are tried, since an
    eigenvector has none of its own.

    Args:
        vectors: At least two rows.

    Returns:
        In (0, 1]; 1 if no direction is special. Longer vectors give a smaller value.

    Raises:
        InputError: If there are fewer than two rows, or one is not finite.

    References:
        Mu and Viswanath (2018), arXiv:1702.01417, eq. (4), with one sign for each eigenvector.
    """
    v = _cloud(vectors)
    _, C = np.linalg.eigh(v.T @ v)
    log_z = logsumexp(v @ np.concatenate([C, -C], axis=1), axis=0)  # (2D,)
    return float(np.exp(log_z.min() - log_z.max()))


def remove_top_components(vectors: Float[ndarray, "N D"], k: int) -> Float[ndarray, "N D"]:
    """All but the mean and the k directions of largest variance.

    Implements eq-all-but-the-top::

        v_i ← v_i - μ - Σ_{j≤k} (u_j·(v_i - μ)) u_j

    Args:
        vectors: At least two rows.
        k: How many principal axes u_j go, 0 ≤ k < D; with 0 only the mean does.

    Returns:
        Vectors of the same shape, in float64, in a subspace of D - k dimensions.

    Raises:
        InputError: If k is out of range, there are fewer than two rows, or one is not finite.

    References:
        Mu and Viswanath (2018), arXiv:1702.01417, algorithm 1; they suggest k = D/100.
    """
    v = _cloud(vectors)
    if not 0 <= k < v.shape[1]:
        raise InputError(f"k={k} components of {v.shape[1]} cannot go; 0 <= k < D must stay")
    centered = v - v.mean(axis=0)
    U = pca(v)[1][:, :k]
    return centered - (centered @ U) @ U.T


def whiten(vectors: Float[ndarray, "N D"]) -> Float[ndarray, "N D"]:
    """Vectors of mean 0 and variance 1 in every direction.

    Computes::

        v_i ← U Λ^(-1/2) Uᵀ (v_i - μ),   C = U Λ Uᵀ the covariance

    Of all maps that do so it moves the vectors least: its matrix is symmetric.

    Args:
        vectors: Rows that span all D directions around their mean.

    Returns:
        Vectors of the same shape, in float64.

    Raises:
        InputError: If a direction has no variance (below 1e-12 of the largest), there are
            fewer than two rows, or one is not finite.
    """
    v = _cloud(vectors)
    variances, U = pca(v)
    if not variances[-1] > 1e-12 * variances[0]:
        raise InputError(
            f"{len(v)} vectors do not spread in all {v.shape[1]} directions: the smallest "
            f"variance is {variances[-1]:.3g}, the largest {variances[0]:.3g}; leave out "
            "directions first"
        )
    return (v - v.mean(axis=0)) @ (U / np.sqrt(variances)) @ U.T


def _cloud(vectors: ndarray) -> ndarray:
    """At least two rows of finite numbers, in float64, whose squares have a finite sum."""
    v = finite_array(vectors, "vectors")
    if v.ndim != 2 or len(v) < 2:
        raise InputError(f"vectors have shape {v.shape}, expected (N, D) with N >= 2")
    largest = np.abs(v).max()
    if largest > LARGEST / v.size:
        raise InputError(
            f"an entry of the vectors is as large as {largest:.3g}: sums of its square may be "
            "infinite; divide all vectors by one number"
        )
    return v


__all__ = ["mean_cosine", "partition_isotropy", "remove_top_components", "whiten"]
