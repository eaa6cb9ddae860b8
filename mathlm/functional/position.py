"""Positions as tables and as rotations of queries and keys."""

import torch
from torch import Tensor

from ..errors import InputError
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
    """
    cos, sin = cos.to(x.dtype), sin.to(x.dtype)
    a, b = x[..., 0::2], x[..., 1::2]
    return torch.stack((a * cos - b * sin, b * cos + a * sin), -1).flatten(-2)


def half_split_order(d_head: int) -> Int[Tensor, " {d_head}"]:
    """Indices that take interleaved features to half-split ones.

    Implements eq-notation-rotary::

        order = (0, 2, 4, ..., 1, 3, 5, ...),   x_half_split = x_interleaved[order]

    Applied to the rows of each head of W_q and W_k it converts weights trained with one pairing
    to the other; ``order.argsort()`` goes back.

    Raises:
        InputError: If ``d_head`` is odd.
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
