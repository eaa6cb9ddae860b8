"""Self-attention with one head and with many, and the hand-derived backward passes."""

from numbers import Integral
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from ..arrays import Numbers, finite_array, gradient_array
from .attention import dot_product_attention, dot_product_attention_backward, full_mask
from .linear import linear, linear_backward
from .weights import (
    Gradients,
    Weights,
    checked_weights,
    in_order_of,
    named_linear,
    named_linear_backward,
    require_map,
)

MAPS = ("W_q", "W_k", "W_v", "W_o")
REQUIRED = tuple(f"{name}.weight" for name in MAPS)
OPTIONAL = tuple(f"{name}.bias" for name in MAPS)


def self_attention(
    x: Float[ndarray, "*batch T D"],
    W_q: ndarray,
    W_k: ndarray,
    W_v: ndarray,
    mask: Bool[ndarray, "..."] | None = None,
) -> tuple[Float[ndarray, "*batch T V"], tuple]:
    """Each position asks, is asked and answers: attention whose three inputs are one.

    Implements eq-self-attention::

        Q = X W_qᵀ,   K = X W_kᵀ,   V = X W_vᵀ
        Y = softmax(Q Kᵀ / √d_k) V   over the keys that the mask shows

    A position that sees nothing gives exactly 0. What stands at a position that sees nothing
    and that nobody sees does not matter, NaN included.

    Args:
        x: One vector for each position.
        W_q: Queries (K, D), stored (out, in) like the next two.
        W_k: Keys (K, D).
        W_v: Values (V, D).
        mask: True where a query may attend; broadcasts to ``(*batch, T, T)``.

    Returns:
        y, one mixture of values for each position, and the cache that
        :func:`self_attention_backward` needs; its last entry is the cache of
        :func:`dot_product_attention`, which ends with the weights.

    Raises:
        InputError: If a shape does not fit, or a visible number is NaN or infinite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> x, I = np.array([[1.0, 0.0], [3.0, 0.0]]), np.eye(2)
        >>> y, cache = self_attention(x, 0 * I, I, I)
        >>> y.tolist()  # queries of zeros: the mean of the values
        [[2.0, 0.0], [2.0, 0.0]]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.2.
    """
    require_positions(x, "x")
    maps = checked_weights({"W_q": W_q, "W_k": W_k, "W_v": W_v}, ("W_q", "W_k", "W_v"))
    _require_single_head(maps, x.shape[-1])
    mask = full_mask(mask, (*x.shape[:-1], x.shape[-2]))
    used = np.expand_dims(mask.any(-1) | mask.any(-2), -1)
    x = finite_array(np.where(used, x, 0.0), "x")
    (q, q_cache), (k, k_cache), (v, v_cache) = (linear(x, W) for W in maps.values())
    y, cache = dot_product_attention(q, k, v, mask)
    return y, (q_cache, k_cache, v_cache, cache)


def self_attention_backward(
    dy: Numbers, cache: tuple
) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Pull the gradient of the loss back through :func:`self_attention`.

    Implements eq-self-attention-backward::

        dX = dQ W_q + dK W_k + dV W_v
        dW_q = dQᵀ X,   dW_k = dKᵀ X,   dW_v = dVᵀ X   summed over the batch

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`self_attention`.

    Returns:
        dx, dW_q, dW_k, dW_v; dx is 0 at a position that sees nothing and that nobody sees.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> x, I = np.array([[1.0, 0.0], [3.0, 0.0]]), np.eye(2)
        >>> y, cache = self_attention(x, 0 * I, I, I)  # the mean of the values
        >>> dx, dW_q, dW_k, dW_v = self_attention_backward([[1.0, 0.0], [0.0, 0.0]], cache)
        >>> dx.tolist()
        [[0.5, 0.0], [0.5, 0.0]]
    """
    *linear_caches, attention_cache = cache
    *_, v, weights = attention_cache
    dy = gradient_array(dy, (*weights.shape[:-1], v.shape[-1]))
    dqkv = dot_product_attention_backward(dy, attention_cache)
    (dx_q, dW_q), (dx_k, dW_k), (dx_v, dW_v) = map(linear_backward, dqkv, linear_caches)
    return dx_q + dx_k + dx_v, dW_q, dW_k, dW_v


def multi_head_attention(
    x: Float[ndarray, "*batch T D"],
    weights: Weights,
    n_heads: int,
    mask: Bool[ndarray, "..."] | None = None,
    memory: Float[ndarray, "*batch S M"] | None = None,
) -> tuple[Float[ndarray, "*batch T O"], tuple]:
    """Several lookups side by side, their answers mixed by one linear map.

    Implements eq-multi-head::

        headₕ = softmax(Qₕ Kᵀ / √d_k) V,   y = W_o [head₁; …; head_H] + b_o
        Q = W_q x,   K = W_k m,   V = W_v m,   cut into heads; m = x without a memory

    W_k has G · K rows, where K is the width of a query head: with G = H each head has its own
    keys and values (multi-head), with G = 1 all share one (multi-query), and in between head
    h takes number ⌊h G / H⌋ (grouped-query). A query that sees nothing in any head gives b_o,
    or 0 where there is none. What nobody sees does not matter, NaN included.

    Args:
        x: One vector for each query position.
        weights: W_q.weight (H K, D), W_k.weight (G K, M), W_v.weight (G V, M), W_o.weight
            (O, H V), each stored (out, in), and W_q.bias ... W_o.bias or none; the names of
            the ``state_dict`` of :class:`mathlm.layers.SelfAttention`.
        n_heads: Query heads, H.
        mask: True where a query may attend, (T, S) or as many axes as ``(*batch, H, T, S)``,
            to which it broadcasts: a mask of padded keys has the shape (B, 1, 1, S). None =
            everyone sees everyone.
        memory: Source of keys and values (cross-attention); None = x.

    Returns:
        y, one vector for each query, and the cache that :func:`multi_head_attention_backward`
        needs.

    Raises:
        InputError: If heads do not divide, a weight is missing, unknown or of another shape,
            a shape does not fit, or a visible number is NaN or infinite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> maps = {f"W_{name}.weight": np.eye(4) for name in "qkvo"}
        >>> x = np.zeros((3, 4))
        >>> x[2] = 5.0
        >>> y, cache = multi_head_attention(x, maps, n_heads=2, mask=np.tri(3).astype(bool))
        >>> y[:2].tolist()  # no position sees a later one
        [[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.2.2; Shazeer (2019),
        arXiv:1911.02150; Ainslie et al. (2023), arXiv:2305.13245.
    """
    source = x if memory is None else memory
    _require_source(x, source)
    maps = checked_weights(weights, REQUIRED, OPTIONAL)
    n_groups = kv_heads(maps, n_heads, x.shape[-1], source.shape[-1])
    _require_clear_axes(mask, x.ndim)
    mask = full_mask(mask, (*x.shape[:-2], n_heads, x.shape[-2], source.shape[-2]))
    x, source = _hide_unused(x, memory, mask)
    q, q_cache = named_linear(x, maps, "W_q")
    k, k_cache = named_linear(source, maps, "W_k")
    v, v_cache = named_linear(source, maps, "W_v")
    group = n_heads // n_groups
    k, v = (np.repeat(split_heads(z, n_groups), group, axis=-3) for z in (k, v))
    heads, cache = dot_product_attention(split_heads(q, n_heads), k, v, mask)
    y, o_cache = named_linear(merge_heads(heads), maps, "W_o")
    caches = (q_cache, k_cache, v_cache, o_cache, cache)
    return y, (y.shape, n_groups, tuple(maps), memory is None, caches)


def multi_head_attention_backward(
    dy: Numbers, cache: tuple
) -> tuple[ndarray, Gradients, ndarray | None]:
    """Pull the gradient of the loss back through :func:`multi_head_attention`.

    Implements eq-heads-backward::

        d[head₁; …; head_H] = dy W_o,   dW_o = dyᵀ [head₁; …; head_H],   db_o = Σ dy
        dK_g = Σ dKₕ,   dV_g = Σ dVₕ   over the heads h that share number g
        dx = dQ W_q,   dm = dK W_k + dV W_v,   without a memory dx + dm

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`multi_head_attention`.

    Returns:
        dx, the gradients of the weights by name, and dmemory, None where no memory was given.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> maps = {f"W_{name}.weight": np.eye(4) for name in "qkvo"}
        >>> x, mask = np.zeros((3, 4)), np.tri(3).astype(bool)
        >>> y, cache = multi_head_attention(x, maps, n_heads=2, mask=mask)
        >>> dy = np.zeros((3, 4))
        >>> dy[0] = 1.0
        >>> dx, gradients, _ = multi_head_attention_backward(dy, cache)
        >>> dx.tolist()  # the first position sees itself alone
        [[1.0, 1.0, 1.0, 1.0], [0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0]]
    """
    shape, n_groups, names, is_self, (q_cache, k_cache, v_cache, o_cache, attention) = cache
    n_heads = attention[-1].shape[-3]
    dmerged, dW_o = named_linear_backward(gradient_array(dy, shape), o_cache, "W_o")
    dq, dk, dv = dot_product_attention_backward(split_heads(dmerged, n_heads), attention)
    dk, dv = (sum_groups(z, n_groups) for z in (dk, dv))
    dx, dW_q = named_linear_backward(merge_heads(dq), q_cache, "W_q")
    dmemory_k, dW_k = named_linear_backward(merge_heads(dk), k_cache, "W_k")
    dmemory_v, dW_v = named_linear_backward(merge_heads(dv), v_cache, "W_v")
    dweights = in_order_of(names, dW_q | dW_k | dW_v | dW_o)
    dmemory = dmemory_k + dmemory_v
    return (dx + dmemory, dweights, None) if is_self else (dx, dweights, dmemory)


def _require_clear_axes(mask: ndarray | None, x_ndim: int) -> None:
    """Broadcasting would take the first axis of (B, T, S) for the heads."""
    if mask is not None and 2 < mask.ndim < x_ndim + 1:
        raise InputError(
            f"mask of shape {mask.shape} has {mask.ndim} axes: give 2 if all rows and heads "
            f"see alike, or {x_ndim + 1}, such as (B, 1, T, S) for a mask a row"
        )


def split_heads(z: ndarray, n_heads: int) -> ndarray:
    """Cut the last axis into heads: (..., T, H K) to (..., H, T, K)."""
    return z.reshape(*z.shape[:-1], n_heads, -1).swapaxes(-2, -3)


def merge_heads(z: ndarray) -> ndarray:
    """Put the heads side by side: (..., H, T, K) to (..., T, H K)."""
    z = z.swapaxes(-2, -3)
    return z.reshape(*z.shape[:-2], -1)


def sum_groups(z: ndarray, n_groups: int) -> ndarray:
    """Sum over the heads that share a key: (..., H, S, K) to (..., G, S, K)."""
    return z.reshape(*z.shape[:-3], n_groups, -1, *z.shape[-2:]).sum(-3)


def kv_heads(weights: Weights, n_heads: int, width: int, source_width: int) -> int:
    """Number of key/value heads G, from the rows of W_k.

    Args:
        weights: Named as for :func:`multi_head_attention`, in float64.
        n_heads: Query heads, H.
        width: Width of the queries' source, D.
        source_width: Width of the source of keys and values.

    Raises:
        InputError: If the weights do not fit each other or ``n_heads``.
    """
    if not isinstance(n_heads, Integral) or n_heads < 1:
        raise InputError(f"n_heads={n_heads} must be a whole number of at least 1")
    q_rows = require_map(weights, "W_q", width)
    k_rows, v_rows = (require_map(weights, name, source_width) for name in ("W_k", "W_v"))
    d_head = _divided(q_rows, "rows of W_q", n_heads, "n_heads")
    n_groups = _divided(k_rows, "rows of W_k", d_head, "width of a head")
    _divided(n_heads, "n_heads", n_groups, "number of key/value heads")
    d_value = _divided(v_rows, "rows of W_v", n_groups, "number of key/value heads")
    require_map(weights, "W_o", n_heads * d_value)
    return n_groups


def _divided(number: int, name: str, divisor: int, divisor_name: str) -> int:
    if number % divisor:
        raise InputError(f"{name} = {number} is not a multiple of {divisor_name} = {divisor}")
    return number // divisor


def _require_single_head(maps: Gradients, width: int) -> None:
    named = {f"{name}.weight": W for name, W in maps.items()}
    rows = {name: require_map(named, name, width) for name in maps}
    if rows["W_q"] != rows["W_k"]:
        raise InputError(
            f"W_q has {rows['W_q']} rows and W_k has {rows['W_k']}; queries and keys meet in a "
            "dot product and need one width"
        )


def require_positions(x: Any, name: str) -> None:
    """Refuse what is not an array of vectors, one for each position."""
    if np.ndim(x) < 2 or 0 in np.shape(x):
        raise InputError(
            f"{name} has shape {np.shape(x)}, expected (*batch, positions, features) with no "
            "axis of length 0: write a single vector as x[None]"
        )


def _require_source(x: Any, source: Any) -> None:
    require_positions(x, "x")
    require_positions(source, "memory")
    if x.shape[:-2] != source.shape[:-2]:
        raise InputError(
            f"x of shape {x.shape} and memory of shape {source.shape} have different batch "
            "axes; all but the last two must agree"
        )


def _hide_unused(x: ndarray, memory: ndarray | None, mask: ndarray) -> tuple[ndarray, ndarray]:
    """Zero the vectors that take part in nothing, in any head; the others must be finite."""
    sees, seen = (np.expand_dims(mask.any((-3, axis)), -1) for axis in (-1, -2))
    if memory is None:
        x = finite_array(np.where(sees | seen, x, 0.0), "x")
        return x, x
    x = finite_array(np.where(sees, x, 0.0), "x")
    return x, finite_array(np.where(seen, memory, 0.0), "memory")
