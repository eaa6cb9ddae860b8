"""Positions as tables and as rotations of queries and keys."""

import math

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ..arrays import Numbers, finite_array, gradient_array, integer_array

FURTHEST = 2**53  # beyond it float64 skips whole numbers
PAIRINGS = ("half-split", "interleaved")


def sinusoidal_table(length: int, d_model: int) -> ndarray:
    """Sines and cosines of the position, at wavelengths from 2π to 20000π.

    Implements eq-sinusoid::

        P[t, 2i] = sin(t ω_i),   P[t, 2i+1] = cos(t ω_i),   ω_i = 10000^(-2i/D)

    Args:
        length: Positions t = 0 ... length - 1.
        d_model: D, an even number.

    Returns:
        P (length, D); each row has the length √(D/2).

    Raises:
        InputError: If ``d_model`` is odd or ``length`` is less than 1.

    Example:
        >>> sinusoidal_table(2, 2).round(4)  # sin 0, cos 0; sin 1, cos 1
        array([[0.    , 1.    ],
               [0.8415, 0.5403]])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.5.
    """
    if length < 1:
        raise InputError(f"length={length} must be at least 1: positions count from 0")
    angles = np.outer(np.arange(length), rotary_frequencies(d_model))
    return np.stack((np.sin(angles), np.cos(angles)), -1).reshape(length, d_model)


def sinusoidal_shift(k: int, d_model: int) -> ndarray:
    """The matrix that takes the vector of any position to the one k tokens further.

    Implements eq-sinusoid-shift::

        P[t + k] = M_k P[t]
        M_k = 2 × 2 blocks [[cos kω_i, sin kω_i], [-sin kω_i, cos kω_i]] on the diagonal

    It does not depend on t, and it is orthogonal: M_kᵀ = M_{-k}.

    Args:
        k: Tokens further [tokens]; negative = back.
        d_model: D, an even number.

    Returns:
        M_k (D, D).

    Raises:
        InputError: If ``d_model`` is odd or k is not finite.

    Example:
        >>> here, there = sinusoidal_table(4, 6)[[0, 3]]
        >>> np.allclose(sinusoidal_shift(3, 6) @ here, there)
        True
    """
    if not abs(k) < math.inf:
        raise InputError(f"shift k={k} must be a finite number of tokens")
    angles = k * rotary_frequencies(d_model)
    shift = np.zeros((d_model, d_model))
    even = np.arange(0, d_model, 2)
    shift[even, even] = shift[even + 1, even + 1] = np.cos(angles)
    shift[even, even + 1], shift[even + 1, even] = np.sin(angles), -np.sin(angles)
    return shift


def rotary_frequencies(d_head: int, base: float | int = 10_000.0) -> ndarray:
    """Angles by which rotary embeddings turn each pair of features in one step.

    Computes::

        ω_i = base^(-2i/K),   i = 0 ... K/2 - 1

    Args:
        d_head: K, an even number.
        base: Ratio of the slowest to the fastest wavelength, nearly.

    Returns:
        ω (K/2,) [radians/token], from 1 down.

    Raises:
        InputError: If ``d_head`` is odd or ``base`` is not positive and finite.

    Example:
        >>> rotary_frequencies(4)  # 1 and 1 / √10000
        array([1.  , 0.01])
    """
    if d_head < 2 or d_head % 2:
        raise InputError(f"width {d_head} must be even and positive: features are paired")
    if not 0.0 < base < math.inf:
        raise InputError(f"base={base} of rotary wavelengths must be positive and finite")
    return base ** (-np.arange(0, d_head, 2) / d_head)


def rotary(
    x: ndarray, positions: Numbers, base: float | int = 10_000.0, pairing: str = "half-split"
) -> tuple[ndarray, tuple]:
    """Turn each pair of features of a query or key by an angle that grows with its position.

    Implements eq-rotary-pair::

        (x_i, x_j) → (x_i cos θ - x_j sin θ, x_j cos θ + x_i sin θ),   θ = position ω_i
        j = i + K/2 (half-split),   or the pairs (0, 1), (2, 3), ... (interleaved)

    Lengths stay, and ⟨R_m q, R_n k⟩ = ⟨q, R_{n-m} k⟩ depends on n - m only.

    Args:
        x: Queries or keys ``(*batch, T, K)``.
        positions: Of the vectors [tokens], integers ≥ 0 of shape (T,) or ``(*batch, T)``.
        base: See :func:`rotary_frequencies`.
        pairing: "half-split" or "interleaved".

    Returns:
        y, of the shape of x, and the cache that :func:`rotary_backward` needs.

    Raises:
        InputTypeError: If positions are not integers.
        InputError: If K is odd, a position is negative, shapes do not fit or the pairing is not
            known.

    Example:
        >>> y, cache = rotary(np.array([[1.0, 0.0], [1.0, 0.0]]), [0, 1])
        >>> y.round(4)  # turned by 0 and by 1 rad: (cos 1, sin 1)
        array([[1.    , 0.    ],
               [0.5403, 0.8415]])

    References:
        Su et al. (2021), arXiv:2104.09864, eqs. (13)-(16).
    """
    x = finite_array(x, "x")
    places = integer_array(positions, FURTHEST, "position")
    vectors = x.shape[:-1]
    if x.ndim < 1 or places.shape not in {vectors, vectors[-1:]}:
        raise InputError(
            f"positions have shape {places.shape}, but x {x.shape} has vectors of shape "
            f"{vectors}: give one position for each, or for each of the last axis; for heads "
            "np.broadcast_to(positions[:, None], x.shape[:-1])"
        )
    angles = places[..., None] * rotary_frequencies(x.shape[-1], base)  # (T, K/2)
    return _turn(x, angles, pairing), (angles, x.shape, pairing)


def rotary_backward(dy: Numbers, cache: tuple) -> ndarray:
    """Pull the gradient of the loss back through :func:`rotary`: turn it back.

    Implements eq-rotary-backward::

        dx = Rᵀ dy = R_{-position} dy

    Args:
        dy: Gradient of the loss in y.
        cache: Second output of :func:`rotary`.

    Returns:
        dx; positions have no gradient.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = rotary(np.array([[1.0, 0.0], [1.0, 0.0]]), [0, 1])
        >>> rotary_backward(y, cache).round(4).tolist()  # turned back
        [[1.0, 0.0], [1.0, 0.0]]
    """
    angles, shape, pairing = cache
    return _turn(gradient_array(dy, shape), -angles, pairing)


def half_split_order(d_head: int) -> ndarray:
    """Indices that take interleaved features to half-split ones.

    Implements eq-notation-rotary::

        order = (0, 2, 4, ..., 1, 3, 5, ...),   x_half_split = x_interleaved[order]

    ``np.argsort(order)`` goes back.

    Raises:
        InputError: If ``d_head`` is odd.

    Example:
        >>> half_split_order(6).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    _ = rotary_frequencies(d_head)  # refuses odd widths
    return np.concatenate((np.arange(0, d_head, 2), np.arange(1, d_head, 2)))


def _turn(x: ndarray, angles: ndarray, pairing: str) -> ndarray:
    """Rotate the pairs of the last axis by the angles (..., K/2)."""
    if pairing not in PAIRINGS:
        raise InputError(f"pairing={pairing!r} is not one of {', '.join(map(repr, PAIRINGS))}")
    half = x.shape[-1] // 2
    first, second = (
        (slice(half), slice(half, None)) if pairing == "half-split" else
        (slice(0, None, 2), slice(1, None, 2))
    )  # fmt: skip
    cos, sin = np.cos(angles), np.sin(angles)
    a, b, y = x[..., first], x[..., second], np.empty_like(x)
    y[..., first], y[..., second] = a * cos - b * sin, b * cos + a * sin
    return y


def alibi_slopes(n_heads: int) -> ndarray:
    """Penalty per token of distance, one for each head.

    Computes::

        slope_h = 2^(-8 h / H),   h = 1 ... H, for H a power of two

    For other H, the slopes of the largest power of two below H, then every other slope of twice
    that power.

    Args:
        n_heads: H.

    Returns:
        Slopes (H,) [1/token].

    Raises:
        InputError: If ``n_heads`` is less than 1.

    Example:
        >>> alibi_slopes(4).tolist()  # 1/4, 1/16, 1/64, 1/256
        [0.25, 0.0625, 0.015625, 0.00390625]

    References:
        Press, Smith and Lewis (2022), arXiv:2108.12409, section 3.
    """
    if n_heads < 1:
        raise InputError(f"n_heads={n_heads} must be at least 1")
    power = 1
    while 2 * power <= n_heads:
        power *= 2
    first = 2.0 ** (-8.0 * np.arange(1, power + 1) / power)
    between = 2.0 ** (-8.0 * np.arange(1, 2 * power, 2) / (2 * power))
    return np.concatenate((first, between[: n_heads - power]))


def alibi_bias(slopes: Numbers, T: int, S: int | None = None) -> ndarray:
    """What ALiBi adds to the scores: less for keys that are further away.

    Implements eq-alibi::

        bias[h, t, s] = -slope_h |t + S - T - s|

    Args:
        slopes: From :func:`alibi_slopes` (H,).
        T: Queries, the last of them at the last key.
        S: Keys; None = T.

    Returns:
        Bias of the scores (H, T, S).

    Raises:
        InputError: If slopes are no vector, or T and S are not positive with T <= S.

    Example:
        >>> alibi_bias([0.5], 3)[0, 2, :2]  # query 2 and the keys before it
        array([-1. , -0.5])
    """
    slopes = finite_array(slopes, "slopes")
    if slopes.ndim != 1:
        raise InputError(f"slopes have shape {slopes.shape}, expected (H,): one a head")
    return -slopes[:, None, None] * np.abs(_distances(T, S))


def relative_buckets(
    distance: Numbers, n_buckets: int = 32, max_distance: int = 128, bidirectional: bool = False
) -> ndarray:
    """Number of the bucket that a distance falls into: exact when near, coarse when far.

    Implements eq-relative-bucket::

        b(n) = n                                                  for n < e = N/2
        b(n) = min(N - 1, ⌊e + (N - e) ln(n/e) / ln(M/e)⌋)        else

    with n tokens back, N buckets and M the distance from which on all are alike. Looking both
    ways, each half of the buckets serves one direction, and keys after the query come second;
    otherwise they share bucket 0 with the query itself. The edges are found in whole numbers:
    bucket e + j begins at the first n with n^(N-e) e^j ≥ M^j e^(N-e).

    Args:
        distance: Position of the key minus position of the query [tokens].
        n_buckets: All buckets; N is this number, or half of it looking both ways.
        max_distance: M [tokens], more than N/2.
        bidirectional: Whether queries look both ways.

    Raises:
        InputTypeError: If the distances are not integers.
        InputError: If there are none, the buckets do not divide, or ``max_distance`` lies among
            the exact ones.

    Example:
        >>> relative_buckets([0, -1, -15, -16, -128, -500]).tolist()
        [0, 1, 15, 16, 31, 31]

    References:
        Raffel et al. (2020), arXiv:1910.10683, section 2.1.
    """
    distance = _integers(distance, "distance")
    N = n_buckets // 2 if bidirectional else n_buckets
    _require_buckets(n_buckets, N, max_distance, bidirectional)
    back = np.abs(distance) if bidirectional else np.maximum(-distance, 0)
    bucket = np.searchsorted(_edges(N, max_distance), back, side="right")
    return bucket + N * (distance > 0) if bidirectional else bucket


def relative_bias(
    table: ndarray,
    T: int,
    S: int | None = None,
    max_distance: int = 128,
    bidirectional: bool = False,
) -> tuple[ndarray, tuple]:
    """What a learned table of distances adds to the scores, for each head.

    Implements eq-relative-bias::

        bias[h, t, s] = E[bucket(s - t - (S - T)), h]

    T5 adds it to scores that are not divided by √d_k; attention in this package divides them.
    The two differ by a factor that the maps to queries and keys can take up.

    Args:
        table: E (buckets, H), one number for each bucket and head.
        T: Queries, the last of them at the last key.
        S: Keys; None = T.
        max_distance: See :func:`relative_buckets`.
        bidirectional: See :func:`relative_buckets`.

    Returns:
        Bias (H, T, S), and the cache that :func:`relative_bias_backward` needs.

    Raises:
        InputError: If the table is no matrix of finite numbers, T and S are not positive with
            T <= S, or as :func:`relative_buckets`.

    Example:
        >>> table = np.array([[0.0], [10.0], [20.0], [30.0]])  # of one head
        >>> bias, cache = relative_bias(table, T=2)
        >>> bias.tolist()  # 10 one token back
        [[[0.0, 0.0], [10.0, 0.0]]]
    """
    table = finite_array(table, "table")
    if table.ndim != 2:
        raise InputError(f"table has shape {table.shape}, expected (buckets, heads)")
    buckets = relative_buckets(_distances(T, S), len(table), max_distance, bidirectional)
    return np.moveaxis(table[buckets], -1, 0), (buckets, table.shape)


def relative_bias_backward(dbias: Numbers, cache: tuple) -> ndarray:
    """Gradient of the table: each entry gathers what arrives wherever its bucket was read.

    Implements eq-relative-bias::

        dE[b, h] = Σ_{t, s: bucket(t, s) = b} dbias[h, t, s]

    Args:
        dbias: Gradient of the loss in the bias (H, T, S).
        cache: Second output of :func:`relative_bias`.

    Returns:
        dtable (buckets, H), 0 for a bucket that no pair falls into.

    Raises:
        InputError: If ``dbias`` has not the shape of the bias.

    Example:
        >>> bias, cache = relative_bias(np.zeros((4, 1)), T=2)
        >>> relative_bias_backward(np.ones((1, 2, 2)), cache).ravel().tolist()  # pairs
        [3.0, 1.0, 0.0, 0.0]
    """
    buckets, shape = cache
    dbias = gradient_array(dbias, (shape[1], *buckets.shape))
    dtable = np.zeros(shape)
    np.add.at(dtable, buckets, np.moveaxis(dbias, 0, -1))  # += counts repeats once
    return dtable


def _edges(N: int, max_distance: int) -> list[int]:
    """First distance of every bucket but 0, found in whole numbers."""
    e = N // 2
    edges = list(range(1, e + 1))
    for j in range(1, N - e):
        n = edges[-1]
        while n ** (N - e) * e**j < max_distance**j * e ** (N - e):
            n += 1
        edges.append(n)
    return edges


def _distances(T: int, S: int | None) -> ndarray:
    """Position of each key minus that of each query (T, S), the last two at one place."""
    S = T if S is None else S
    if not 1 <= T <= S:
        raise InputError(f"T={T} queries and S={S} keys: need 1 <= T <= S")
    return np.arange(S) - np.arange(S - T, S)[:, None]


def _require_buckets(n_buckets: int, N: int, max_distance: int, bidirectional: bool) -> None:
    if N < 2 or (bidirectional and n_buckets % 2):
        kind = "even and at least 4 looking both ways" if bidirectional else "at least 2"
        raise InputError(f"n_buckets={n_buckets} must be {kind}")
    if max_distance <= N // 2:
        raise InputError(
            f"max_distance={max_distance} must be more than {N // 2}: the first {N // 2} "
            "distances have buckets of their own"
        )


def _integers(x: Numbers, name: str) -> ndarray:
    found = np.asarray(x)
    if found.size == 0:
        raise InputError(f"there is no {name}: the array is empty, of shape {found.shape}")
    if found.dtype.kind not in "iu":
        raise InputTypeError(f"{name}s must be integers, got {found.dtype}")
    return found.astype(np.int64)
