"""Multi-head latent attention and its backward pass, by hand."""

from numbers import Integral

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from ..arrays import Numbers, finite_array, gradient_array
from .attention import dot_product_attention, dot_product_attention_backward
from .heads import merge_heads, require_positions, split_heads
from .position import rotary, rotary_backward
from .weights import (
    Gradients,
    Weights,
    checked_weights,
    named_linear,
    named_linear_backward,
    require_map,
)

NAMES = ("W_q", "W_qr", "W_dkv", "W_kr", "W_uk", "W_uv", "W_o")
LATENT_MAPS = tuple(f"{name}.weight" for name in NAMES)


def latent_attention(
    x: Float[ndarray, "*batch T D"],
    weights: Weights,
    n_heads: int,
    mask: Bool[ndarray, "..."] | None = None,
    base: float | int = 10_000.0,
) -> tuple[Float[ndarray, "*batch T O"], tuple]:
    """Heads whose keys and values are made from one latent vector per token, and a turned part.

    Implements eq-heads-latent::

        C = X W_dkvᵀ,   Kₕ = C W_uk⁽ʰ⁾ᵀ,   Vₕ = C W_uv⁽ʰ⁾ᵀ,   Kᴿ = rotate(X W_krᵀ)
        Zₕ = softmax(([Qₕ Qₕᴿ] [Kₕ Kᴿ]ᵀ) / √(d_k + d_r)) Vₕ,   Y = Σₕ Zₕ W_o⁽ʰ⁾ᵀ

    Args:
        x: One vector for each position 0, 1, ... T - 1.
        weights: W_q.weight (H K, D), W_qr (H R, D), W_dkv (C, D), W_kr (R, D), W_uk (H K, C),
            W_uv (H V, C), W_o (O, H V); the names of
            :class:`mathlm.layers.LatentAttention`.
        n_heads: H.
        mask: True where a query may attend, broadcasts to ``(*batch, H, T, T)``; None =
            everyone sees everyone.
        base: Of the rotary frequencies.

    Returns:
        y, and the cache that :func:`latent_attention_backward` needs.

    Raises:
        InputError: If a weight is missing or of another shape, or a number is not finite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> names = {"W_q": (2, 2), "W_qr": (2, 2), "W_dkv": (1, 2), "W_kr": (2, 2)}
        >>> names |= {"W_uk": (2, 1), "W_uv": (2, 1), "W_o": (2, 2)}
        >>> weights = {f"{name}.weight": np.zeros(shape) for name, shape in names.items()}
        >>> weights |= {"W_dkv.weight": np.ones((1, 2)), "W_uv.weight": np.ones((2, 1))}
        >>> weights["W_o.weight"] = np.eye(2)
        >>> y, cache = latent_attention(np.array([[1.0, 0.0], [0.0, 3.0]]), weights, n_heads=1)
        >>> y.tolist()  # equal scores: the mean of the latent numbers 1 and 3
        [[2.0, 2.0], [2.0, 2.0]]

    References:
        DeepSeek-AI (2024), arXiv:2405.04434, section 2.1.
    """
    require_positions(x, "x")
    maps = checked_weights(weights, LATENT_MAPS)
    _require_latent_maps(maps, n_heads, x.shape[-1])
    x, places = finite_array(x, "x"), np.arange(x.shape[-2])
    caches = {}
    latent, caches["W_dkv"] = named_linear(x, maps, "W_dkv")
    parts = {}
    for name in ("W_q", "W_qr", "W_uk", "W_uv"):
        source = latent if name in ("W_uk", "W_uv") else x
        part, caches[name] = named_linear(source, maps, name)
        parts[name] = split_heads(part, n_heads)  # (..., H, T, width)
    shared, caches["W_kr"] = named_linear(x, maps, "W_kr")
    q_turned, caches["q_turn"] = rotary(parts["W_qr"], places, base)
    k_turned, caches["k_turn"] = rotary(shared, places, base)
    k_turned = np.repeat(k_turned[..., None, :, :], n_heads, axis=-3)
    q = np.concatenate((parts["W_q"], q_turned), -1)
    k = np.concatenate((parts["W_uk"], k_turned), -1)
    z, caches["attention"] = dot_product_attention(q, k, parts["W_uv"], mask)
    y, caches["W_o"] = named_linear(merge_heads(z), maps, "W_o")
    return y, (y.shape, n_heads, parts["W_q"].shape[-1], caches)


def latent_attention_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`latent_attention`.

    Implements eq-heads-latent-backward::

        dC = Σₕ (dKₕ W_uk⁽ʰ⁾ + dVₕ W_uv⁽ʰ⁾),   dKᴿ = Σₕ dKₕᴿ turned back
        dX = dQ W_q + dQᴿ W_qr + dKᴿ W_kr + dC W_dkv

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`latent_attention`.

    Returns:
        dx, and the gradients of the weights by name.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> names = {"W_q": (2, 2), "W_qr": (2, 2), "W_dkv": (1, 2), "W_kr": (2, 2)}
        >>> names |= {"W_uk": (2, 1), "W_uv": (2, 1), "W_o": (2, 2)}
        >>> weights = {f"{name}.weight": np.zeros(shape) for name, shape in names.items()}
        >>> weights |= {"W_dkv.weight": np.ones((1, 2)), "W_uv.weight": np.ones((2, 1))}
        >>> weights["W_o.weight"] = np.eye(2)
        >>> x = np.array([[1.0, 0.0], [0.0, 3.0]])
        >>> y, cache = latent_attention(x, weights, n_heads=1)
        >>> dx, gradients = latent_attention_backward([[1.0, 0.0], [0.0, 0.0]], cache)
        >>> dx.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
    """
    shape, n_heads, width, caches = cache
    grads: Gradients = {}

    def back(d: ndarray, name: str) -> ndarray:
        dsource, found = named_linear_backward(d, caches[name], name)
        grads.update(found)
        return dsource

    dz = split_heads(back(gradient_array(dy, shape), "W_o"), n_heads)
    dq, dk, dv = dot_product_attention_backward(dz, caches["attention"])
    dq_turned = rotary_backward(dq[..., width:], caches["q_turn"])
    dk_turned = rotary_backward(dk[..., width:].sum(-3), caches["k_turn"])  # shared: sum of H
    dlatent = back(merge_heads(dk[..., :width]), "W_uk") + back(merge_heads(dv), "W_uv")
    dx = back(merge_heads(dq[..., :width]), "W_q") + back(merge_heads(dq_turned), "W_qr")
    dx = dx + back(dk_turned, "W_kr") + back(dlatent, "W_dkv")
    return dx, {name: grads[name] for name in LATENT_MAPS}


def _require_latent_maps(maps: Gradients, n_heads: int, width: int) -> None:
    """Refuse weights that do not fit each other."""
    if not isinstance(n_heads, Integral) or n_heads < 1:
        raise InputError(f"n_heads={n_heads} must be a whole number of at least 1")
    rows = {name: require_map(maps, name, width) for name in ("W_q", "W_qr", "W_dkv", "W_kr")}
    rows |= {name: require_map(maps, name, rows["W_dkv"]) for name in ("W_uk", "W_uv")}
    require_map(maps, "W_o", rows["W_uv"])
    fits = rows["W_uk"] == rows["W_q"] and rows["W_qr"] == n_heads * rows["W_kr"]
    if not fits or rows["W_q"] % n_heads or rows["W_uv"] % n_heads:
        raise InputError(
            f"rows {rows} do not fit {n_heads} heads: W_q and W_uk need the same, W_qr "
            f"{n_heads} times those of W_kr, and W_uk and W_uv a multiple of {n_heads}"
        )
