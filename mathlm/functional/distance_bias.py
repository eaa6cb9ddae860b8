"""Positions as a bias of the scores that depends on the distance between query and key."""

import math

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float, Int


def alibi_slopes(n_heads: int) -> Float[Tensor, " {n_heads}"]:
    """Penalty per token of distance, one for each head.

    Computes::

        slope[h] = 2^(-8 h / H),   h = 1 ... H, for H a power of two

    For other H, the slopes of the largest power of two below H, then every other slope of twice
    that power.

    Args:
        n_heads: H.

    Returns:
        Slopes [1/token] in the default dtype.

    References:
        Press, Smith and Lewis (2022), arXiv:2108.12409, section 3.
    """
    if n_heads < 1:
        raise InputError(f"n_heads={n_heads} must be at least 1")
    power = 2 ** (n_heads.bit_length() - 1)
    slopes = _geometric_slopes(power)
    extra = _geometric_slopes(2 * power)[0::2][: n_heads - power]
    return torch.tensor(slopes + extra)


def alibi_bias(
    slopes: Float[Tensor, " H"], queries: Int[Tensor, "*batch T"], keys: Int[Tensor, "*batch S"]
) -> Float[Tensor, "*batch H T S"]:
    """What ALiBi adds to the scores: less for keys that are further away.

    Implements eq-alibi::

        bias[h, t, s] = -slope[h] |position of query t - position of key s|

    Args:
        slopes: From :func:`alibi_slopes`, one a head. Their signs are not looked at, so that a
            model stays one graph; a slope below 0 would prefer what is far.
        queries: Positions of the queries [tokens].
        keys: Positions of the keys [tokens].

    Returns:
        Bias of the scores.

    Raises:
        InputError: If the slopes are no vector.
        InputTypeError: If the positions are not integers.
    """
    _require_integers(queries, "positions of queries")
    _require_integers(keys, "positions of keys")
    if slopes.ndim != 1:
        raise InputError(f"slopes have shape {tuple(slopes.shape)}, expected (H,): one a head")
    distance = (queries.unsqueeze(-1) - keys.unsqueeze(-2)).abs()  # (*batch, T, S)
    return -slopes[:, None, None] * distance.unsqueeze(-3)


def relative_buckets(
    distance: Int[Tensor, "*batch"],
    n_buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = False,
) -> Int[Tensor, "*batch"]:
    """Number of the bucket that a distance falls into: exact when near, coarse when far.

    Implements eq-relative-bucket::

        b(n) = n                                                  for n < e = N/2
        b(n) = min(N - 1, ⌊e + (N - e) ln(n/e) / ln(M/e)⌋)        else

    with n tokens back, N buckets and M the distance from which on all are alike. Looking both
    ways, each half of the buckets serves one direction, and keys after the query come second;
    otherwise they share bucket 0 with the query itself.

    Args:
        distance: Position of the key minus position of the query [tokens].
        n_buckets: All buckets; N is this number, or half of it looking both ways.
        max_distance: M [tokens], more than N/2.
        bidirectional: Whether queries look both ways.

    Raises:
        InputTypeError: If the distances are not integers.
        InputError: If the buckets do not divide or ``max_distance`` lies among the exact ones.

    References:
        Raffel et al. (2020), arXiv:1910.10683, section 2.1.
    """
    _require_integers(distance, "distance")
    N = _require_buckets(n_buckets, max_distance, bidirectional)
    exact = N // 2
    back = distance.abs() if bidirectional else (-distance).clamp(min=0)
    octaves = (back.clamp(min=exact).double() / exact).log() / math.log(max_distance / exact)
    coarse = (exact + (N - exact) * octaves).long().clamp(max=N - 1)
    bucket = torch.where(back < exact, back, coarse)
    return bucket + N * (distance > 0) if bidirectional else bucket


def relative_bias(
    table: Float[Tensor, "buckets H"],
    queries: Int[Tensor, "*batch T"],
    keys: Int[Tensor, "*batch S"],
    max_distance: int = 128,
    bidirectional: bool = False,
) -> Float[Tensor, "*batch H T S"]:
    """What a learned table of distances adds to the scores, for each head.

    Implements eq-relative-bias::

        bias[h, t, s] = table[bucket(position of key s - position of query t), h]

    T5 adds it to scores that are not divided by √d_k; attention in this package divides them.
    The two differ by a factor that the maps to queries and keys can take up.

    Args:
        table: One number for each bucket and head.
        queries: Positions of the queries [tokens].
        keys: Positions of the keys [tokens].
        max_distance: See :func:`relative_buckets`.
        bidirectional: See :func:`relative_buckets`.

    Returns:
        Bias of the scores.

    Raises:
        InputTypeError: If the positions are not integers.
        InputError: As :func:`relative_buckets`.
    """
    _require_integers(queries, "positions of queries")
    _require_integers(keys, "positions of keys")
    distance = keys.unsqueeze(-2) - queries.unsqueeze(-1)  # (*batch, T, S)
    buckets = relative_buckets(distance, len(table), max_distance, bidirectional)
    return table[buckets].movedim(-1, -3)


def _geometric_slopes(n: int) -> list[float]:
    return [math.pow(2.0, -8.0 * h / n) for h in range(1, n + 1)]


def _require_buckets(n_buckets: int, max_distance: int, bidirectional: bool) -> int:
    """Buckets for one direction."""
    least = 4 if bidirectional else 2
    if n_buckets < least or (bidirectional and n_buckets % 2):
        kind = "even and at least 4 looking both ways" if bidirectional else "at least 2"
        raise InputError(f"n_buckets={n_buckets} must be {kind}")
    N = n_buckets // 2 if bidirectional else n_buckets
    if max_distance <= N // 2:
        raise InputError(
            f"max_distance={max_distance} must be more than {N // 2}: the first {N // 2} "
            "distances have buckets of their own"
        )
    return N


def _require_integers(x: Tensor, name: str) -> None:
    if x.is_floating_point() or x.is_complex() or x.dtype == torch.bool:
        found = str(x.dtype).removeprefix("torch.")
        raise InputTypeError(f"{name} must be integers, got {found}")
