"""A bottleneck adapter and its hand-derived backward pass."""

from numpy import ndarray

from ...errors import ConfigError, InputError
from ..arrays import Numbers, finite_array, gradient_array
from .affine import linear, linear_backward
from .feedforward import ACTIVATIONS

NAMES = ("W_down", "b_down", "W_up", "b_up")


def bottleneck(
    x: Numbers,
    W_down: Numbers,
    b_down: Numbers,
    W_up: Numbers,
    b_up: Numbers,
    activation: str = "relu",
) -> tuple[ndarray, tuple]:
    """A vector, and what a narrow network makes of it.

    Implements eq-small-bottleneck::

        y = x + W_up f(W_down x + b_down) + b_up

    Args:
        x: Vectors (..., D), one a row.
        W_down: (w, D), reads w numbers from a vector.
        b_down: (w,).
        W_up: (D, w), writes them back.
        b_up: (D,).
        activation: f: relu, gelu, gelu_tanh or silu.

    Returns:
        y (..., D), and the cache that :func:`bottleneck_backward` needs.

    Raises:
        ConfigError: If the activation is not known.
        InputError: If the shapes do not fit, or a number is NaN or infinite.

    References:
        Houlsby et al. (2019), arXiv:1902.00751, section 2.1.
    """
    known = [name for name in ACTIVATIONS if name != "swiglu"]
    if activation not in known:
        raise ConfigError(f"activation={activation!r} is not one of {', '.join(known)}")
    x = finite_array(x, "x")
    given = (W_down, b_down, W_up, b_up)
    W_down, b_down, W_up, b_up = (finite_array(a, n) for a, n in zip(given, NAMES, strict=True))
    z, down = linear(x, W_down, b_down)
    if W_up.shape != W_down.shape[::-1]:
        raise InputError(
            f"W_up has shape {W_up.shape}, and W_down {W_down.shape}: it must lead back, with "
            f"shape {W_down.shape[::-1]}"
        )
    hidden, inner = ACTIVATIONS[activation][0](z)
    added, up = linear(hidden, W_up, b_up)
    return x + added, (x.shape, activation, down, inner, up)


def bottleneck_backward(dy: Numbers, cache: tuple) -> tuple[ndarray, ...]:
    """Pull the gradient of the loss back through :func:`bottleneck`.

    Computes::

        dh = dy W_up,   dz = f'(z) ⊙ dh,   dx = dy + dz W_down
        dW_up = dyᵀ h,   db_up = Σ dy,   dW_down = dzᵀ x,   db_down = Σ dz   over the rows

    Where W_up = 0, dW_down and db_down are 0 too: at its start an adapter learns by W_up alone.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`bottleneck`.

    Returns:
        dx, dW_down, db_down, dW_up, db_up.

    Raises:
        InputError: If dy has not the shape of y, or an entry is NaN or infinite.
    """
    shape, activation, down, inner, up = cache
    dy = gradient_array(dy, shape)
    dhidden, dW_up, db_up = linear_backward(dy, up)
    dz = ACTIVATIONS[activation][1](dhidden, inner)
    dx, dW_down, db_down = linear_backward(dz, down)
    return dy + dx, dW_down, db_down, dW_up, db_up
