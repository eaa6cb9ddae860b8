"""What depth does to a stack of maps: gradients of a product, growth and mixing of a stream."""

import math
from collections.abc import Sequence
from numbers import Integral

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.reference.arrays import finite_array, gradient_array
from mathlm.reference.network.linear import linear, linear_backward

STREAMS = ("residual", "pre-norm", "post-norm")


def deep_linear_gradients(x: ndarray, weights: Sequence[ndarray], dy: ndarray) -> list[ndarray]:
    """Gradients of all matrices of a stack of linear layers.

    Implements eq-deep-linear-gradient::

        y = x W₁ᵀ ⋯ W_Lᵀ,   dW_l = (dy W_L ⋯ W_{l+1})ᵀ (x W₁ᵀ ⋯ W_{l-1}ᵀ)

    Args:
        x: Input vectors, one a row.
        weights: W_1 … W_L, stored (out, in).
        dy: Gradient of the loss in y, of its shape.

    Returns:
        dW_1 … dW_L.

    Raises:
        InputError: If there are no weights, a shape does not fit, or a number is not finite.
    """
    if not len(weights):
        raise InputError("weights is empty: there is no layer to differentiate")
    caches, y = [], finite_array(x, "x")
    for W in weights:
        y, cache = linear(y, finite_array(W, "a weight"))
        caches.append(cache)
    gradients, dy = [], gradient_array(dy, y.shape)
    for cache in reversed(caches):
        dy, dW = linear_backward(dy, cache)[:2]
        gradients.append(dW)
    return gradients[::-1]


def residual_growth(gains: Sequence[float | int]) -> float:
    """Mean growth of the squared length of what passes through residual layers.

    Implements eq-residual-growth::

        E‖Π (I + J_l) d‖² / ‖d‖² = Π (1 + g_l²)

    Args:
        gains: g_l ≥ 0: random J_l of mean 0 multiplies a squared length by g_l² on average.

    Returns:
        The factor; 1 for no layers.

    Raises:
        InputError: If a gain is negative or not finite, or the product is beyond float64.

    Example:
        >>> residual_growth([1.0] * 10)
        1024.0
    """
    g = np.asarray(gains, dtype=float)
    if g.ndim != 1 or not (np.isfinite(g).all() and (g >= 0).all()):
        raise InputError(f"gains={gains} must be a list of finite numbers, 0 or more")
    with np.errstate(over="ignore"):
        growth = float(np.prod(1 + g**2))
    if not math.isfinite(growth):
        raise InputError(f"the growth through {g.size} layers is beyond float64")
    return growth


def stream_prediction(kind: str, depth: int, tokens: int) -> tuple[ndarray, ndarray]:
    """Size of the stream and spread of its tokens at every depth, before any training.

    Implements eq-stream::

        attention       a = 1 - r (1 - 1/T),   r ← r S / (S + s a),   S ← S + s a
        feed-forward    r ← (r S + s δ(r)) / (S + s),   S ← S + s
        δ(r) = r - (sin θ - θ cos θ) / π,   cos θ = 1 - r

    S is the mean square of an entry and 1 - r the mean cosine of two tokens, over random
    weights of variance 1/inputs (2/inputs behind ReLU); s is 1 behind a norm, else S. Attention
    is taken to average all T tokens evenly. The tokens start independent, r = 1.

    Args:
        kind: "residual" (no norms), "pre-norm" or "post-norm", which resets S to 1.
        depth: Blocks, L.
        tokens: T.

    Returns:
        (rms, spread): √S, and √(r (1 - 1/T)), for l = 0 … L.

    Raises:
        ConfigError: If the kind is not known.
        InputTypeError: If depth or tokens is no integer.
        InputError: If depth or tokens is less than 1, or S is beyond float64.

    References:
        Cho and Saul (2009), Kernel methods for deep learning, eq. (6), for δ.
    """
    _require_stream(kind, depth, tokens)
    S, r, rows = 1.0, 1.0, [(1.0, 1.0)]
    for _ in range(depth):
        for half in (_averaging, _relu_network):
            size, apart = half(r, tokens)
            s = S if kind == "residual" else 1.0
            S, r = S + s * size, (r * S + s * apart) / (S + s * size)
            S = 1.0 if kind == "post-norm" else S
        rows.append((S, r))
    size, r = np.array(rows).T
    if not np.isfinite(size).all():
        raise InputError(f"the stream of {depth} {kind} blocks is beyond float64")
    return np.sqrt(size), np.sqrt(r * (1 - 1 / tokens))


def _averaging(r: float, tokens: int) -> tuple[float, float]:
    """Mean square of an average of the tokens, and the part in which they differ: none."""
    return 1 - r * (1 - 1 / tokens), 0.0


def _relu_network(r: float, tokens: int) -> tuple[float, float]:
    """Mean square behind a wide ReLU network, and the part in which two tokens differ."""
    theta = 2 * math.asin(math.sqrt(r / 2))
    small = theta**3 / 3 - theta**5 / 30  # below 0.01 the difference would lose its digits
    loss = small if theta < 0.01 else math.sin(theta) - theta * math.cos(theta)
    return 1.0, r - loss / math.pi


def _require_stream(kind: str, depth: int, tokens: int) -> None:
    if kind not in STREAMS:
        raise ConfigError(f"kind={kind!r} is not one of {', '.join(STREAMS)}")
    for name, value in (("depth", depth), ("tokens", tokens)):
        if not isinstance(value, Integral) or isinstance(value, bool):
            raise InputTypeError(f"{name}={value!r} must be an integer")
        if value < 1:
            raise InputError(f"{name}={value} must be at least 1")


__all__ = ["deep_linear_gradients", "residual_growth", "stream_prediction"]
