"""Positions as tables and as rotations of queries and keys."""

import math

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Float, Int
from .rotary_scaling import RopeScaling, rotary_frequencies, scaled_frequencies


def sinusoidal_table(length: int, d_model: int) -> Float[Tensor, "{length} {d_model}"]:
    """Sines and cosines of the position, at wavelengths from 2π to 20000π.

    Implements eq-sinusoid::

        P[t, 2i] = sin(t / 10000^(2i/D)),   P[t, 2i+1] = cos(t / 10000^(2i/D))

    Args:
        length: Positions t = 0 ... length - 1.
        d_model: D, an even number.

    Returns:
        P in the default dtype, computed in float64.

    Raises:
        InputError: If ``d_model`` is odd.

    Example:
        >>> sinusoidal_table(2, 2)  # sin 0, cos 0; sin 1, cos 1
        tensor([[0.0000, 1.0000],
                [0.8415, 0.5403]])

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.5.
    """
    angles = _angles(length, rotary_frequencies(d_model))  # (length, D/2)
    table = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return table.to(torch.get_default_dtype())


def rotary_table(
    length: int, d_head: int, base: float | int = 10_000.0, scaling: RopeScaling | None = None
) -> tuple[Float[Tensor, "{length} half"], Float[Tensor, "{length} half"]]:
    """Cosines and sines of the angles by which rotary embeddings turn each pair of features.

    Computes::

        angle[t, i] = t ω[i],   ω[i] = base^(-2i/K),   i = 0 ... K/2 - 1

    Args:
        length: Positions t = 0 ... length - 1.
        d_head: K, an even number.
        base: Ratio of the slowest to the fastest wavelength, nearly.
        scaling: For contexts longer than the trained one; see :func:`scaled_frequencies`.

    Returns:
        cos and sin in the default dtype, computed in float64; both times the amplitude of a
        scaling that has one.

    Raises:
        InputError: If ``d_head`` is odd, ``base`` is not positive or ``length`` is negative.

    Example:
        >>> cos, sin = rotary_table(2, 2)
        >>> cos.flatten(), sin.flatten()  # of 0 and of 1 rad
        (tensor([1.0000, 0.5403]), tensor([0.0000, 0.8415]))

    References:
        Su et al. (2021), arXiv:2104.09864, eq. (15).
    """
    angles = _angles(length, scaled_frequencies(d_head, base, scaling))
    amplitude = 1.0 if scaling is None else scaling.amplitude
    dtype = torch.get_default_dtype()
    return (amplitude * angles.cos()).to(dtype), (amplitude * angles.sin()).to(dtype)


def rotate_half_split(
    x: Float[Tensor, "*batch K"], cos: Float[Tensor, "..."], sin: Float[Tensor, "..."]
) -> Float[Tensor, "*batch K"]:
    """Turn each vector by its angles, feature i paired with feature i + K/2.

    Computes::

        (xᵢ, xⱼ) → (xᵢ cos θᵢ - xⱼ sin θᵢ, xⱼ cos θᵢ + xᵢ sin θᵢ),   j = i + K/2

    The pairing of `transformers`, GPT-NeoX and of every model in mathlm. Vectors of 16 bits are
    turned by the angles of the table, in its precision, and rounded once, at the end.

    Args:
        x: Queries or keys.
        cos: Cosines of the angles, broadcastable to ``(*batch, K/2)``.
        sin: Sines of the same angles.

    Returns:
        Vectors of the same length; ⟨q turned to m, k turned to n⟩ depends on m - n only.

    Example:
        >>> from mathlm.functional import rotary_table
        >>> cos, sin = rotary_table(2, 2)
        >>> x = torch.tensor([[1.0, 0.0], [1.0, 0.0]])
        >>> rotate_half_split(x, cos, sin)  # by 0 and by 1 rad
        tensor([[1.0000, 0.0000],
                [0.5403, 0.8415]])
    """
    a, b = x.chunk(2, -1)
    turned = torch.cat((a * cos - b * sin, b * cos + a * sin), -1)
    return turned.to(x.dtype)  # rounded once, if x has 16 bits


def rotate_interleaved(
    x: Float[Tensor, "*batch K"], cos: Float[Tensor, "..."], sin: Float[Tensor, "..."]
) -> Float[Tensor, "*batch K"]:
    """Turn each vector by its angles, feature 2i paired with feature 2i + 1.

    Implements eq-rotary-pair::

        (x₂ᵢ, x₂ᵢ₊₁) → (x₂ᵢ cos θᵢ - x₂ᵢ₊₁ sin θᵢ, x₂ᵢ₊₁ cos θᵢ + x₂ᵢ sin θᵢ)

    The pairing of the original paper, of Llama's own weights and of GGUF files made from them.
    It is :func:`rotate_half_split` of features reordered by :func:`half_split_order`.

    Args:
        x: Queries or keys.
        cos: Cosines of the angles, broadcastable to ``(*batch, K/2)``.
        sin: Sines of the same angles.

    Returns:
        Vectors of the same length.

    Example:
        >>> from mathlm.functional import rotary_table
        >>> cos, sin = rotary_table(2, 2)
        >>> rotate_interleaved(torch.tensor([[1.0, 0.0], [1.0, 0.0]]), cos, sin)[1]  # by 1 rad
        tensor([0.5403, 0.8415])
    """
    a, b = x[..., 0::2], x[..., 1::2]
    turned = torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)
    return turned.to(x.dtype)  # rounded once, if x has 16 bits


def half_split_order(d_head: int) -> Int[Tensor, " {d_head}"]:
    """Indices that take interleaved features to half-split ones.

    Implements eq-notation-rotary::

        order = (0, 2, 4, ..., 1, 3, 5, ...),   x_half_split = x_interleaved[order]

    Applied to the rows of each head of W_q and W_k it converts weights trained with one pairing
    to the other; ``order.argsort()`` goes back.

    Raises:
        InputError: If ``d_head`` is odd.

    Example:
        >>> half_split_order(6).tolist()
        [0, 2, 4, 1, 3, 5]
    """
    _require_even(d_head)
    return torch.arange(d_head).unflatten(0, (-1, 2)).mT.flatten()


def _angles(length: int, frequencies: Tensor) -> Tensor:
    """Position times frequency, in float64: (length, width/2)."""
    if length < 0:
        raise InputError(f"length={length} must not be negative: positions count from 0")
    return torch.arange(length, dtype=torch.float64)[:, None] * frequencies


def _require_even(width: int) -> None:
    if width < 2 or width % 2:
        raise InputError(f"width {width} must be even and positive: features are paired")


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

    Example:
        >>> alibi_slopes(4)
        tensor([0.2500, 0.0625, 0.0156, 0.0039])

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

    Example:
        >>> queries, keys = torch.tensor([2]), torch.tensor([0, 1])
        >>> alibi_bias(torch.tensor([0.5]), queries, keys)  # distances 2 and 1
        tensor([[[-1.0000, -0.5000]]])
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

    Example:
        >>> relative_buckets(torch.tensor([0, -1, -15, -16, -128, -500])).tolist()
        [0, 1, 15, 16, 31, 31]

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

    Example:
        >>> table = torch.tensor([[0.0], [10.0], [20.0], [30.0]])  # of one head
        >>> queries, keys = torch.tensor([1]), torch.tensor([0, 1])
        >>> relative_bias(table, queries, keys)  # 1 token back and 0
        tensor([[[10.,  0.]]])
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
