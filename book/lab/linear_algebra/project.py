"""Grader of the project of this page: principal components and neighbors of embeddings.

from lab.linear_algebra.project import grade
grade(fit_pca)                             # part 1
grade(fit_pca, nearest)                    # and part 2
grade(fit_pca, nearest, neighbors_kept)    # all three
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from lab.grading import Case, Report, grade_by
from mathlm import reference as ref


def grade(
    fit_pca: Callable, nearest: Callable | None = None, neighbors_kept: Callable | None = None
) -> Report:
    """Run the tests of the project on a reader's own functions.

    Args:
        fit_pca: ``fit_pca(X, k)`` -> mean (D,), axes (k, D) as rows, variances (k,).
        nearest: ``nearest(E, rows, k)`` -> row numbers (len(rows), k). None = part 1 only.
        neighbors_kept: ``neighbors_kept(E, rows, k, dims)`` -> share. None = parts 1 and 2.

    Returns:
        A report that prints itself.
    """
    parts = ((PCA, fit_pca), (NEAREST, nearest), (KEPT, neighbors_kept))
    results = [grade_by(tests, code).results for tests, code in parts if code is not None]
    note = ""
    if nearest is None:
        note = "Parts 2 and 3 were not tested: call grade(fit_pca, nearest)."
    elif neighbors_kept is None:
        note = "Part 3 was not tested: call grade(fit_pca, nearest, neighbors_kept)."
    return Report(sum(results, ()), note)


def _cloud(rows: int = 80, width: int = 6, seed: int = 0) -> ndarray:
    """Points with six different variances, far from the origin."""
    rng = np.random.default_rng(seed)
    spread = 2.0 ** -np.arange(width)
    return (rng.normal(size=(rows, width)) * spread) @ _rotation(width) + 3.0


def _rotation(width: int) -> ndarray:
    return ref.gram_schmidt(np.random.default_rng(1).normal(size=(width, width)))


def _close(found: Any, expected: Any) -> bool:
    found = np.asarray(found)
    return found.shape == np.shape(expected) and np.allclose(found, expected, atol=1e-7)


# --- part 1: principal components ------------------------------------------------------------


def _shapes(fit_pca: Callable) -> str | None:
    found = fit_pca(_cloud(), 4)
    if not isinstance(found, tuple) or len(found) != 3:
        return "fit_pca must return three things: the mean, the axes and the variances."
    for name, array, shape in zip(
        ("mean", "axes", "variances"), found, ((6,), (4, 6), (4,)), strict=True
    ):
        if np.shape(array) != shape:
            hint = " The axes are rows here." if np.shape(array) == (6, 4) else ""
            return (
                f"For 80 points of width 6 and k = 4 {name} has shape {np.shape(array)}, "
                f"expected {shape}.{hint}"
            )
    return None


def _mean(fit_pca: Callable) -> str | None:
    X = _cloud()
    mean, axes, _ = fit_pca(X, 1)
    if not _close(mean, X.mean(axis=0)):
        return "The mean is not the mean of the rows: average over axis 0."
    toward = abs(np.ravel(axes) @ X.mean(axis=0)) / np.linalg.norm(X.mean(axis=0))
    uncentered = np.linalg.svd(X, full_matrices=False)[2][0]
    if toward > 0.99 or np.isclose(abs(np.ravel(axes) @ uncentered), 1, atol=1e-9):
        return (
            "The first axis points to the mean of the cloud, not along its spread: subtract "
            "the mean from every row before you look for axes."
        )
    return None


def _falling(fit_pca: Callable) -> str | None:
    variances = np.asarray(fit_pca(_cloud(), 6)[2])
    if (np.diff(variances) <= 1e-12).all():
        return None
    return (
        "The variances do not fall: np.linalg.eigh returns the smallest eigenvalue first; "
        "turn the order around, and that of the axes with it."
    )


def _scale(fit_pca: Callable) -> str | None:
    X = _cloud()
    found, right = np.sort(np.asarray(fit_pca(X, 6)[2]))[::-1], ref.pca(X)[0]
    if _close(found, right):
        return None
    mistakes = {
        "divided by N; this project divides by N - 1": right * 79 / 80,
        "singular values of the data; square them and divide by N - 1": np.sqrt(right * 79),
        "not divided: they are sums of squares; divide by N - 1": right * 79,
        "standard deviations; square them": np.sqrt(right),
        "shares of the whole; return the variances themselves": right / right.sum(),
    }
    for mistake, values in mistakes.items():
        if _close(found, values):
            return f"The variances are {mistake}."
    return (
        f"The largest variance is {found[0]:.4f}, expected {right[0]:.4f}: the variance along "
        "an axis is that of the coordinates of the centered points along it."
    )


def _orthonormal(fit_pca: Callable) -> str | None:
    axes = np.asarray(fit_pca(_cloud(), 4)[1])
    if _close(axes @ axes.T, np.eye(4)):
        return None
    if _close(np.diag(np.diag(axes @ axes.T)), axes @ axes.T):
        return "The axes are at right angles but not of length 1: divide each by its norm."
    return (
        "The axes are not orthonormal rows: eigh returns eigenvectors as columns, so take "
        "columns and transpose; rows of that matrix are no eigenvectors."
    )


def _axes(fit_pca: Callable) -> str | None:
    X = _cloud()
    axes, right = np.asarray(fit_pca(X, 4)[1]), ref.pca(X)[1].T[:4]
    if _close(np.abs(axes @ right.T), np.eye(4)):
        return None
    if _close(np.abs(axes @ ref.pca(X)[1][:, ::-1][:, :4]), np.eye(4)):
        return "The axes are those of the least variance: take the last columns of eigh."
    return (
        "The axes are not eigenvectors of the covariance in the order of their variances: "
        "the variance of (X - mean) @ axes[0] must be the largest that a direction can have."
    )


def _few_points(fit_pca: Callable) -> str | None:
    X = _cloud(rows=5, width=20, seed=2)
    _, axes, variances = fit_pca(X, 3)
    if _close(variances, ref.pca(X)[0][:3]) and _close(axes @ axes.T, np.eye(3)):
        return None
    return "With 5 points of width 20 the axes or variances are wrong: N may be less than D."


def _keeps_input(fit_pca: Callable) -> str | None:
    X = _cloud()
    before = X.copy()
    fit_pca(X, 2)
    if np.array_equal(X, before):
        return None
    return "fit_pca changes X: write X - mean, not X -= mean."


SHAPES, MEAN, FALLING, ORTHONORMAL = "shapes", "the mean", "order", "right angles"
VARIANCES, AXES, KEPT_X = "variances", "axes", "X stays as it is"
PCA = (
    Case(SHAPES, _shapes),
    Case(KEPT_X, _keeps_input, (SHAPES,)),
    Case(MEAN, _mean, (KEPT_X,)),
    Case(FALLING, _falling, (SHAPES,)),
    Case(VARIANCES, _scale, (MEAN,)),
    Case(ORTHONORMAL, _orthonormal, (SHAPES,)),
    Case(AXES, _axes, (MEAN, FALLING, ORTHONORMAL)),
    Case("fewer points than features", _few_points, (VARIANCES, AXES)),
)


# --- part 2: neighbors -----------------------------------------------------------------------


def _vectors(count: int = 60, width: int = 8) -> ndarray:
    """Vectors of very different lengths, for which cosine and other measures disagree."""
    rng = np.random.default_rng(3)
    return (rng.normal(size=(count, width)) + 0.5) * rng.uniform(0.2, 5, size=(count, 1))


ROWS = [4, 17, 31]


def _right(E: ndarray, rows: Sequence[int], k: int) -> ndarray:
    """Neighbors by cosine, sorted."""
    U = E / np.linalg.norm(E, axis=1, keepdims=True)
    cosines = U[list(rows)] @ U.T
    cosines[np.arange(len(rows)), list(rows)] = -np.inf
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


def _counts(nearest: Callable) -> str | None:
    found = np.asarray(nearest(_vectors(), ROWS, 5))
    if found.shape != (3, 5):
        return f"nearest(E, rows, 5) for 3 rows has shape {found.shape}, expected (3, 5)."
    if not np.issubdtype(found.dtype, np.integer):
        return f"nearest returns {found.dtype} values; return the numbers of rows of E."
    return None


def _not_itself(nearest: Callable) -> str | None:
    found = np.asarray(nearest(_vectors(), ROWS, 5))
    if not (found == np.array(ROWS)[:, None]).any():
        return None
    return "A word is among its own neighbors: leave the row itself out."


def _measure(nearest: Callable) -> str | None:
    E = _vectors()
    found, right = np.sort(np.asarray(nearest(E, ROWS, 5))), np.sort(_right(E, ROWS, 5))
    if np.array_equal(found, right):
        return None
    dots, gaps = E[ROWS] @ E.T, -np.linalg.norm(E[ROWS][:, None] - E[None], axis=-1)
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    mistakes = {
        "those of the dot product, which prefers long vectors: divide by both norms": dots,
        "those of the Euclidean distance, which minds lengths: divide by the norms": gaps,
        "the farthest by cosine: the largest cosines are wanted": -unit[ROWS] @ unit.T,
    }
    for mistake, scores in mistakes.items():
        scores = scores.copy()
        scores[np.arange(3), ROWS] = -np.inf
        if np.array_equal(found, np.sort(np.argsort(-scores, axis=1)[:, :5])):
            return f"The neighbors are {mistake}."
    return "The neighbors are not those of the largest cosines."


def _order(nearest: Callable) -> str | None:
    E = _vectors()
    found, right = np.asarray(nearest(E, ROWS, 5)), _right(E, ROWS, 5)
    if np.array_equal(found, right):
        return None
    return "The right neighbors come in the wrong order: the nearest must stand first."


def _twin(nearest: Callable) -> str | None:
    E = np.random.default_rng(4).normal(size=(30, 8))
    E[20], E[3] = 2 * E[10], 2 * E[12]  # one twin after its word, one before
    found = np.asarray(nearest(E, [10, 12], 3))
    if found[0, 0] == 20 and found[1, 0] == 3:
        return None
    return (
        "A word whose vector is a multiple of the asked one must be found first: leave out "
        "the row that was asked by its number, not the largest cosine or the first place."
    )


def _keeps_vectors(nearest: Callable) -> str | None:
    E = _vectors()
    before = E.copy()
    nearest(E, ROWS, 3)
    return None if np.array_equal(E, before) else "nearest changes E: work on a copy."


COUNT, ITSELF, COSINE, ORDER = "k neighbors", "without itself", "cosine", "nearest first"
KEPT_E = "E stays as it is"
NEAREST = (
    Case(COUNT, _counts),
    Case(KEPT_E, _keeps_vectors, (COUNT,)),
    Case(ITSELF, _not_itself, (COUNT,)),
    Case(COSINE, _measure, (KEPT_E, ITSELF)),
    Case(ORDER, _order, (COSINE,)),
    Case("a word of the same direction", _twin, (ORDER,)),
)


# --- part 3: what a projection keeps ---------------------------------------------------------


def _keeps_all(neighbors_kept: Callable) -> str | None:
    E = _cloud(rows=200)
    found = neighbors_kept(E, list(range(20)), 5, 6)
    if np.isclose(found, 1):
        return None
    if found > 1:
        return (
            f"With all 6 axes the result is {found:g}: return a share, not a number of words."
        )
    return (
        f"With all 6 axes {found:.2f} of the neighbors are kept, expected all: subtract the "
        "mean before you look for the first neighbors too, since the projection does."
    )


def _share(neighbors_kept: Callable) -> str | None:
    E, rows = _cloud(rows=200), list(range(0, 200, 5))
    centered = E - E.mean(axis=0)
    before = _right(centered, rows, 5)
    for dims in (1, 3, 5):
        after = _right(centered @ ref.pca(E)[1][:, :dims], rows, 5)
        both = [len(set(a) & set(b)) for a, b in zip(before, after, strict=True)]
        found, right = neighbors_kept(E, rows, 5, dims), np.mean(both) / 5
        if not np.isclose(found, right):
            return (
                f"With {dims} axes the share is {found:.3f}, expected {right:.3f}: project the "
                "centered vectors on the first axes, look for neighbors again, and count "
                "those that stand in both lists, in any order."
            )
    return None


ALL = "all axes"
KEPT = (Case(ALL, _keeps_all), Case("some axes", _share, (ALL,)))

__all__ = ["Report", "grade"]
