"""Positions as a bias of the scores that depends on the distance between query and key."""

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ..arrays import Numbers, finite_array, gradient_array


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
