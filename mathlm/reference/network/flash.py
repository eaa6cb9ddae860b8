"""Attention tile by tile, with a running maximum and sum; never a matrix of all weights.

Milakov and Gimelshein (2018), arXiv:1805.02867, found the running softmax; Dao et al. (2022),
arXiv:2205.14135, built attention and its backward pass from it (FlashAttention).
"""

import math
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from ..arrays import Numbers, finite_array, gradient_array
from .attention import full_mask, require_finite, require_shapes, scaled_scores

Tile = tuple[slice, slice]  # queries, keys
NO_KEY = np.zeros(1), np.full(1, -np.inf), np.zeros(1)  # o, μ, λ, alike for every query


def online_softmax_sum(
    scores: Float[ndarray, "*batch S"], values: Float[ndarray, "*batch S V"], block: int = 1
) -> tuple[
    Float[ndarray, "*batch V"], Float[ndarray, "*batch steps"], Float[ndarray, "*batch steps"]
]:
    """Softmax-weighted sum of values in one pass over the scores, block by block.

    Implements eq-online-softmax::

        μ' = max(μ, max s'),   λ ← exp(μ - μ') λ + Σ exp(s' - μ'),
        o ← exp(μ - μ') o + Σ exp(s' - μ') v',   μ ← μ';   at the end y = o / λ

    The sum of a row without any visible key is 0, its maximum -inf, and y is exactly 0.

    Args:
        scores: One number a key; -inf hides a key, and its value does not matter.
        values: One vector a key.
        block: Keys that are read at a time.

    Returns:
        y, and the running maximum μ and the running sum λ behind each block.

    Raises:
        InputError: If the shapes do not fit, ``block`` is less than 1, or a number is NaN or
            infinite.

    Example:
        >>> y, mu, total = online_softmax_sum(np.log([1.0, 3.0]), np.array([[0.0], [1.0]]))
        >>> y.round(12).tolist(), (total * np.exp(mu)).round(12).tolist()
        ([0.75], [1.0, 4.0])
    """
    _require_block(block)
    values = _require_values(scores, values)
    state, maxima, sums = NO_KEY, [], []
    for start in range(0, scores.shape[-1], block):
        part = slice(start, start + block)
        state = _absorb(state, scores[..., None, part], values[..., part, :])
        maxima.append(state[1][..., 0, 0])
        sums.append(state[2][..., 0, 0])
    return _finish(state)[0][..., 0, :], np.stack(maxima, -1), np.stack(sums, -1)


def flash_attention(
    q: Float[ndarray, "*batch T K"],
    k: Float[ndarray, "*batch S K"],
    v: Float[ndarray, "*batch S V"],
    mask: Bool[ndarray, "..."] | None = None,
    block: int = 64,
    *,
    causal: bool = False,
) -> tuple[Float[ndarray, "*batch T V"], tuple]:
    """The value of :func:`dot_product_attention`, in memory that grows with T + S.

    Implements eq-heads-logsum::

        for each tile of queries:   o, μ, λ = 0, -∞, 0
            for each tile of keys:   absorb Q_tile K_tileᵀ / √d_k and V_tile
            y = o / λ,   L = μ + log λ

    Absorbing is the step of :func:`online_softmax_sum`. The largest array beyond the result
    has ``block`` rows and columns. Tiles that causal order hides wholly are left out.

    Args:
        q: Queries.
        k: Keys.
        v: Values.
        mask: True where a query may attend; broadcasts to ``(*batch, T, S)``.
        block: Queries and keys of a tile; T and S need not be multiples of it.
        causal: Whether query t sees keys up to t + S - T only, within the mask; the last query
            is aligned with the last key.

    Returns:
        y, and the cache that :func:`flash_attention_backward` needs; its last entry is L, one
        number a query, +∞ for one that sees nothing.

    Raises:
        InputError: If the shapes do not fit, ``block`` is less than 1, or a visible number or
            score is not finite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> q, k, v = np.random.default_rng(0).standard_normal((3, 100, 8))
        >>> y, cache = flash_attention(q, k, v, block=16)
        >>> w = np.exp(q @ k.T / 8**0.5)
        >>> np.allclose(y, w @ v / w.sum(1, keepdims=True))
        True

    References:
        Dao et al. (2022), arXiv:2205.14135, algorithm 1; Milakov and Gimelshein (2018),
        arXiv:1805.02867, algorithm 3.
    """
    _require_block(block)
    require_shapes(q, k, v)
    T, S = q.shape[-2], k.shape[-2]
    mask = full_mask(mask, (*q.shape[:-1], S))
    q, k, v = _hide_unseen(q, k, v, mask, block, causal)
    y, logsum = np.empty((*q.shape[:-1], v.shape[-1])), np.empty((*q.shape[:-1], 1))
    for rows in _row_tiles(T, block):
        state = NO_KEY
        for columns in _column_tiles(rows, T, S, block, causal):
            scores = tile_scores(q, k, mask, (rows, columns), causal)
            state = _absorb(state, scores, v[..., columns, :])
        y[..., rows, :], logsum[..., rows, :] = _finish(state)
    return y, (q, k, v, mask, block, causal, y, logsum)


def flash_attention_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, ndarray, ndarray]:
    """Pull the gradient of the loss back through :func:`flash_attention`.

    Implements eq-heads-flash-backward::

        δ = rowsum(dY ⊙ Y),   and for each tile   P = exp(Q Kᵀ / √d_k - L),
        dV += Pᵀ dY,   dS = P ⊙ (dY Vᵀ - δ),   dQ += dS K / √d_k,   dK += dSᵀ Q / √d_k

    The weights P of a tile are computed again from L instead of being kept. δ equals the
    rowsum(A ⊙ dA) of :func:`dot_product_attention_backward`, because Y = A V.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`flash_attention`.

    Returns:
        dq, dk, dv; exactly 0 for a query that sees nothing and a key that is never seen.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> q, k, v = np.zeros((1, 2)), np.zeros((2, 2)), np.eye(2)
        >>> y, cache = flash_attention(q, k, v, block=1)  # the mean of both values
        >>> dq, dk, dv = flash_attention_backward([[1.0, 0.0]], cache)
        >>> dv.round(6).tolist()
        [[0.5, 0.0], [0.5, 0.0]]
    """
    q, k, v, mask, block, causal, y, logsum = cache
    dy = gradient_array(dy, y.shape)
    delta = (dy * y).sum(-1, keepdims=True)
    dq, dk, dv = np.zeros_like(q), np.zeros_like(k), np.zeros_like(v)
    scale = 1 / math.sqrt(q.shape[-1])
    for rows, columns in attention_tiles(q.shape[-2], k.shape[-2], block, causal=causal):
        scores = tile_scores(q, k, mask, (rows, columns), causal)
        weights = np.exp(scores - logsum[..., rows, :])
        dy_rows = dy[..., rows, :]
        dv[..., columns, :] += weights.mT @ dy_rows
        dscores = weights * (dy_rows @ v[..., columns, :].mT - delta[..., rows, :])
        dq[..., rows, :] += dscores @ k[..., columns, :] * scale
        dk[..., columns, :] += dscores.mT @ q[..., rows, :] * scale
    return dq, dk, dv


def attention_tiles(T: int, S: int, block: int, *, causal: bool = False) -> list[Tile]:
    """The tiles that :func:`flash_attention` works through, in its order.

    Computes::

        queries i … i + block - 1 and keys j … j + block - 1,   for all i, j; if causal, only
        those with a key that the last query of the tile sees:   j ≤ last query + S - T

    Args:
        T: Queries.
        S: Keys.
        block: Queries and keys of a tile; those at the end may be smaller.
        causal: Whether to leave out the tiles that causal order hides wholly.

    Returns:
        (queries, keys) of each tile, as slices.

    Raises:
        InputError: If a size is less than 1.

    Example:
        >>> len(attention_tiles(8, 8, 2)), len(attention_tiles(8, 8, 2, causal=True))
        (16, 10)
    """
    _require_block(block)
    if not (isinstance(T, Integral) and isinstance(S, Integral)):
        raise InputError(f"T={T} and S={S} must be whole numbers")
    if min(T, S) < 1:
        raise InputError(f"T={T} queries and S={S} keys: there must be at least one of each")
    return [
        (rows, columns)
        for rows in _row_tiles(T, block)
        for columns in _column_tiles(rows, T, S, block, causal)
    ]


def tile_scores(q: ndarray, k: ndarray, mask: ndarray, tile: Tile, causal: bool) -> ndarray:
    """Scaled scores of one tile, -inf where a query may not attend."""
    rows, columns = tile
    scores = scaled_scores(q[..., rows, :], k[..., columns, :])
    shown = _shown(mask, tile, causal)
    name = f"scores of queries {rows.start}..{rows.stop - 1}, keys from {columns.start}"
    require_finite(**{name: np.where(shown, scores, 0.0)})
    return np.where(shown, scores, -np.inf)


def _shown(mask: ndarray, tile: Tile, causal: bool) -> ndarray:
    """The mask of one tile; one that causal order shows wholly is not copied."""
    rows, columns = tile
    T, S = mask.shape[-2:]
    shown = mask[..., rows, columns]
    if not causal or columns.stop - 1 <= rows.start + S - T:
        return shown
    t, s = np.arange(T)[rows, None], np.arange(S)[columns]
    return shown & (s <= t + S - T)


def _absorb(state: tuple, scores: ndarray, values: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """o, μ, λ once more keys have been read: scores (..., R, C), values (..., C, V)."""
    mixture, maximum, total = state
    new = np.maximum(maximum, scores.max(-1, keepdims=True))
    base = np.where(np.isneginf(new), 0.0, new)  # -inf minus -inf has no value
    with np.errstate(over="ignore"):
        keep, powers = np.exp(maximum - base), np.exp(scores - base)
        mixture = keep * mixture + powers @ values
    require_finite(**{"sum of the weighted values": mixture})
    return mixture, new, keep * total + powers.sum(-1, keepdims=True)


def _finish(state: tuple) -> tuple[ndarray, ndarray]:
    """The output o / λ and L = μ + log λ; 0 and +inf where nothing was seen."""
    mixture, maximum, total = state
    blind = total == 0
    total = np.where(blind, 1.0, total)
    return mixture / total, np.where(blind, np.inf, maximum + np.log(total))


def _hide_unseen(
    q: ndarray, k: ndarray, v: ndarray, mask: ndarray, block: int, causal: bool
) -> tuple[ndarray, ndarray, ndarray]:
    """Zero the queries that see nothing and the keys that nobody sees; check the others."""
    sees, seen = np.zeros((*q.shape[:-1], 1), bool), np.zeros((*k.shape[:-1], 1), bool)
    for rows, columns in attention_tiles(q.shape[-2], k.shape[-2], block, causal=causal):
        shown = _shown(mask, (rows, columns), causal)
        sees[..., rows, 0] |= shown.any(-1)
        seen[..., columns, 0] |= shown.any(-2)
    q, k, v = np.where(sees, q, 0.0), np.where(seen, k, 0.0), np.where(seen, v, 0.0)
    require_finite(q=q, k=k, v=v)
    return q, k, v


def _row_tiles(T: int, block: int) -> list[slice]:
    return [slice(i, min(i + block, T)) for i in range(0, T, block)]


def _column_tiles(rows: slice, T: int, S: int, block: int, causal: bool) -> list[slice]:
    """Keys in blocks, up to the last one that the last of these queries sees."""
    end = min(S, rows.stop + S - T) if causal else S
    return [slice(j, min(j + block, S)) for j in range(0, end, block)]


def _require_block(block: Any) -> None:
    if not isinstance(block, Integral) or block < 1:
        raise InputError(f"block={block} must be a whole number of at least 1")


def _require_values(scores: ndarray, values: ndarray) -> ndarray:
    """Values with 0 where the score is -inf."""
    if scores.ndim == 0 or 0 in scores.shape or values.shape[:-1] != scores.shape:
        raise InputError(
            f"scores has shape {scores.shape} and values has {values.shape}; expected (*batch, "
            "S) and (*batch, S, V) with S at least 1: one vector a score"
        )
    hidden = np.isneginf(scores)
    finite_array(np.where(hidden, 0.0, scores), "scores")
    return finite_array(np.where(hidden[..., None], 0.0, values), "values")


class SoftmaxState(NamedTuple):
    """Maximum μ, sum λ and mixture o of some keys, relative to μ; -inf, 0, 0 for no key."""

    maximum: Float[ndarray, "*batch"]
    total: Float[ndarray, "*batch"]
    mixture: Float[ndarray, "*batch V"]


def softmax_state(
    scores: Float[ndarray, "*batch S"], values: Float[ndarray, "*batch S V"]
) -> SoftmaxState:
    """All that softmax attention needs to know of some keys and values.

    Implements eq-heads-state::

        μ = max_s s,   λ = Σ_s e^(s - μ),   o = Σ_s e^(s - μ) v_s

    Args:
        scores: One number a key; none at all gives the state of no key.
        values: One vector a key.

    Raises:
        InputError: If the shapes do not fit, a number is not finite, or a sum overflows.

    Example:
        >>> state = softmax_state(np.zeros(2), np.array([[1.0], [3.0]]))
        >>> state.mixture / state.total
        array([2.])
    """
    if scores.ndim == 0 or values.shape[:-1] != scores.shape:
        raise InputError(
            f"scores have shape {scores.shape} and values {values.shape}; expected (*batch, S) "
            "and (*batch, S, V)"
        )
    require_finite(scores=scores, values=values)
    maximum = scores.max(-1, initial=-np.inf)
    with np.errstate(over="ignore"):
        powers = np.exp(scores - maximum[..., None])  # (*batch, S)
        mixture = (powers[..., None, :] @ values)[..., 0, :]
    require_finite(**{"sum of the weighted values": mixture})
    return SoftmaxState(maximum, powers.sum(-1), mixture)


def merge_softmax_states(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
    """The state of the keys of both; associative and commutative, and no key changes nothing.

    Implements eq-heads-merge::

        μ = max(μ_a, μ_b),   λ = e^(μ_a - μ) λ_a + e^(μ_b - μ) λ_b,   o likewise

    Args:
        a: State of some keys.
        b: State of other keys, for the same queries.

    Raises:
        InputError: If the two are of different shapes, or a sum overflows.

    Example:
        >>> first = softmax_state(np.zeros(1), np.array([[1.0]]))
        >>> second = softmax_state(np.zeros(1), np.array([[3.0]]))
        >>> state = merge_softmax_states(first, second)
        >>> state.mixture / state.total  # the mean of both values
        array([2.])
    """
    if a.mixture.shape != b.mixture.shape:
        raise InputError(
            f"mixtures have shapes {a.mixture.shape} and {b.mixture.shape}; they must agree: "
            "the same queries, and values of one width"
        )
    maximum = np.maximum(a.maximum, b.maximum)
    base = np.where(np.isneginf(maximum), 0.0, maximum)  # two states of no key
    with np.errstate(over="ignore"):
        keep_a, keep_b = np.exp(a.maximum - base), np.exp(b.maximum - base)
        mixture = keep_a[..., None] * a.mixture + keep_b[..., None] * b.mixture
    require_finite(**{"sum of the weighted values": mixture})
    return SoftmaxState(maximum, keep_a * a.total + keep_b * b.total, mixture)
