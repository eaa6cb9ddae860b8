"""Activation functions, applied entry by entry, and their derivatives by hand.

Each takes finite numbers of any shape. Logistic functions come from exp(-|x|), which never
overflows, together with their complement 1 - σ(x) = σ(-x), which so keeps its digits where σ(x)
rounds to 1.
"""

import math

import numpy as np
from numpy import ndarray

from ..arrays import Numbers, Value, finite_array, gradient_array, require_same_shape

CUBIC = 0.044715  # of gelu_tanh
FAR = 400.0  # beyond it exp(-2|x|) is 0 in float64, and more so what falls faster
_erfc = np.vectorize(math.erfc, otypes=[np.float64])


def relu(x: Numbers) -> tuple[Value, tuple]:
    """The positive part.

    Computes::

        y = max(x, 0)

    Args:
        x: Finite numbers.

    Returns:
        y, of the shape of x, and the cache that :func:`relu_backward` needs.

    Raises:
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> relu([-2.0, 0.0, 3.0])[0].tolist()
        [0.0, 0.0, 3.0]
    """
    x = finite_array(x, "x")
    return np.maximum(x, 0.0), (x > 0,)


def relu_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`relu`.

    Computes::

        dx = dy where x > 0, else 0

    At x = 0 there is no derivative; it is taken to be 0, as torch takes it.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`relu`.

    Returns:
        dx, of the shape of x.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = relu([-2.0, 2.0])
        >>> relu_backward([1.0, 1.0], cache)
        array([0., 1.])
    """
    (positive,) = cache
    return gradient_array(dy, positive.shape) * positive


def sigmoid(x: Numbers) -> tuple[Value, tuple]:
    """The logistic function, which takes a logit to a probability.

    Computes::

        y = σ(x) = 1 / (1 + exp(-x))

    Args:
        x: Finite numbers.

    Returns:
        y in 0..1, of the shape of x, and the cache that :func:`sigmoid_backward` needs.

    Raises:
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> sigmoid([-1000.0, 0.0, 1000.0])[0].tolist()
        [0.0, 0.5, 1.0]
    """
    y, rest = logistic_pair(finite_array(x, "x"))
    return y, (y, rest)


def sigmoid_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`sigmoid`.

    Computes::

        dx = dy y (1 - y),   at most dy / 4

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`sigmoid`.

    Returns:
        dx, of the shape of x.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = sigmoid(0.0)
        >>> float(sigmoid_backward(1.0, cache))  # σ (1 - σ)
        0.25
    """
    y, rest = cache
    return gradient_array(dy, y.shape) * y * rest


def tanh(x: Numbers) -> tuple[Value, tuple]:
    """The hyperbolic tangent: a sigmoid stretched to -1..1.

    Computes::

        y = tanh(x) = 2 σ(2x) - 1

    Args:
        x: Finite numbers.

    Returns:
        y, of the shape of x, and the cache that :func:`tanh_backward` needs.

    Raises:
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> y, cache = tanh(np.log(2.0))  # (2 - 1/2) / (2 + 1/2)
        >>> round(float(y), 4)
        0.6
    """
    x = finite_array(x, "x")
    p, rest = logistic_pair(2 * np.clip(x, -FAR, FAR))
    return np.tanh(x), (4 * p * rest,)


def tanh_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`tanh`.

    Computes::

        dx = dy (1 - y²),   1 - y² = 4 σ(2x) σ(-2x)

    The second form keeps its digits where y rounds to 1.

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`tanh`.

    Returns:
        dx, of the shape of x.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = tanh(0.0)
        >>> float(tanh_backward(1.0, cache))
        1.0
    """
    (slope,) = cache
    return gradient_array(dy, slope.shape) * slope


def gelu(x: Numbers) -> tuple[Value, tuple]:
    """The input times the probability that a standard normal variable is below it.

    Computes::

        y = x Φ(x),   Φ(x) = erfc(-x / √2) / 2 = (1 + erf(x / √2)) / 2

    Args:
        x: Finite numbers.

    Returns:
        y, of the shape of x, and the cache that :func:`gelu_backward` needs.

    Raises:
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> y, cache = gelu(1.0)  # 1 · Φ(1)
        >>> round(float(y), 4)
        0.8413

    References:
        Hendrycks and Gimpel (2016), arXiv:1606.08415, section 2.
    """
    x = finite_array(x, "x")
    Phi = _erfc(-x / math.sqrt(2)) / 2
    return x * Phi, (x, Phi)


def gelu_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`gelu`.

    Computes::

        dx = dy (Φ(x) + x φ(x)),   φ(x) = exp(-x²/2) / √(2π)

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`gelu`.

    Returns:
        dx, of the shape of x.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = gelu(0.0)
        >>> float(gelu_backward(1.0, cache))  # Φ(0)
        0.5
    """
    x, Phi = cache
    density = np.exp(-(np.clip(x, -FAR, FAR) ** 2) / 2) / math.sqrt(2 * math.pi)
    return gradient_array(dy, x.shape) * (Phi + x * density)


def gelu_tanh(x: Numbers) -> tuple[Value, tuple]:
    """The approximation of :func:`gelu` that GPT-2 was trained with; off by less than 5e-4.

    Computes::

        y = x (1 + tanh u) / 2 = x σ(2u),   u = √(2/π) (x + 0.044715 x³)

    Args:
        x: Finite numbers.

    Returns:
        y, of the shape of x, and the cache that :func:`gelu_tanh_backward` needs.

    Raises:
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> y, cache = gelu_tanh(1.0)
        >>> round(float(y), 3)  # Φ(1) = 0.841
        0.841
    """
    x = finite_array(x, "x")
    near = np.clip(x, -FAR, FAR)
    p, rest = logistic_pair(2 * math.sqrt(2 / math.pi) * (near + CUBIC * near**3))
    du = math.sqrt(2 / math.pi) * (1 + 3 * CUBIC * near**2)
    return x * p, (x, p, rest, du)


def gelu_tanh_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`gelu_tanh`.

    Computes::

        dx = dy (p + 2 x p (1 - p) u'),   p = σ(2u),   u' = √(2/π) (1 + 3 · 0.044715 x²)

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`gelu_tanh`.

    Returns:
        dx, of the shape of x.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = gelu_tanh(0.0)
        >>> float(gelu_tanh_backward(1.0, cache))  # σ(0)
        0.5
    """
    x, p, rest, du = cache
    return gradient_array(dy, x.shape) * (p + 2 * p * rest * x * du)


def silu(x: Numbers) -> tuple[Value, tuple]:
    """The input times its logistic sigmoid; also called swish.

    Computes::

        y = x σ(x)

    Args:
        x: Finite numbers.

    Returns:
        y, of the shape of x, and the cache that :func:`silu_backward` needs.

    Raises:
        InputError: If x is empty, or an entry is NaN or infinite.

    Example:
        >>> y, cache = silu(np.log(3.0))  # σ(ln 3) = 3/4
        >>> round(float(y / np.log(3.0)), 4)
        0.75
    """
    x = finite_array(x, "x")
    p, rest = logistic_pair(x)
    return x * p, (x, p, rest)


def silu_backward(dy: Numbers, cache: tuple) -> Value:
    """Pull the gradient of the loss back through :func:`silu`.

    Computes::

        dx = dy p (1 + x (1 - p)),   p = σ(x)

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`silu`.

    Returns:
        dx, of the shape of x.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = silu(0.0)
        >>> float(silu_backward(1.0, cache))  # σ(0)
        0.5
    """
    x, p, rest = cache
    return gradient_array(dy, x.shape) * p * (1 + x * rest)


def swiglu(gate: Numbers, value: Numbers) -> tuple[Value, tuple]:
    """One projection of the input, gated by the :func:`silu` of another.

    Implements eq-nn-swiglu::

        y = silu(gate) ⊙ value

    Args:
        gate: Finite numbers.
        value: Finite numbers, of the shape of ``gate``.

    Returns:
        y, of the same shape, and the cache that :func:`swiglu_backward` needs.

    Raises:
        InputError: If the shapes differ, or an argument is empty or not finite.

    Example:
        >>> y, cache = swiglu(np.log(3.0), 2.0)  # silu(ln 3) · 2
        >>> round(float(y / np.log(3.0)), 4)
        1.5

    References:
        Shazeer (2020), arXiv:2002.05202, eq. (6).
    """
    gate, value = finite_array(gate, "gate"), finite_array(value, "value")
    require_same_shape(gate, value, ("gate", "value"))
    opening, cache = silu(gate)
    return opening * value, (opening, value, cache)


def swiglu_backward(dy: Numbers, cache: tuple) -> tuple[Value, Value]:
    """Pull the gradient of the loss back through :func:`swiglu`.

    Computes::

        dgate = silu'(gate) ⊙ value ⊙ dy,   dvalue = silu(gate) ⊙ dy

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`swiglu`.

    Returns:
        dgate, dvalue.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = swiglu(0.0, 4.0)
        >>> dgate, dvalue = swiglu_backward(1.0, cache)
        >>> float(dgate), float(dvalue)  # 4 σ(0), and silu(0)
        (2.0, 0.0)
    """
    opening, value, silu_cache = cache
    dy = gradient_array(dy, value.shape)
    return silu_backward(dy * value, silu_cache), dy * opening


def logistic_pair(x: Value) -> tuple[ndarray, ndarray]:
    """σ(x) and 1 - σ(x) = σ(-x), each to full precision."""
    small = np.exp(-np.abs(x))
    larger, smaller = 1 / (1 + small), small / (1 + small)
    return np.where(x >= 0, larger, smaller), np.where(x >= 0, smaller, larger)
