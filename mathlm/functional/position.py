"""Ways to tell a model where a token stands."""

import math

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float, Int


def sinusoidal_table(length: int, d_model: int) -> Float[Tensor, "{length} {d_model}"]:
    """Sines and cosines of the position, at wavelengths from 2π to 20000π.

    Computes::

        P[t, 2i] = sin(t / 10000^(2i/D)),   P[t, 2i+1] = cos(t / 10000^(2i/D))

    Args:
        length: Positions t = 0 ... length - 1.
        d_model: D, an even number.

    Returns:
        P in the default dtype, computed in float64.

    Raises:
        InputError: If ``d_model`` is odd.

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.5.
    """
    angles = _angles(length, d_model, 10_000.0)  # (length, D/2)
    table = torch.stack((angles.sin(), angles.cos()), -1).flatten(-2)
    return table.to(torch.get_default_dtype())


def rotary_table(
    length: int, d_head: int, base: float = 10_000.0
) -> tuple[Float[Tensor, "{length} half"], Float[Tensor, "{length} half"]]:
    """Cosines and sines of the angles by which rotary embeddings turn each pair of features.

    Computes::

        angle[t, i] = t / base^(2i/K),   i = 0 ... K/2 - 1

    Args:
        length: Positions t = 0 ... length - 1.
        d_head: K, an even number.
        base: Ratio of the slowest to the fastest wavelength, nearly.

    Returns:
        cos and sin in the default dtype, computed in float64.

    Raises:
        InputError: If ``d_head`` is odd.

    References:
        Su et al. (2021), arXiv:2104.09864, eq. (15).
    """
    angles = _angles(length, d_head, base)
    dtype = torch.get_default_dtype()
    return angles.cos().to(dtype), angles.sin().to(dtype)


def rotate_half_split(
    x: Float[Tensor, "*batch K"], cos: Float[Tensor, "..."], sin: Float[Tensor, "..."]
) -> Float[Tensor, "*batch K"]:
    """Turn each vector by its angles, feature i paired with feature i + K/2.

    Computes::

        (xᵢ, xⱼ) → (xᵢ cos θᵢ - xⱼ sin θᵢ, xⱼ cos θᵢ + xᵢ sin θᵢ),   j = i + K/2

    The pairing of `transformers`, GPT-NeoX and of every model in mathlm.

    Args:
        x: Queries or keys.
        cos: Cosines of the angles, broadcastable to ``(*batch, K/2)``.
        sin: Sines of the same angles.

    Returns:
        Vectors of the same length; ⟨q turned to m, k turned to n⟩ depends on m - n only.
    """
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    a, b = x.chunk(2, -1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), -1)


def rotate_interleaved(
    x: Float[Tensor, "*batch K"], cos: Float[Tensor, "..."], sin: Float[Tensor, "..."]
) -> Float[Tensor, "*batch K"]:
    """Turn each vector by its angles, feature 2i paired with feature 2i + 1.

    Computes::

        (x₂ᵢ, x₂ᵢ₊₁) → (x₂ᵢ cos θᵢ - x₂ᵢ₊₁ sin θᵢ, x₂ᵢ₊₁ cos θᵢ + x₂ᵢ sin θᵢ)

    The pairing of the original paper, of Llama's own weights and of GGUF files made from them.
    It is :func:`rotate_half_split` of features reordered by :func:`half_split_order`.

    Args:
        x: Queries or keys.
        cos: Cosines of the angles, broadcastable to ``(*batch, K/2)``.
        sin: Sines of the same angles.

    Returns:
        Vectors of the same length.
    """
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)


def half_split_order(d_head: int) -> Int[Tensor, " {d_head}"]:
    """Indices that take interleaved features to half-split ones.

    Computes::

        order = (0, 2, 4, ..., 1, 3, 5, ...),   x_half_split = x_interleaved[order]

    Applied to the rows of each head of W_q and W_k it converts weights trained with one pairing
    to the other; ``order.argsort()`` goes back.

    Raises:
        InputError: If ``d_head`` is odd.
    """
    _require_even(d_head)
    return torch.arange(d_head).unflatten(0, (-1, 2)).mT.flatten()


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

    Computes::

        bias[h, t, s] = -slope[h] |position of query t - position of key s|

    Args:
        slopes: From :func:`alibi_slopes`.
        queries: Positions of the queries [tokens].
        keys: Positions of the keys [tokens].

    Returns:
        Bias of the scores.
    """
    distance = (queries.unsqueeze(-1) - keys.unsqueeze(-2)).abs()  # (*batch, T, S)
    return -slopes[:, None, None] * distance.unsqueeze(-3)


def _angles(length: int, width: int, base: float) -> Tensor:
    """Position times frequency, in float64: (length, width/2)."""
    _require_even(width)
    exponent = torch.arange(0, width, 2, dtype=torch.float64) / width
    return torch.arange(length, dtype=torch.float64)[:, None] / base**exponent


def _geometric_slopes(n: int) -> list[float]:
    return [math.pow(2.0, -8.0 * h / n) for h in range(1, n + 1)]


def _require_even(width: int) -> None:
    if width < 2 or width % 2:
        raise InputError(f"width {width} must be even and positive: features are paired")
