"""The feed-forward half of a transformer block, and its hand-derived backward pass."""

from collections.abc import Callable

from numpy import ndarray

from ...errors import ConfigError, InputError
from ..arrays import Numbers, finite_array, gradient_array
from .activation import (
    gelu,
    gelu_backward,
    gelu_tanh,
    gelu_tanh_backward,
    relu,
    relu_backward,
    silu,
    silu_backward,
    swiglu,
    swiglu_backward,
)
from .weights import (
    Gradients,
    Weights,
    checked_weights,
    in_order_of,
    named_linear,
    named_linear_backward,
    require_map,
)

# name -> (function, its backward pass)
ACTIVATIONS: dict[str, tuple[Callable, Callable]] = {
    "relu": (relu, relu_backward),
    "gelu": (gelu, gelu_backward),
    "gelu_tanh": (gelu_tanh, gelu_tanh_backward),
    "silu": (silu, silu_backward),
    "swiglu": (swiglu, swiglu_backward),
}


def feed_forward(
    x: Numbers, weights: Weights, activation: str = "relu"
) -> tuple[ndarray, tuple]:
    """Two linear maps with an activation between them, at every position alike.

    Implements eq-feed-forward::

        y = W_out f(W_in x + b_in) + b_out
        with swiglu   y = W_out (silu(W_gate x + b_gate) ⊙ (W_in x + b_in)) + b_out

    Args:
        x: Input vectors (..., D), one a row.
        weights: W_in.weight (F, D), W_out.weight (O, F) and, with swiglu, W_gate.weight
            (F, D), each stored (out, in), and W_in.bias, W_out.bias, W_gate.bias or none; the
            names of the ``state_dict`` of :class:`mathlm.layers.FeedForward`.
        activation: f: relu, gelu, gelu_tanh or silu; or swiglu.

    Returns:
        y (..., O), and the cache that :func:`feed_forward_backward` needs; its second entry is
        f(W_in x + b_in), what the hidden units hold.

    Raises:
        ConfigError: If the activation is not known.
        InputError: If a weight is missing, unknown or of another shape, or a number is NaN or
            infinite.

    Example:
        >>> W_in, W_out = np.array([[1.0], [-1.0]]), np.ones((1, 2))
        >>> weights = {"W_in.weight": W_in, "W_out.weight": W_out}
        >>> y, cache = feed_forward([[3.0], [-4.0]], weights)  # relu(x) + relu(-x)
        >>> y.tolist()
        [[3.0], [4.0]]

    References:
        Vaswani et al. (2017), arXiv:1706.03762, eq. (2); Shazeer (2020), arXiv:2002.05202.
    """
    required, optional = feed_forward_names(activation)
    maps = checked_weights(weights, required, optional)
    x = finite_array(x, "x")
    inner = ("W_gate", "W_in") if activation == "swiglu" else ("W_in",)
    _require_maps(x, maps, inner)
    halves = {name: named_linear(x, maps, name) for name in inner}
    hidden, cache = ACTIVATIONS[activation][0](*(z for z, _ in halves.values()))
    y, out_cache = named_linear(hidden, maps, "W_out")
    in_caches = {name: c for name, (_, c) in halves.items()}
    return y, (y.shape, hidden, activation, tuple(maps), in_caches, cache, out_cache)


def feed_forward_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, Gradients]:
    """Pull the gradient of the loss back through :func:`feed_forward`.

    Implements eq-feed-forward-backward::

        dh = dy W_out,   dz = f'(z) ⊙ dh,   dx = dz W_in
        dW_out = dyᵀ h,   db_out = Σ dy,   dW_in = dzᵀ x,   db_in = Σ dz   over the rows

    With swiglu, dz comes in two parts, one for W_gate and one for W_in, and dx is a sum.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`feed_forward`.

    Returns:
        dx, and the gradients of the weights by name.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.

    Example:
        >>> W_in, W_out = np.array([[1.0], [-1.0]]), np.ones((1, 2))
        >>> weights = {"W_in.weight": W_in, "W_out.weight": W_out}
        >>> y, cache = feed_forward([[3.0], [-4.0]], weights)  # |x|
        >>> dx, gradients = feed_forward_backward([[1.0], [1.0]], cache)
        >>> dx.tolist(), gradients["W_out.weight"].tolist()
        ([[1.0], [-1.0]], [[3.0, 4.0]])
    """
    shape, _, activation, names, in_caches, activation_cache, out_cache = cache
    dhidden, gradients = named_linear_backward(gradient_array(dy, shape), out_cache, "W_out")
    dz = ACTIVATIONS[activation][1](dhidden, activation_cache)
    parts = []
    for (name, in_cache), part in zip(
        in_caches.items(), dz if activation == "swiglu" else (dz,), strict=True
    ):
        dx, dW = named_linear_backward(part, in_cache, name)
        parts.append(dx)
        gradients |= dW
    return sum(parts[1:], start=parts[0]), in_order_of(names, gradients)


def feed_forward_names(activation: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Names of the weights that must be there, and of those that may.

    Raises:
        ConfigError: If the activation is not known.
    """
    if activation not in ACTIVATIONS:
        raise ConfigError(f"activation={activation!r} is not one of {', '.join(ACTIVATIONS)}")
    maps = ("W_in", "W_gate", "W_out") if activation == "swiglu" else ("W_in", "W_out")
    return tuple(f"{m}.weight" for m in maps), tuple(f"{m}.bias" for m in maps)


def _require_maps(x: ndarray, maps: Gradients, inner: tuple[str, ...]) -> None:
    if x.ndim == 0:
        raise InputError("x is a single number; give vectors, (..., D)")
    widths = {name: require_map(maps, name, x.shape[-1]) for name in inner}
    if len(set(widths.values())) > 1:
        raise InputError(f"the rows of W_gate and W_in differ: {widths}; they are multiplied")
    require_map(maps, "W_out", widths["W_in"])
