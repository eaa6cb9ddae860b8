"""Vectors and matrices: norms, angles, bases, determinants and eigenpairs.

Arrays of integers and of 16-bit floats are read in float64, since their squares overflow.
"""

from itertools import pairwise

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float


def p_norm(
    v: Float[ndarray, "*batch D"], p: float | int = 2
) -> Float[ndarray, "*batch"] | float:
    """Size of each vector in the p-norm.

    Implements eq-linear-p-norm::

        ‖v‖_p = (Σ_i |v_i|^p)^(1/p),   p ≥ 1;   ‖v‖_∞ = max_i |v_i|

    Args:
        v: Vectors, along the last axis.
        p: Order; ``np.inf`` for the largest entry.

    Returns:
        One number for each vector.

    Raises:
        InputError: If p < 1: the triangle inequality fails there.

    Example:
        >>> [float(p_norm(np.array([3.0, -4.0]), p)) for p in (1, 2, np.inf)]
        [7.0, 5.0, 4.0]
    """
    if not p >= 1:
        raise InputError(f"p={p} gives no norm: p must be at least 1 (np.inf for the maximum)")
    v = _wide(v)
    largest = np.max(np.abs(v), axis=-1, keepdims=True)
    if np.isinf(p):
        return largest[..., 0]
    scale = np.where(largest > 0, largest, 1.0)  # |v/scale| <= 1: no power can overflow
    return scale[..., 0] * np.sum(np.abs(v / scale) ** p, axis=-1) ** (1 / p)


def frobenius_norm(A: Float[ndarray, "M N"]) -> float:
    """Size of a matrix read as one long vector.

    Implements eq-linear-frobenius::

        ‖A‖_F = √(Σ_ij a_ij²) = √tr(AᵀA) = √(Σ_k σ_k²)

    Args:
        A: Matrix.

    Example:
        >>> frobenius_norm(np.array([[3.0, 0.0], [0.0, 4.0]]))
        5.0
    """
    return float(np.sqrt(np.sum(_wide(A) ** 2)))


def cosine_similarity(
    u: Float[ndarray, "*batch D"], v: Float[ndarray, "*batch D"]
) -> Float[ndarray, "*batch"] | float:
    """Cosine of the angle between vectors, which forgets their lengths.

    Implements eq-linear-cosine::

        cos θ = u·v / (‖u‖ ‖v‖)

    Args:
        u: Vectors, along the last axis.
        v: As many vectors, or one.

    Returns:
        Values in [-1, 1].

    Raises:
        InputError: If a vector is zero: it has no direction.

    Example:
        >>> u, v = np.array([1.0, 0.0]), np.array([1.0, 1.0])
        >>> round(float(cosine_similarity(u, v)), 4)  # 1 / √2
        0.7071
    """
    u, v = _wide(u), _wide(v)
    u_norm = np.linalg.norm(u, axis=-1, keepdims=True)
    v_norm = np.linalg.norm(v, axis=-1, keepdims=True)
    if not (np.all(u_norm > 0) and np.all(v_norm > 0)):
        raise InputError("a zero vector (or NaN) has no direction, so no cosine; leave it out")
    cosine = np.sum((u / u_norm) * (v / v_norm), axis=-1)
    return np.clip(cosine, -1.0, 1.0)  # rounding can leave [-1, 1] by one unit


def projection(v: Float[ndarray, "*batch D"], u: Float[ndarray, " D"]) -> ndarray:
    """The part of v that lies along u.

    Implements eq-linear-projection::

        proj_u(v) = (v·u / u·u) u,   v - proj_u(v) ⟂ u

    Args:
        v: Vectors, along the last axis.
        u: Direction, of any length but zero.

    Raises:
        InputError: If u is zero.

    Example:
        >>> projection(np.array([3.0, 4.0]), np.array([2.0, 0.0]))
        array([3., 0.])
    """
    v, u = _wide(v), _wide(u)
    if not u @ u > 0:
        raise InputError(f"u={u} spans no line to project onto: it must not be zero")
    return (v @ u / (u @ u))[..., None] * u


def gram_schmidt(A: Float[ndarray, "M N"]) -> Float[ndarray, "M N"]:
    """Orthonormal basis of the span of the columns of A.

    Implements eq-linear-gram-schmidt::

        w = a_j - Σ_{i<j} proj_{q_i}(a_j),   q_j = w / ‖w‖

    The projections are taken off one after another, and twice: in floating point the first
    round leaves a rest of the order of the rounding error divided by ‖w‖.

    Args:
        A: Linearly independent columns.

    Returns:
        Q with QᵀQ = I; its first j columns span what the first j of A span.

    Raises:
        InputError: If a column depends on those before it (‖w‖ < 1e-10 ‖a_j‖).

    Example:
        >>> gram_schmidt(np.array([[2.0, 1.0], [0.0, 3.0]])).tolist()
        [[1.0, 0.0], [0.0, 1.0]]
    """
    A = _wide(A)
    Q = np.zeros_like(A)
    for j, a in enumerate(A.T):
        w = a
        for i in [*range(j), *range(j)]:
            w = w - projection(w, Q[:, i])
        if not np.linalg.norm(w) > 1e-10 * np.linalg.norm(a):
            raise InputError(
                f"column {j} depends on the columns before it: no direction is left"
            )
        Q[:, j] = w / np.linalg.norm(w)
    return Q


def coordinates(v: Float[ndarray, " N"], basis: Float[ndarray, "N N"]) -> Float[ndarray, " N"]:
    """Coordinates of v in another basis.

    Implements eq-linear-coordinates::

        c Bᵀ = v,   c = v B⁻ᵀ

    Args:
        v: Vector in the standard basis.
        basis: B, whose columns are the vectors of the basis.

    Raises:
        InputError: If the columns are dependent, so that they are no basis.

    Example:
        >>> coordinates(np.array([2.0, 6.0]), np.array([[2.0, 0.0], [0.0, 3.0]]))
        array([1., 2.])
    """
    if np.linalg.matrix_rank(basis) < len(v):
        raise InputError(
            f"the columns of {basis.tolist()} are dependent: rank "
            f"{np.linalg.matrix_rank(basis)}, expected {len(v)}"
        )
    return np.linalg.solve(basis, v)


def determinant(A: Float[ndarray, "M N"]) -> float:
    """Signed factor by which A changes volumes, by cofactors of the first row.

    Implements eq-linear-determinant::

        det A = Σ_j (-1)^j a_0j det(A without row 0 and column j)

    The cost is N! products: this is for reading, ``np.linalg.det`` for matrices beyond 8 × 8.

    Args:
        A: Square matrix, N ≤ 8.

    Raises:
        InputError: If A is not square or N > 8.

    Example:
        >>> round(determinant(np.array([[1.0, 2.0], [3.0, 4.0]])), 6)
        -2.0
    """
    _require_square(A)
    if len(A) > 8:
        raise InputError(f"{len(A)}! products for N={len(A)}; use np.linalg.det beyond 8")
    if len(A) == 0:
        return 1.0
    A = _wide(A)
    minors = (np.delete(A[1:], j, axis=1) for j in range(len(A)))
    return float(
        sum((-1) ** j * A[0, j] * determinant(minor) for j, minor in enumerate(minors))
    )


def signed_area(corners: Float[ndarray, "N 2"]) -> float:
    """Area of a polygon: positive if its corners run counterclockwise.

    Implements eq-linear-shoelace::

        area = ½ Σ_i (x_i y_{i+1} - x_{i+1} y_i),   indices modulo N

    Args:
        corners: Corners in order; the polygon closes itself.

    Example:
        >>> signed_area(np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 1.0], [0.0, 1.0]]))
        2.0
    """
    corners = _wide(corners)
    closed = np.vstack([corners, corners[:1]])
    return float(sum(p[0] * q[1] - q[0] * p[1] for p, q in pairwise(closed)) / 2)


def eigenvalues_2x2(A: Float[ndarray, "2 2"]) -> ndarray:
    """Eigenvalues of a 2 × 2 matrix, from its trace and its determinant.

    Implements eq-linear-eigenvalues::

        λ² - tr(A) λ + det(A) = 0,   λ = tr/2 ± √(tr²/4 - det)

    Args:
        A: Any real 2 × 2 matrix.

    Returns:
        The larger root first; complex if the matrix turns every direction.

    Example:
        >>> eigenvalues_2x2(np.array([[2.0, 1.0], [1.0, 2.0]]))
        array([3., 1.])
    """
    A = _wide(A)
    half = np.trace(A) / 2
    inside = (A[0, 0] - A[1, 1]) ** 2 / 4 + A[0, 1] * A[
        1, 0
    ]  # tr²/4 - det, without cancellation
    root = np.sqrt(inside) if inside >= 0 else 1j * np.sqrt(-inside)
    return np.array([half + root, half - root])


def power_iteration(
    A: Float[ndarray, "M N"], steps: int = 1000, tol: float = 1e-10
) -> tuple[float, Float[ndarray, " N"]]:
    """Eigenpair of the largest |λ|, by applying A again and again.

    Implements eq-linear-power-iteration::

        v ← v Aᵀ / ‖v Aᵀ‖,   λ = (v Aᵀ)·v

    Two conditions: a single eigenvalue of largest |λ|, which must be real, and a start with a
    component along its eigenvector, which a random start has with probability 1. For a matrix
    with a basis of eigenvectors the error then shrinks by |λ₂/λ₁| a step in the long run.

    Args:
        A: Square matrix whose largest |λ| is real and alone.
        steps: Largest number of products.
        tol: Stop when ‖A v - λ v‖ ≤ tol ‖A v‖.

    Returns:
        λ, and v of length 1 whose largest entry is positive.

    Raises:
        InputError: If A is not square, or v has not settled after ``steps``.

    Example:
        >>> value, vector = power_iteration(np.array([[2.0, 1.0], [1.0, 2.0]]))
        >>> round(value, 6), (vector / vector[0]).round(6)
        (3.0, array([1., 1.]))
    """
    _require_square(A)
    v = np.random.default_rng(0).normal(
        size=len(A)
    )  # orthogonal to the answer with probability 0
    v /= np.linalg.norm(v)
    for _ in range(steps):
        Av = A @ v
        eigenvalue = float(v @ Av)
        size = np.linalg.norm(Av)
        if np.linalg.norm(Av - eigenvalue * v) <= tol * size:
            return eigenvalue, v * np.sign(v[np.argmax(np.abs(v))])
        v = Av / size
    raise InputError(
        f"no eigenvector after {steps} steps: the two largest |λ| are equal, complex or too "
        "close; raise steps, or use np.linalg.eig"
    )


def _require_square(A: ndarray) -> None:
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise InputError(f"A has shape {A.shape}; a square matrix (N, N) is needed")


def covariance(X: Float[ndarray, "N D"]) -> Float[ndarray, "D D"]:
    """Covariance matrix of the columns of X.

    Implements eq-linear-covariance::

        C = (X - μ)ᵀ (X - μ) / (N - 1),   μ = mean of the rows

    Args:
        X: One observation a row.

    Raises:
        InputError: If there are fewer than 2 rows.

    Example:
        >>> covariance(np.array([[-1.0, -2.0], [0.0, 0.0], [1.0, 2.0]]))
        array([[1., 2.],
               [2., 4.]])
    """
    if len(X) < 2:
        raise InputError(f"a covariance needs at least 2 rows, got {len(X)}")
    X = _wide(X)
    centered = X - X.mean(axis=0)
    return centered.T @ centered / (len(X) - 1)


def pca(X: Float[ndarray, "N D"]) -> tuple[Float[ndarray, " D"], Float[ndarray, "D D"]]:
    """Principal axes of a cloud of points: eigenvectors of its covariance.

    Implements eq-linear-pca::

        u_k C = λ_k u_k,   λ_1 ≥ λ_2 ≥ ... ≥ 0

    The sign of an axis is not determined; here its largest entry is positive.

    Args:
        X: One observation a row.

    Returns:
        Variances λ [units of X, squared] in falling order, and the axes u_k as columns.

    Example:
        >>> variances, axes = pca(np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, 0.0]]))
        >>> axes[:, 0]
        array([1., 0.])
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

    Example:
        >>> variances, axes = pca_by_svd(np.array([[-1.0, -1.0], [0.0, 0.0], [1.0, 1.0]]))
        >>> variances.round(6).tolist(), axes[:, 0].round(4).tolist()  # all along (1, 1)
        ([2.0, 0.0], [0.7071, 0.7071])
    """
    if len(X) < 2:
        raise InputError(f"a variance needs at least 2 rows, got {len(X)}")
    X = _wide(X)
    _, sigma, Vt = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    return sigma**2 / (len(X) - 1), _orient(Vt.T)


def low_rank(A: Float[ndarray, "M N"], k: int) -> Float[ndarray, "M N"]:
    """The matrix of rank k that is nearest to A in the Frobenius norm.

    Implements eq-linear-truncated-svd::

        A_k = Σ_{i≤k} σ_i u_iᵀ v_i,   ‖A - A_k‖_F² = Σ_{i>k} σ_i²

    Args:
        A: Matrix.
        k: Rank to keep, 0 ≤ k ≤ min(M, N).

    Raises:
        InputError: If k is out of range.

    Example:
        >>> low_rank(np.diag([3.0, 1.0]), 1).round(6).tolist()
        [[3.0, 0.0], [0.0, 0.0]]

    References:
        Eckart and Young (1936), The approximation of one matrix by another of lower rank.
    """
    if not 0 <= k <= min(A.shape):
        raise InputError(f"k={k} is outside 0..{min(A.shape)} for a matrix of shape {A.shape}")
    U, sigma, Vt = np.linalg.svd(_wide(A), full_matrices=False)
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

    Example:
        >>> energy_kept(np.array([2.0, 1.0]))  # 4 of 5, then all
        array([0.8, 1. ])
    """
    return np.cumsum(_shares(sigma))


def effective_rank(sigma: Float[ndarray, " R"], power: float | int = 2) -> float:
    """How many equal singular values would be spread as evenly as these are.

    Implements eq-linear-effective-rank::

        exp(-Σ_i p_i log p_i),   p_i = σ_i^s / Σ_j σ_j^s,   s = power

    With s = 1 this is the effective rank of the matrix A as Roy and Vetterli define it. With
    s = 2, where shares of the energy are counted, it is the effective rank of AᵀA, a smaller
    number. It lies between 1 and the rank and does not change when the matrix is scaled.

    Args:
        sigma: Singular values; of a cloud of points, √λ.
        power: s, 2 for shares of energy or variance, 1 for shares of the singular values.

    Raises:
        InputError: If all singular values are zero.

    Example:
        >>> effective_rank(np.array([1.0, 1.0, 0.0]))
        2.0

    References:
        Roy and Vetterli (2007), The effective rank: a measure of effective dimensionality.
    """
    p = _shares(sigma, power)
    p = p[p > 0]
    return float(np.exp(-np.sum(p * np.log(p))))


def _shares(sigma: ndarray, power: float | int = 2) -> ndarray:
    """σ_i^s / Σ_j σ_j^s."""
    energy = _wide(np.asarray(sigma)) ** power
    if not np.sum(energy) > 0:
        raise InputError("all singular values are zero (or NaN): a zero matrix has no spectrum")
    return energy / np.sum(energy)


def _wide(A: ndarray) -> ndarray:
    """A, in float64 if it holds integers or 16-bit floats."""
    return A.astype(np.float64) if A.dtype.kind in "iub" or A.dtype == np.float16 else A


def _orient(axes: ndarray) -> ndarray:
    """Columns with their largest entry positive."""
    largest = np.argmax(np.abs(axes), axis=0)
    return axes * np.sign(axes[largest, np.arange(axes.shape[1])])
