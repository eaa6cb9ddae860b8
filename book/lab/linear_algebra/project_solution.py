"""A solution of the project of chapter 1: principal components and nearest neighbors."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray


def fit_pca(X: ndarray, k: int) -> tuple[ndarray, ndarray, ndarray]:
    """Mean of the rows, the k axes of largest variance as rows, and those variances."""
    mean = X.mean(axis=0)
    covariance = (X - mean).T @ (X - mean) / (len(X) - 1)
    eigenvalues, vectors = np.linalg.eigh(covariance)  # rising; eigenvectors as columns
    return mean, vectors[:, ::-1][:, :k].T, eigenvalues[::-1][:k]


def nearest(E: ndarray, rows: Sequence[int], k: int) -> ndarray:
    """For each of some rows, the numbers of the k others of largest cosine, nearest first."""
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    cosines = unit[rows] @ unit.T
    cosines[np.arange(len(rows)), rows] = -np.inf  # the row itself
    return np.argsort(-cosines, axis=1, kind="stable")[:, :k]


def neighbors_kept(E: ndarray, rows: Sequence[int], k: int, dims: int) -> float:
    """Share of the k nearest neighbors that are left on the first ``dims`` axes."""
    mean, axes, _ = fit_pca(E, dims)
    before, after = nearest(E - mean, rows, k), nearest((E - mean) @ axes.T, rows, k)
    both = [len(set(a) & set(b)) for a, b in zip(before, after, strict=True)]
    return float(np.mean(both)) / k


__all__ = ["fit_pca", "nearest", "neighbors_kept"]
