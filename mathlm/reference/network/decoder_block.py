"""The block of a decoder that reads a second sequence, and its backward pass by hand."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool
from ..arrays import Numbers, finite_array, gradient_array
from . import heads
from .dropout_factors import Factors, thinned
from .feedforward import feed_forward, feed_forward_backward, feed_forward_names
from .heads import multi_head_attention, multi_head_attention_backward
from .normalization import layer_norm, layer_norm_backward
from .weights import (
    Gradients,
    Weights,
    checked_weights,
    in_order_of,
    part_of,
    prefixed,
    require_shape,
)

THIRDS = ("attention", "cross_attention", "feed_forward")


def decoder_block(
    x: ndarray,
    memory: ndarray,
    weights: Weights,
    n_heads: int,
    mask: Bool[ndarray, "..."] | None = None,
    memory_mask: Bool[ndarray, "..."] | None = None,
    activation: str = "relu",
    eps: float | int = 1e-5,
    dropout: Factors | None = None,
) -> tuple[ndarray, tuple]:
    """Look at the target so far, look at the source, think; normalize after each.

    Implements eq-transformer-decoder::

        u = norm(x + attention(x))
        w = norm(u + cross_attention(u, m))   queries from u, keys and values from m
        y = norm(w + feed_forward(w))

    Args:
        x: The stream of the target ``(*batch, T, D)``.
        memory: m ``(*batch, S, M)``, what the encoder gives.
        weights: attention_norm.gamma and .beta (D), cross_attention_norm and feed_forward_norm
            likewise, those of :func:`multi_head_attention` after ``attention.`` and after
            ``cross_attention.``, those of :func:`feed_forward` after ``feed_forward.``; any
            .beta and .bias may be missing.
        n_heads: Heads of both attentions, H.
        mask: True where a target position may attend to another; broadcasts to
            ``(*batch, H, T, T)``. A decoder that is to predict gives a causal one.
        memory_mask: True where a target position may attend to the memory; broadcasts to
            ``(*batch, H, T, S)``.
        activation: As in :func:`feed_forward`.
        eps: ε of the three normalizations.
        dropout: Factors of the shape of x, 0 or 1 / (1 - p), under attention, cross_attention
            and feed_forward: what the third gives is multiplied by them before it is added.

    Returns:
        y, of the shape of x, and the cache that :func:`decoder_block_backward` needs.

    Raises:
        ConfigError: If the activation is not known.
        InputError: If a weight is missing, unknown or of another shape, heads do not divide,
            or a number is NaN or infinite.
        InputTypeError: If a mask is not boolean.

    Example:
        >>> parts = ("attention", "cross_attention", "feed_forward")
        >>> names = [f"{part}.W_{map}" for part in parts[:2] for map in "qkvo"]
        >>> names += ["feed_forward.W_in", "feed_forward.W_out"]
        >>> weights = {f"{name}.weight": np.zeros((2, 2)) for name in names}
        >>> weights |= {f"{part}_norm.gamma": np.ones(2) for part in parts}
        >>> x, memory = np.array([[1.0, 3.0]]), np.ones((5, 2))
        >>> y, cache = decoder_block(x, memory, weights, n_heads=1)
        >>> y.round(3).tolist()  # normalized; the three parts add nothing
        [[-1.0, 1.0]]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.1.
    """
    x, maps = _checked(x, weights, activation)
    a, attention = multi_head_attention(x, part_of(maps, "attention."), n_heads, mask)
    a = thinned(a, dropout, "attention")
    u, attention_norm = _normalize(x + a, maps, "attention", eps)
    c, cross = multi_head_attention(
        u, part_of(maps, "cross_attention."), n_heads, memory_mask, memory
    )
    c = thinned(c, dropout, "cross_attention")
    w, cross_norm = _normalize(u + c, maps, "cross_attention", eps)
    f, feed = feed_forward(w, part_of(maps, "feed_forward."), activation)
    f = thinned(f, dropout, "feed_forward")
    y, feed_norm = _normalize(w + f, maps, "feed_forward", eps)
    caches = ((attention_norm, attention), (cross_norm, cross), (feed_norm, feed))
    return y, (x.shape, tuple(maps), dropout, caches)


def decoder_block_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`decoder_block`.

    Implements eq-backward-decoder-block::

        ds = norm'(w + f)ᵀ dy,   dw = ds + feed_forward'ᵀ ds
        dr = norm'(u + c)ᵀ dw,   du = dr + the queries' part of cross_attention'ᵀ dr
                                 dm = the keys' and values' part of it
        dq = norm'(x + a)ᵀ du,   dx = dq + attention'ᵀ dq

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`decoder_block`.

    Returns:
        dx, dmemory, and the gradients of the weights by name.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> parts = ("attention", "cross_attention", "feed_forward")
        >>> names = [f"{part}.W_{map}" for part in parts[:2] for map in "qkvo"]
        >>> names += ["feed_forward.W_in", "feed_forward.W_out"]
        >>> weights = {f"{name}.weight": np.zeros((2, 2)) for name in names}
        >>> weights |= {f"{part}_norm.gamma": np.ones(2) for part in parts}
        >>> x, memory = np.array([[1.0, 3.0]]), np.ones((5, 2))
        >>> y, cache = decoder_block(x, memory, weights, n_heads=1)
        >>> dx, dmemory, gradients = decoder_block_backward([[5.0, 5.0]], cache)
        >>> dx.round(6).tolist()  # no x changes the mean of what is normalized
        [[0.0, 0.0]]
    """
    shape, names, dropout, (attention, cross, feed) = cache
    dmemory: Any  # a memory was given, so it has a gradient
    dy = gradient_array(dy, shape)
    ds, d_feed_norm = _normalize_backward(dy, feed[0], "feed_forward")
    dw, d_feed = feed_forward_backward(thinned(ds, dropout, "feed_forward"), feed[1])
    dr, d_cross_norm = _normalize_backward(ds + dw, cross[0], "cross_attention")
    dc = thinned(dr, dropout, "cross_attention")
    du, d_cross, dmemory = multi_head_attention_backward(dc, cross[1])
    dq, d_attention_norm = _normalize_backward(dr + du, attention[0], "attention")
    da = thinned(dq, dropout, "attention")
    dx, d_attention, _ = multi_head_attention_backward(da, attention[1])
    gradients = d_attention_norm | d_cross_norm | d_feed_norm
    for third, d in zip(THIRDS, (d_attention, d_cross, d_feed), strict=True):
        gradients |= prefixed(d, f"{third}.")
    return dq + dx, dmemory, in_order_of(names, gradients)


def decoder_block_names(activation: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the weights that must be there, and of those that may.

    Raises:
        ConfigError: If the activation is not known.
    """
    halves = ((heads.REQUIRED, heads.OPTIONAL),) * 2 + (feed_forward_names(activation),)
    parts = list(zip(THIRDS, halves, strict=True))
    required = tuple(f"{third}.{name}" for third, names in parts for name in names[0])
    optional = tuple(f"{third}.{name}" for third, names in parts for name in names[1])
    gains = tuple(f"{third}_norm.gamma" for third in THIRDS)
    shifts = tuple(f"{third}_norm.beta" for third in THIRDS)
    return (*gains, *required), (*shifts, *optional)


def _normalize(
    x: ndarray, weights: Gradients, third: str, eps: float | int
) -> tuple[ndarray, tuple]:
    """The normalization behind a third; without a shift, it adds none."""
    gamma = weights[f"{third}_norm.gamma"]
    beta = weights.get(f"{third}_norm.beta", np.zeros_like(gamma))
    return layer_norm(x, gamma, beta, float(eps))


def _normalize_backward(dy: ndarray, cache: tuple, third: str) -> tuple[ndarray, Gradients]:
    dx, dgamma, dbeta = layer_norm_backward(dy, cache)
    return dx, {f"{third}_norm.gamma": dgamma, f"{third}_norm.beta": dbeta}


def _checked(x: Any, weights: Weights, activation: str) -> tuple[ndarray, Gradients]:
    """The stream and the weights in float64, once the names are known to be right."""
    maps = checked_weights(weights, *decoder_block_names(activation))
    x = finite_array(x, "x")
    heads.require_positions(x, "x")
    for name in (f"{third}_norm.{n}" for third in THIRDS for n in ("gamma", "beta")):
        require_shape(maps, name, x.shape[-1:], "one entry a feature of x")
    for name in ("attention.W_o", "cross_attention.W_o", "feed_forward.W_out"):
        W = maps[f"{name}.weight"]
        if W.shape[:1] != x.shape[-1:]:
            raise InputError(
                f"weights['{name}.weight'] has shape {W.shape}, expected {x.shape[-1]} rows: "
                f"what it gives is added to x of shape {x.shape}"
            )
    return x, maps


__all__ = ["decoder_block", "decoder_block_backward"]
