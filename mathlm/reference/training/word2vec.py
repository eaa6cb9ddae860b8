"""Losses of word2vec and their gradients: the full softmax, negative sampling, and CBOW.

Mikolov et al. (2013), arXiv:1301.3781 and arXiv:1310.4546.
"""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ..arrays import (
    Numbers,
    Value,
    finite_array,
    gradient_array,
    integer_array,
    require_gradient_shape,
)
from ..network.activation import sigmoid
from ..statistics.softmax import log_softmax


def skip_gram_softmax(w: Numbers, C: ndarray, target: Numbers) -> tuple[Value, Any]:
    """Surprise of a context word when every word of the vocabulary competes for its place.

    Implements eq-skip-gram::

        ℓ = -log softmax(C w)_o = -c_o·w + log Σ_j exp(c_j·w)

    Args:
        w: Vectors of the center words (..., D); in CBOW, of :func:`cbow_context`.
        C: Table of context vectors (V, D), one row a word.
        target: Number o of the context word that was seen (...).

    Returns:
        ℓ [nats] (...), and the cache that :func:`skip_gram_softmax_backward` needs.

    Raises:
        InputError: If an entry is not finite, the widths differ, or a target is not in the
            table.
        InputTypeError: If the targets are not integers.

    Example:
        >>> loss, cache = skip_gram_softmax(np.zeros((1, 3)), np.zeros((4, 3)), [2])
        >>> round(float(loss[0]), 4)  # ln 4
        1.3863
    """
    w, C = finite_array(w, "w"), finite_array(C, "C")
    if C.ndim != 2 or w.shape[-1:] != C.shape[1:]:
        raise InputError(
            f"w {w.shape} and C {C.shape} do not fit: expected (..., D) and (V, D)"
        )
    if np.shape(target) != w.shape[:-1]:
        raise InputError(f"target has shape {np.shape(target)}, expected {w.shape[:-1]}")
    target = integer_array(target, len(C), "target")
    logp = log_softmax(w @ C.T)  # (..., V)
    loss = -np.take_along_axis(logp, target[..., None], axis=-1)[..., 0]
    return loss, (w, C, target, logp)


def skip_gram_softmax_backward(dy: Numbers, cache: Any) -> tuple[ndarray, ndarray]:
    """Gradients of :func:`skip_gram_softmax` in the center vectors and in the whole table.

    Implements eq-skip-gram-gradient::

        g = dℓ (p - e_o),   dw = g C,   dC = gᵀ w

    Every row of the table moves: the cost that negative sampling avoids.

    Args:
        dy: Gradient of the loss in ℓ, of its shape.
        cache: Second value of :func:`skip_gram_softmax`.

    Returns:
        (dw, dC); dC is summed over all examples.

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> loss, cache = skip_gram_softmax(np.ones((1, 1)), np.zeros((4, 1)), [2])
        >>> dw, dC = skip_gram_softmax_backward(np.ones(1), cache)
        >>> dC.ravel().round(4).tolist()  # p less the target
        [0.25, 0.25, -0.75, 0.25]
    """
    w, C, target, logp = cache
    dy = gradient_array(dy, target.shape)
    g = np.exp(logp)  # (..., V)
    picked = target[..., None]
    np.put_along_axis(g, picked, np.take_along_axis(g, picked, -1) - 1, -1)
    g *= dy[..., None]
    return g @ C, g.reshape(-1, len(C)).T @ w.reshape(-1, C.shape[1])


def negative_sampling(
    w: Numbers, c_positive: Numbers, c_negative: Numbers
) -> tuple[Value, Any]:
    """Cost of telling the context word that was seen from k words that were drawn.

    Implements eq-negative-sampling::

        ℓ = -log σ(c_o·w) - Σ_{i=1..k} log σ(-c_i·w)

    Args:
        w: Vectors of the center words (..., D).
        c_positive: Vectors of the context words that were seen (..., D).
        c_negative: Vectors of the words that were drawn (..., k, D), k ≥ 1.

    Returns:
        ℓ [nats] (...), and the cache that :func:`negative_sampling_backward` needs.

    Raises:
        InputError: If an entry or a product is not finite, a shape does not fit, or k is 0.

    Example:
        >>> loss, cache = negative_sampling(np.zeros(2), np.zeros(2), np.zeros((3, 2)))
        >>> round(float(loss), 4)  # 4 ln 2
        2.7726

    References:
        Mikolov et al. (2013), arXiv:1310.4546, eq. (4).
    """
    w, c_positive = finite_array(w, "w"), finite_array(c_positive, "c_positive")
    c_negative = finite_array(c_negative, "c_negative")
    if w.ndim == 0 or c_positive.shape != w.shape:
        raise InputError(
            f"w {w.shape} and c_positive {c_positive.shape} must be (..., D) alike"
        )
    if c_negative.ndim != w.ndim + 1 or np.delete(c_negative.shape, -2).tolist() != [*w.shape]:
        raise InputError(f"c_negative {c_negative.shape} must be (..., k, D) for w {w.shape}")
    with np.errstate(over="ignore", invalid="ignore"):
        score = (w * c_positive).sum(-1)
        scores = np.einsum("...kd,...d->...k", c_negative, w)
    finite_array(score, "c_o·w")
    finite_array(scores, "c_i·w")
    loss = _softplus(-score) + _softplus(scores).sum(-1)
    return loss, (w, c_positive, c_negative, score, scores)


def negative_sampling_backward(dy: Numbers, cache: Any) -> tuple[ndarray, ndarray, ndarray]:
    """Gradients of :func:`negative_sampling`; each is an error of a yes-or-no answer.

    Implements eq-negative-sampling-gradient::

        g_o = dℓ (σ(c_o·w) - 1),   g_i = dℓ σ(c_i·w)
        dw = g_o c_o + Σ_i g_i c_i,   dc_o = g_o w,   dc_i = g_i w

    Args:
        dy: Gradient of the loss in ℓ, of its shape.
        cache: Second value of :func:`negative_sampling`.

    Returns:
        (dw, dc_positive, dc_negative).

    Raises:
        InputError: If dy has not the shape of ℓ.

    Example:
        >>> w, positive, negative = np.ones(1), np.zeros(1), np.zeros((1, 1))
        >>> loss, cache = negative_sampling(w, positive, negative)
        >>> dw, dpositive, dnegative = negative_sampling_backward(1.0, cache)
        >>> dpositive.tolist(), dnegative.tolist()  # σ - 1, and σ
        ([-0.5], [[0.5]])
    """
    w, c_positive, c_negative, score, scores = cache
    dy = gradient_array(dy, score.shape)
    g_o = (-dy * sigmoid(-score)[0])[..., None]
    g = dy[..., None] * sigmoid(scores)[0]  # (..., k)
    dw = g_o * c_positive + np.einsum("...k,...kd->...d", g, c_negative)
    return dw, g_o * w, g[..., None] * w[..., None, :]


def cbow_context(vectors: Numbers) -> tuple[ndarray, Any]:
    """One vector for a whole window, from which CBOW predicts the word in its middle.

    Implements eq-cbow::

        h = (1 / n) Σ_j w_j

    CBOW gives h to :func:`skip_gram_softmax` or :func:`negative_sampling` in the place of w,
    with the center word as the one to find. Skip-gram predicts the other way: each neighbor
    from the center.

    Args:
        vectors: Input vectors of the n ≥ 1 words around the center (..., n, D).

    Returns:
        h (..., D), and the cache that :func:`cbow_context_backward` needs.

    Raises:
        InputError: If there is no word, or an entry is not finite.

    Example:
        >>> h, cache = cbow_context([[1.0, 2.0], [3.0, 6.0]])
        >>> h.tolist()
        [2.0, 4.0]
    """
    vectors = finite_array(vectors, "vectors")
    if vectors.ndim < 2:
        raise InputError(f"vectors has shape {vectors.shape}, expected (..., n, D)")
    return (vectors / vectors.shape[-2]).sum(-2), vectors.shape  # no sum can overflow


def cbow_context_backward(dy: Numbers, cache: Any) -> ndarray:
    """Gradient of :func:`cbow_context`: each of the n words gets an equal share.

    Computes::

        dw_j = dh / n

    Args:
        dy: Gradient of the loss in h, of its shape.
        cache: Second value of :func:`cbow_context`.

    Raises:
        InputError: If dy has not the shape of h.

    Example:
        >>> h, cache = cbow_context([[1.0, 2.0], [3.0, 6.0]])
        >>> cbow_context_backward([1.0, 0.0], cache).tolist()
        [[0.5, 0.0], [0.5, 0.0]]
    """
    dy = gradient_array(dy, (*cache[:-2], cache[-1]))
    return np.broadcast_to(dy[..., None, :] / cache[-2], cache).copy()


def expected_negative_sampling(
    x: Numbers, counts: Numbers, k: float | int, noise: Numbers | None = None
) -> tuple[np.float64, Any]:
    """Mean cost of negative sampling over a whole corpus, without drawing a sample.

    Implements eq-negative-sampling-expected::

        L = -Σ_ij [ n_ij log σ(x_ij) + k n_i· q_j log σ(-x_ij) ] / n··

    A dot means a sum over that index. L depends on the vectors through the scores
    x_ij = w_i·c_j alone. Where the scores are free it is smallest, entry by entry, at
    log(n_ij / (k n_i· q_j)): with the noise of None pointwise mutual information less log k.

    Args:
        x: Score of every center i with every context j (V, V).
        counts: How often the pair occurs, n (V, V).
        k: Negative samples for each pair, positive.
        noise: Distribution q that they are drawn from (V); None = that of the contexts,
            ``n_·j / n··``.

    Returns:
        L [nats per pair], and the cache that :func:`expected_negative_sampling_backward` needs.

    Raises:
        InputError: If a shape does not fit, an entry is not finite, k is not positive, a count
            is negative, all are 0, or the noise is not a distribution.

    Example:
        >>> counts = np.ones((2, 2))
        >>> loss, cache = expected_negative_sampling(np.zeros((2, 2)), counts, k=5)
        >>> round(float(loss), 4)  # (1 + 5) ln 2
        4.1589

    References:
        Levy and Goldberg (2014), Neural word embedding as implicit matrix factorization.
    """
    x = finite_array(x, "x")
    positive, negative = pair_weights(counts, k, noise)
    if x.shape != positive.shape:
        raise InputError(f"x has shape {x.shape}, but counts has {positive.shape}")
    loss = np.sum(positive * _softplus(-x) + negative * _softplus(x))
    return loss, (x, positive, negative)


def expected_negative_sampling_backward(dy: float | int | np.float64, cache: Any) -> ndarray:
    """Gradient of :func:`expected_negative_sampling` in the scores.

    Computes::

        dx_ij = dL (k n_i· q_j σ(x_ij) - n_ij σ(-x_ij)) / n··

    Args:
        dy: Gradient of the loss in L, one number.
        cache: Second value of :func:`expected_negative_sampling`.

    Raises:
        InputError: If dy is not one number.

    Example:
        >>> loss, cache = expected_negative_sampling(np.zeros((2, 2)), np.ones((2, 2)), k=1)
        >>> expected_negative_sampling_backward(1.0, cache).tolist()  # σ(0) of both kinds
        [[0.0, 0.0], [0.0, 0.0]]
    """
    require_gradient_shape(dy, ())
    x, positive, negative = cache
    return dy * (negative * sigmoid(x)[0] - positive * sigmoid(-x)[0])


def pair_weights(
    counts: Numbers, k: float | int, noise: Numbers | None = None
) -> tuple[ndarray, ndarray]:
    """How often a pair is seen, and how often it is drawn, for each pair that is seen.

    Computes::

        n_ij / n··   and   k n_i· q_j / n··

    Args:
        counts: n (V, V).
        k: Negative samples for each pair, positive.
        noise: q (V), or None for ``n_·j / n··``.

    Returns:
        Two tables (V, V), which sum to 1 and to k.

    Raises:
        InputError: As :func:`expected_negative_sampling`.
    """
    n = count_table(counts)
    q = draw_distribution(n, k, noise)
    total = n.sum()
    return n / total, k * n.sum(1)[:, None] / total * q


def draw_distribution(n: ndarray, k: float | int, noise: Numbers | None = None) -> ndarray:
    """The distribution of the negative samples, checked; None = that of the contexts."""
    if not 0 < k < np.inf:
        raise InputError(f"k={k} negative samples: must be positive and finite")
    q = n.sum(0) / n.sum() if noise is None else finite_array(noise, "noise")
    if q.shape != n.shape[1:] or (q < 0).any() or abs(q.sum() - 1) > 1e-9:
        raise InputError(
            f"noise has shape {q.shape}, sum {q.sum()} and minimum {q.min()}; expected a "
            f"distribution over the {n.shape[1]} contexts"
        )
    return q


def count_table(counts: Numbers) -> ndarray:
    """Counts of pairs as a float64 matrix.

    Raises:
        InputError: If it is no matrix, a count is negative, NaN or infinite, or all are 0.
        InputTypeError: If the counts are not numbers.
    """
    n = finite_array(counts, "counts")
    if n.ndim != 2:
        raise InputError(f"counts has shape {n.shape}, expected (V, V): one row a center word")
    if (n < 0).any():
        place = [int(i) for i in np.argwhere(n < 0)[0]]
        raise InputError(f"count {n[tuple(place)]} at {place} is negative")
    if not n.any():
        raise InputError(f"all counts of the {n.shape} table are 0: no pair was seen")
    if n.max() > np.finfo(np.float64).max / n.size:
        raise InputError(
            f"the {n.size} counts, of which the largest is {n.max()}, may have an infinite "
            "sum; divide them all by one number"
        )
    return n


def _softplus(x: Value) -> Value:
    """-log σ(-x) = log(1 + eˣ), exact for large x of either sign."""
    return np.logaddexp(0.0, x)


__all__ = [
    "cbow_context",
    "cbow_context_backward",
    "expected_negative_sampling",
    "expected_negative_sampling_backward",
    "negative_sampling",
    "negative_sampling_backward",
    "skip_gram_softmax",
    "skip_gram_softmax_backward",
]
