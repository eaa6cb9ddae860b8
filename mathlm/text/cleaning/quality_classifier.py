"""A logistic regression on hashed words that tells two kinds of documents apart.

References:
    Weinberger et al. (2009), arXiv:0902.2206 (hashed features).
    Brown et al. (2020), arXiv:2005.14165, appendix A (a classifier as filter of web pages).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError
from ...shapes import Float, Int
from .deduplication import gram_hashes, word_hashes, words_of


class Features(NamedTuple):
    """A sparse matrix, one row for each document: its entries one after another.

    Args:
        rows: Row of each entry.
        columns: Column of each entry.
        values: The entries.
        shape: Rows and columns of the matrix.
    """

    rows: Int[ndarray, " E"]
    columns: Int[ndarray, " E"]
    values: Float[ndarray, " E"]
    shape: tuple[int, int]

    def times(self, w: Float[ndarray, " F"]) -> Float[ndarray, " N"]:
        """X w."""
        return np.bincount(self.rows, self.values * w[self.columns], self.shape[0]) + 0.0

    def transposed_times(self, r: Float[ndarray, " N"]) -> Float[ndarray, " F"]:
        """Xᵀ r."""
        return np.bincount(self.columns, self.values * r[self.rows], self.shape[1]) + 0.0


def hashed_features(
    documents: Sequence[str], buckets: int = 1 << 14, orders: Sequence[int] = (1, 2)
) -> Features:
    """Counts of word runs in a fixed number of buckets, each row of length 1.

    A run's hash decides its bucket, so that no vocabulary is kept. Runs that share a bucket
    share a weight. A document without words is a row of zeros.

    Args:
        documents: The texts.
        buckets: F, columns of the matrix.
        orders: Lengths of the runs that are counted [words].

    Raises:
        InputError: If there are no documents, or a number is below 1.
        InputTypeError: If a document is not a str.
    """
    if not documents or buckets < 1 or not orders:
        raise InputError(
            f"{len(documents)} documents, buckets={buckets}, orders={tuple(orders)}: give one "
            "or more of each"
        )
    entries = []
    for text in documents:
        words = word_hashes(words_of(text))
        grams = np.concatenate([gram_hashes(words, n) for n in orders]) % np.uint64(buckets)
        columns, counts = np.unique(grams.astype(np.int64), return_counts=True)
        entries.append((columns, counts / max(float(np.linalg.norm(counts)), 1.0)))
    columns, values = (np.concatenate(part) for part in zip(*entries, strict=True))
    rows = np.repeat(np.arange(len(entries)), [len(columns) for columns, _ in entries])
    return Features(rows, columns, values, (len(entries), buckets))


@dataclass(frozen=True, kw_only=True, eq=False)
class QualityClassifier:
    """Weights of a logistic regression on hashed word runs; made by :meth:`train`.

    Args:
        weights: One for each bucket.
        bias: The logit of a document without words.
        orders: Lengths of the word runs.
    """

    weights: Float[ndarray, " F"]
    bias: float
    orders: tuple[int, ...] = (1, 2)

    @classmethod
    def train(
        cls,
        documents: Sequence[str],
        labels: Sequence[int | bool],
        *,
        decay: float | int = 1e-3,
        buckets: int = 1 << 14,
        orders: Sequence[int] = (1, 2),
        steps: int = 400,
    ) -> "QualityClassifier":
        """Fit labels 1 (good) and 0 by the least regularized cross-entropy.

        Computes::

            L(w, b) = (1/N) Σ_i log(1 + exp(-s_i (x_i·w + b))) + (λ/2) |w|²,   s_i = ±1

        by Nesterov's method with the step 1/β, β = 1/2 + λ, and the momentum of a strongly
        convex loss; rows have length 1, so that no curvature is above (1 + 1)/4 + λ.

        Args:
            documents: The texts.
            labels: 1 or 0 for each; both must occur.
            decay: λ > 0, on the weights alone.
            buckets: F, columns of the features.
            orders: Lengths of the word runs.
            steps: Of the method.

        Raises:
            InputError: If labels and documents differ in number, or only one label occurs.
            ConfigError: If λ or ``steps`` is not positive.
        """
        y = np.asarray(labels, np.float64)
        if y.shape != (len(documents),) or set(y.tolist()) != {0.0, 1.0}:
            raise InputError(
                f"labels of shape {y.shape} with values {sorted(set(y.ravel().tolist()))[:5]} "
                f"for {len(documents)} documents: give 0 or 1 for each, and both"
            )
        if not 0 < decay < math.inf or steps < 1:
            raise ConfigError(f"decay={decay} and steps={steps} must be positive")
        X = hashed_features(documents, buckets, orders)
        weights, bias = _minimize(X, y, decay, steps)
        return cls(weights=weights, bias=bias, orders=tuple(orders))

    def probability(self, documents: Sequence[str]) -> Float[ndarray, " N"]:
        """Probability of the label 1 for each document."""
        X = hashed_features(documents, len(self.weights), self.orders)
        return _sigmoid(X.times(self.weights) + self.bias)


def _minimize(
    X: Features, y: Float[ndarray, " N"], decay: float | int, steps: int
) -> tuple[Float[ndarray, " F"], float]:
    """Weights and bias with the least loss."""
    beta = 0.5 + decay
    momentum = (1 - math.sqrt(decay / beta)) / (1 + math.sqrt(decay / beta))
    w, ahead = np.zeros(X.shape[1] + 1), np.zeros(X.shape[1] + 1)  # the bias comes last
    for _ in range(steps):
        error = (_sigmoid(X.times(ahead[:-1]) + ahead[-1]) - y) / len(y)  # ∂L/∂z
        gradient = np.append(X.transposed_times(error) + decay * ahead[:-1], error.sum())
        before, w = w, ahead - gradient / beta
        ahead = w + momentum * (w - before)
    return w[:-1], float(w[-1])


def _sigmoid(z: Float[ndarray, " N"]) -> Float[ndarray, " N"]:
    return 0.5 * (1 + np.tanh(0.5 * z))
