"""Residual blocks, the normalization before or behind each half, and the backward passes."""

from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError
from ...shapes import Bool
from ..arrays import Numbers, finite_array, gradient_array
from . import heads
from .dropout_factors import Factors, thinned
from .feedforward import feed_forward, feed_forward_backward, feed_forward_names
from .heads import multi_head_attention, multi_head_attention_backward
from .normalization import layer_norm, layer_norm_backward, rms_norm, rms_norm_backward
from .weights import (
    Gradients,
    Weights,
    checked_weights,
    in_order_of,
    part_of,
    prefixed,
    require_shape,
)

NORMS = {"layer": (layer_norm, layer_norm_backward), "rms": (rms_norm, rms_norm_backward)}
PLACES = ("attention_norm", "feed_forward_norm")


def pre_norm_block(
    x: ndarray,
    weights: Weights,
    n_heads: int,
    mask: Bool[ndarray, "..."] | None = None,
    norm: str = "layer",
    activation: str = "relu",
    eps: float = 1e-5,
) -> tuple[ndarray, tuple]:
    """Attention, then a feed-forward network, each added to the stream that it reads.

    Implements eq-pre-norm::

        u = x + attention(norm(x))
        y = u + feed_forward(norm(u))

    Args:
        x: The residual stream ``(*batch, T, D)``.
        weights: attention_norm.gamma and .beta (D), feed_forward_norm likewise, those of
            :func:`multi_head_attention` after ``attention.`` and those of :func:`feed_forward`
            after ``feed_forward.``; the names of the ``state_dict`` of
            :class:`mathlm.layers.Block`. No .beta with rms; without it, layer adds none.
        n_heads: Query heads, H.
        mask: True where a query may attend; broadcasts to ``(*batch, H, T, T)``.
        norm: "layer" or "rms": :func:`layer_norm` or :func:`rms_norm`.
        activation: As in :func:`feed_forward`.
        eps: ε of both normalizations.

    Returns:
        y, of the shape of x, and the cache that :func:`pre_norm_block_backward` needs.

    Raises:
        ConfigError: If norm or activation is not known.
        InputError: If a weight is missing, unknown or of another shape, heads do not divide,
            or a number is NaN or infinite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> parts = [f"attention.W_{name}" for name in "qkvo"]
        >>> parts += ["feed_forward.W_in", "feed_forward.W_out"]
        >>> weights = {f"{name}.weight": np.zeros((2, 2)) for name in parts}
        >>> norms = "attention_norm.gamma", "feed_forward_norm.gamma"
        >>> weights |= dict.fromkeys(norms, np.ones(2))
        >>> y, cache = pre_norm_block(np.array([[1.0, 3.0]]), weights, n_heads=1)
        >>> y.tolist()  # the halves add nothing
        [[1.0, 3.0]]

    References:
        Xiong et al. (2020), arXiv:2002.04745, table 1.
    """
    x, maps = _checked(x, weights, norm, activation)
    h, attention_norm = _normalize(x, maps, PLACES[0], norm, eps)
    a, attention = multi_head_attention(h, part_of(maps, "attention."), n_heads, mask)
    u = x + a
    h, feed_norm = _normalize(u, maps, PLACES[1], norm, eps)
    f, feed = feed_forward(h, part_of(maps, "feed_forward."), activation)
    return u + f, (x.shape, norm, tuple(maps), attention_norm, attention, feed_norm, feed)


def pre_norm_block_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`pre_norm_block`.

    Implements eq-pre-norm-backward::

        du = dy + norm'(u)ᵀ feed_forward'ᵀ dy
        dx = du + norm'(x)ᵀ attention'ᵀ du

    The first term of each line passes by the half untouched: the residual path.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`pre_norm_block`.

    Returns:
        dx, and the gradients of the weights by name.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> parts = [f"attention.W_{name}" for name in "qkvo"]
        >>> parts += ["feed_forward.W_in", "feed_forward.W_out"]
        >>> weights = {f"{name}.weight": np.zeros((2, 2)) for name in parts}
        >>> norms = "attention_norm.gamma", "feed_forward_norm.gamma"
        >>> weights |= dict.fromkeys(norms, np.ones(2))
        >>> y, cache = pre_norm_block(np.array([[1.0, 3.0]]), weights, n_heads=1)
        >>> dx, gradients = pre_norm_block_backward([[5.0, 7.0]], cache)
        >>> dx.tolist()  # the residual path
        [[5.0, 7.0]]
    """
    shape, norm, names, attention_norm, attention, feed_norm, feed = cache
    dy = gradient_array(dy, shape)
    dh, d_feed = feed_forward_backward(dy, feed)
    du, d_feed_norm = _normalize_backward(dh, feed_norm, PLACES[1], norm)
    du = dy + du
    dh, d_attention, _ = multi_head_attention_backward(du, attention)
    dx, d_attention_norm = _normalize_backward(dh, attention_norm, PLACES[0], norm)
    gradients = d_attention_norm | d_feed_norm | _halves(d_attention, d_feed)
    return du + dx, in_order_of(names, gradients)


def post_norm_block(
    x: ndarray,
    weights: Weights,
    n_heads: int,
    mask: Bool[ndarray, "..."] | None = None,
    norm: str = "layer",
    activation: str = "relu",
    eps: float = 1e-5,
    dropout: Factors | None = None,
) -> tuple[ndarray, tuple]:
    """The block of the first transformers: each sum is normalized before it is read again.

    Implements eq-post-norm::

        u = norm(x + attention(x))
        y = norm(u + feed_forward(u))

    Args:
        x: The stream ``(*batch, T, D)``.
        weights: Names as in :func:`pre_norm_block`; the ``state_dict`` of
            :class:`mathlm.layers.PostNormBlock`.
        n_heads: Query heads, H.
        mask: True where a query may attend; broadcasts to ``(*batch, H, T, T)``.
        norm: "layer" or "rms": :func:`layer_norm` or :func:`rms_norm`.
        activation: As in :func:`feed_forward`.
        eps: ε of both normalizations.
        dropout: Factors of the shape of x, 0 or 1 / (1 - p), under attention and feed_forward:
            what the half gives is multiplied by them before it is added. None = 1.

    Returns:
        y, of the shape of x, and the cache that :func:`post_norm_block_backward` needs.

    Raises:
        ConfigError: If norm or activation is not known.
        InputError: If a weight is missing, unknown or of another shape, heads do not divide,
            or a number is NaN or infinite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> parts = [f"attention.W_{name}" for name in "qkvo"]
        >>> parts += ["feed_forward.W_in", "feed_forward.W_out"]
        >>> weights = {f"{name}.weight": np.zeros((2, 2)) for name in parts}
        >>> norms = "attention_norm.gamma", "feed_forward_norm.gamma"
        >>> weights |= dict.fromkeys(norms, np.ones(2))
        >>> y, cache = post_norm_block(np.array([[1.0, 3.0]]), weights, n_heads=1)
        >>> y.round(3).tolist()  # normalized
        [[-1.0, 1.0]]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, section 3.1.
    """
    x, maps = _checked(x, weights, norm, activation)
    a, attention = multi_head_attention(x, part_of(maps, "attention."), n_heads, mask)
    a = thinned(a, dropout, "attention")
    u, attention_norm = _normalize(x + a, maps, PLACES[0], norm, eps)
    f, feed = feed_forward(u, part_of(maps, "feed_forward."), activation)
    f = thinned(f, dropout, "feed_forward")
    y, feed_norm = _normalize(u + f, maps, PLACES[1], norm, eps)
    caches = (attention_norm, attention, feed_norm, feed)
    return y, (x.shape, norm, tuple(maps), dropout, caches)


def post_norm_block_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`post_norm_block`.

    Implements eq-post-norm-backward::

        ds = norm'(u + f)ᵀ dy,   du = ds + feed_forward'ᵀ ds
        dr = norm'(x + a)ᵀ du,   dx = dr + attention'ᵀ dr

    No term passes by a normalization: each of them rescales all that goes further down.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`post_norm_block`.

    Returns:
        dx, and the gradients of the weights by name.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> parts = [f"attention.W_{name}" for name in "qkvo"]
        >>> parts += ["feed_forward.W_in", "feed_forward.W_out"]
        >>> weights = {f"{name}.weight": np.zeros((2, 2)) for name in parts}
        >>> norms = "attention_norm.gamma", "feed_forward_norm.gamma"
        >>> weights |= dict.fromkeys(norms, np.ones(2))
        >>> y, cache = post_norm_block(np.array([[1.0, 3.0]]), weights, n_heads=1)
        >>> dx, gradients = post_norm_block_backward([[5.0, 5.0]], cache)
        >>> dx.round(6).tolist()  # no x changes the mean of what is normalized
        [[0.0, 0.0]]
    """
    shape, norm, names, dropout, (attention_norm, attention, feed_norm, feed) = cache
    dy = gradient_array(dy, shape)
    ds, d_feed_norm = _normalize_backward(dy, feed_norm, PLACES[1], norm)
    du, d_feed = feed_forward_backward(thinned(ds, dropout, "feed_forward"), feed)
    dr, d_attention_norm = _normalize_backward(ds + du, attention_norm, PLACES[0], norm)
    dx, d_attention, _ = multi_head_attention_backward(
        thinned(dr, dropout, "attention"), attention
    )
    gradients = d_attention_norm | d_feed_norm | _halves(d_attention, d_feed)
    return dr + dx, in_order_of(names, gradients)


def _normalize(
    x: ndarray, weights: Gradients, place: str, norm: str, eps: float
) -> tuple[ndarray, tuple]:
    gamma = weights[f"{place}.gamma"]
    if norm == "rms":
        return rms_norm(x, gamma, eps)
    return layer_norm(x, gamma, weights.get(f"{place}.beta", np.zeros_like(gamma)), eps)


def _normalize_backward(
    dy: ndarray, cache: tuple, place: str, norm: str
) -> tuple[ndarray, Gradients]:
    dx, *gradients = NORMS[norm][1](dy, cache)
    return dx, dict(zip((f"{place}.gamma", f"{place}.beta"), gradients, strict=False))


def _halves(d_attention: Gradients, d_feed: Gradients) -> Gradients:
    return prefixed(d_attention, "attention.") | prefixed(d_feed, "feed_forward.")


def _checked(x: Any, weights: Weights, norm: str, activation: str) -> tuple[ndarray, Gradients]:
    """The stream and the weights in float64, once the names are known to be right."""
    if norm not in NORMS:
        raise ConfigError(f"norm={norm!r} is not one of {', '.join(NORMS)}")
    required, optional = feed_forward_names(activation)
    gains = tuple(f"{place}.gamma" for place in PLACES)
    shifts = tuple(f"{place}.beta" for place in PLACES) if norm == "layer" else ()
    maps = checked_weights(
        weights,
        (*gains, *_names("attention.", heads.REQUIRED), *_names("feed_forward.", required)),
        (*shifts, *_names("attention.", heads.OPTIONAL), *_names("feed_forward.", optional)),
    )
    x = finite_array(x, "x")
    heads.require_positions(x, "x")
    for name in (*gains, *shifts):
        require_shape(maps, name, x.shape[-1:], "one entry a feature of x")
    for name in ("attention.W_o.weight", "feed_forward.W_out.weight"):
        if maps[name].shape[:1] != x.shape[-1:]:
            raise InputError(
                f"weights[{name!r}] has shape {maps[name].shape}, expected {x.shape[-1]} rows: "
                f"what it gives is added to x of shape {x.shape}"
            )
    return x, maps


def _names(prefix: str, names: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(prefix + name for name in names)
