"""Scaled dot-product attention and its hand-derived backward pass."""

import math
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Float


def dot_product_attention(
    q: Float[ndarray, "*batch T K"],
    k: Float[ndarray, "*batch S K"],
    v: Float[ndarray, "*batch S V"],
    mask: Bool[ndarray, "..."] | None = None,
) -> tuple[Float[ndarray, "*batch T V"], tuple]:
    """Average of the values, weighted by how well each key matches the query.

    Implements eq-attention::

        Y = A V,   A = softmax(Q Kᵀ / √d_k)   over the keys

    A query that may see nothing gives exactly 0. What stands in a key or value that no query
    may see does not matter, NaN included. Values may have another width than keys.

    Args:
        q: Queries.
        k: Keys.
        v: Values.
        mask: True where a query may attend; broadcasts to ``(*batch, T, S)``.

    Returns:
        y, one mixture of values for each query, and the cache that
        :func:`dot_product_attention_backward` needs; its last entry is A.

    Raises:
        InputError: If the shapes do not fit, there is no key, or a visible number or score is
            not finite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> q, k = np.zeros((1, 2)), np.eye(2)  # a query of zeros scores all keys alike
        >>> y, cache = dot_product_attention(q, k, np.array([[1.0], [3.0]]))
        >>> y
        array([[2.]])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, eq. (1).
    """
    require_shapes(q, k, v)
    mask = full_mask(mask, (*q.shape[:-1], k.shape[-2]))
    seen = mask.mT.any(-1, keepdims=True)  # (*batch, S, 1)
    q = np.where(mask.any(-1, keepdims=True), q, 0.0)
    k, v = np.where(seen, k, 0.0), np.where(seen, v, 0.0)
    require_finite(q=q, k=k, v=v)
    scores = scaled_scores(q, k)  # (*batch, T, S)
    require_finite(scores=np.where(mask, scores, 0.0))
    weights = _masked_softmax(scores, mask)
    return weights @ v, (q, k, v, weights)


def dot_product_attention_backward(
    dy: Float[ndarray, "*batch T V"], cache: tuple
) -> tuple[
    Float[ndarray, "*batch T K"], Float[ndarray, "*batch S K"], Float[ndarray, "*batch S V"]
]:
    """Pull the gradient of the loss back through :func:`dot_product_attention`.

    Implements eq-attention-backward::

        dV = Aᵀ dY,   dA = dY Vᵀ,   dS = A ⊙ (dA - rowsum(A ⊙ dA))
        dQ = dS K / √d_k,   dK = dSᵀ Q / √d_k

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`dot_product_attention`.

    Returns:
        dq, dk, dv; exactly 0 for a query that sees nothing and a key that is never seen.

    Raises:
        InputError: If ``dy`` has not the shape of y.

    Example:
        >>> q, k, v = np.zeros((1, 2)), np.eye(2), np.array([[1.0], [3.0]])
        >>> y, cache = dot_product_attention(q, k, v)
        >>> dq, dk, dv = dot_product_attention_backward(np.ones((1, 1)), cache)
        >>> dv.tolist()  # each value had the weight 1/2
        [[0.5], [0.5]]
    """
    q, k, v, weights = cache
    shape = (*weights.shape[:-1], v.shape[-1])
    if dy.shape != shape:
        raise InputError(f"dy has shape {dy.shape}, y has {shape}; the two must agree")
    scale = 1 / math.sqrt(q.shape[-1])
    dv = weights.mT @ dy
    dweights = dy @ v.mT
    dscores = weights * (dweights - (weights * dweights).sum(-1, keepdims=True))
    dq = dscores @ k * scale
    dk = dscores.mT @ q * scale
    return dq, dk, dv


def scaled_scores(q: ndarray, k: ndarray) -> ndarray:
    """Dot products of queries and keys over √d_k; infinite or NaN where they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        return q @ k.mT / math.sqrt(q.shape[-1])


def _masked_softmax(scores: ndarray, mask: ndarray) -> ndarray:
    """Softmax over the visible scores of each row; a row without any is 0."""
    visible = np.where(mask, scores, -np.inf)
    highest = visible.max(-1, keepdims=True)
    powers = np.exp(visible - np.where(np.isneginf(highest), 0.0, highest))
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1.0, total)


def full_mask(mask: Any, shape: tuple[int, ...]) -> ndarray:
    """The mask at the shape of the scores, without copying it; all True for None.

    Args:
        mask: True where a query may attend, or None.
        shape: Shape of the scores, (..., T, S).

    Raises:
        InputTypeError: If the mask is not boolean.
        InputError: If it does not broadcast to ``shape``, or has fewer than two axes.
    """
    found = np.ones((1, 1), dtype=bool) if mask is None else np.asarray(mask)
    if found.dtype != np.bool_:
        raise InputTypeError(
            f"mask has dtype {found.dtype}; give booleans, True where a query may attend"
        )
    if found.ndim < 2:
        raise InputError(
            f"mask has shape {found.shape}, expected at least the two axes (queries, keys) of "
            f"the scores {shape}: write a mask of keys as mask[None]"
        )
    try:
        return np.broadcast_to(found, shape)
    except ValueError:
        raise InputError(
            f"mask has shape {found.shape}, which does not broadcast to the scores {shape}"
        ) from None


def require_shapes(q: ndarray, k: ndarray, v: ndarray) -> None:
    """Refuse queries, keys and values that do not fit each other."""
    if min(q.ndim, k.ndim, v.ndim) < 2:
        raise InputError(
            f"q, k, v have shapes {q.shape}, {k.shape}, {v.shape}; each needs at least two "
            "axes (positions, features): write a single query as q[None]"
        )
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise InputError(
            f"q, k, v have batch shapes {q.shape[:-2]}, {k.shape[:-2]}, {v.shape[:-2]}; "
            "they must agree"
        )
    if q.shape[-1] != k.shape[-1] or q.shape[-1] == 0:
        raise InputError(
            f"q has width {q.shape[-1]} and k has width {k.shape[-1]}; a dot product needs one "
            "common width of at least 1"
        )
    if k.shape[-2] != v.shape[-2] or k.shape[-2] == 0:
        raise InputError(
            f"k has {k.shape[-2]} positions and v has {v.shape[-2]}; each key needs its value, "
            "and there must be at least one"
        )


def require_finite(**arrays: ndarray) -> None:
    """Refuse NaN and infinite numbers in what is visible, and say where they stand."""
    for name, array in arrays.items():
        bad = ~np.isfinite(array)
        if bad.any():
            first = tuple(int(i) for i in np.argwhere(bad)[0])
            raise InputError(
                f"{name} holds {int(bad.sum())} NaN or infinite numbers at visible positions, "
                f"the first at {first}; mask those positions or mend what made them"
            )
