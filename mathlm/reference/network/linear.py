"""The linear layer, y = x Wᵀ + b, and the multilayer perceptron, forward and backward."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from ...errors import ConfigError, InputError
from ...shapes import Float
from ..arrays import Numbers, finite_array, gradient_array
from .activation import (
    gelu,
    gelu_backward,
    gelu_tanh,
    gelu_tanh_backward,
    relu,
    relu_backward,
    sigmoid,
    sigmoid_backward,
    silu,
    silu_backward,
    tanh,
    tanh_backward,
)


def linear(
    x: Float[ndarray, "..."],
    W: Float[ndarray, "O I"],
    b: Float[ndarray, "..."] | None = None,
) -> tuple[Float[ndarray, "... O"], Any]:
    """Map each row vector by a matrix, then shift it.

    Implements eq-linear-layer::

        y = x Wᵀ + b

    Without b the map is linear; with b it is affine, which the field calls linear too. A square
    W that was stored the wrong way round has the right shape and gives wrong numbers.

    Args:
        x: Input vectors (..., I), one a row.
        W: Weights, stored (out, in): row i is what output i listens to.
        b: Shift (O), or None for none.

    Returns:
        y, and the cache that :func:`linear_backward` needs. Integers are read in float64.

    Raises:
        InputError: If W is not a matrix of the width of x, b has not one entry an output, or
            there is no number, or no real one.

    Example:
        >>> y, cache = linear(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 3.0]]))
        >>> y
        array([3., 6.])
    """
    x, W = _real(x, "x"), _real(W, "W")
    if W.ndim != 2 or x.ndim == 0 or x.shape[-1] != W.shape[1]:
        raise InputError(
            f"x of shape {x.shape} does not fit W of shape {W.shape}: "
            "the last axis of x must equal the second of W, which is stored (out, in)"
        )
    if b is not None and b.shape != W.shape[:1]:
        raise InputError(f"b has shape {b.shape}, expected {W.shape[:1]}: one entry an output")
    y = (_rows(x) @ W.T).reshape(*x.shape[:-1], W.shape[0])  # one product, not one a batch row
    if b is not None:
        y = y + b
    return y, (x, W, b is not None)


def _real(array: ndarray, name: str) -> ndarray:
    """The array, in float64 if it holds integers; refused if it holds no real number."""
    if array.size == 0 or array.dtype.kind not in "fiu":
        raise InputError(
            f"{name} has shape {array.shape} and dtype {array.dtype}; expected real numbers, "
            "at least one"
        )
    return array if array.dtype.kind == "f" else array.astype(np.float64)


def linear_backward(dy: Float[ndarray, "..."], cache: Any) -> tuple[ndarray, ...]:
    """Gradients of a linear layer, summed over all rows.

    Implements eq-linear-backward::

        dx = dy W,   dW = dyᵀ x,   db = Σ dy

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`linear`.

    Returns:
        (dx, dW), and db if the layer had a shift.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> y, cache = linear(np.array([1.0, 2.0]), np.array([[1.0, 1.0], [0.0, 3.0]]))
        >>> dx, dW = linear_backward(np.array([1.0, 0.0]), cache)
        >>> dx, dW.tolist()
        (array([1., 1.]), [[1.0, 2.0], [0.0, 0.0]])
    """
    x, W, shifted = cache
    expected = (*x.shape[:-1], W.shape[0])
    if dy.shape != expected:
        raise InputError(f"dy has shape {dy.shape}, but y has {expected}")
    rows_x, rows_dy = _rows(x), _rows(dy)
    dx = (rows_dy @ W).reshape(x.shape)
    dW = rows_dy.T @ rows_x
    return (dx, dW, np.sum(rows_dy, axis=0)) if shifted else (dx, dW)


def _rows(x: ndarray) -> ndarray:
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


Weights = Sequence[tuple[ndarray, ndarray | None]]  # W (out, in) and b (out) of each layer


def multilayer_perceptron(
    x: ndarray, weights: Weights, activations: Sequence[str]
) -> tuple[ndarray, list]:
    """Pass row vectors through one layer after another.

    Implements eq-nn-mlp::

        h₀ = x,   z_ℓ = h_{ℓ-1} W_ℓᵀ + b_ℓ,   h_ℓ = f_ℓ(z_ℓ),   y = h_L

    Args:
        x: Input vectors (..., I), one a row.
        weights: (W, b) of each layer; W is stored (out, in), b has one entry an output or is
            None.
        activations: Name of f for each layer: relu, sigmoid, tanh, gelu, gelu_tanh, silu or
            identity.

    Returns:
        y (..., O), and the cache that :func:`multilayer_perceptron_backward` needs.

    Raises:
        ConfigError: If an activation is not known.
        InputError: If there is no layer, not one activation a layer, an array is empty or not
            finite, or shapes do not fit; the message names the layer, counted from 1.

    Example:
        >>> weights = [(np.array([[1.0], [-1.0]]), None), (np.ones((1, 2)), None)]
        >>> y, cache = multilayer_perceptron([[3.0], [-4.0]], weights, ["relu", "identity"])
        >>> y.tolist()  # relu(x) + relu(-x)
        [[3.0], [4.0]]
    """
    _require_names(weights, activations)
    h, cache, source = finite_array(x, "x"), [], "x"
    for i, ((W, b), name) in enumerate(zip(weights, activations, strict=True), start=1):
        W, b = _layer(h, W, b, f"layer {i} of {len(weights)}", source)
        z, linear_cache = linear(h, W, b)
        h, activation_cache = ACTIVATIONS[name][0](z)
        cache.append((linear_cache, name, activation_cache))
        source = f"layer {i}"
    return h, cache


def multilayer_perceptron_backward(
    dy: Numbers, cache: list
) -> tuple[ndarray, list[tuple[ndarray, ndarray | None]]]:
    """Backpropagation: pull the gradient of the loss back through every layer, last one first.

    Implements eq-nn-backprop::

        δ_ℓ = dh_ℓ ⊙ f_ℓ'(z_ℓ),   dW_ℓ = δ_ℓᵀ h_{ℓ-1},   db_ℓ = Σ δ_ℓ,   dh_{ℓ-1} = δ_ℓ W_ℓ

    Args:
        dy: Gradient of the loss in y, of its shape.
        cache: Second value of :func:`multilayer_perceptron`.

    Returns:
        dx, and (dW, db) of each layer, first one first; db is None where b was. Gradients of
        weights are summed over the rows.

    Raises:
        InputError: If dy has not the shape of y.

    Example:
        >>> weights = [(np.array([[1.0], [-1.0]]), None), (np.ones((1, 2)), None)]
        >>> y, cache = multilayer_perceptron([[3.0], [-4.0]], weights, ["relu", "identity"])
        >>> dx, gradients = multilayer_perceptron_backward([[1.0], [1.0]], cache)
        >>> dx.tolist()  # the slope of |x|
        [[1.0], [-1.0]]
    """
    (x, W, _), _, _ = cache[-1]
    dh, gradients = gradient_array(dy, (*x.shape[:-1], W.shape[0])), []
    for linear_cache, name, activation_cache in reversed(cache):
        delta = ACTIVATIONS[name][1](dh, activation_cache)
        dh, dW, *db = linear_backward(delta, linear_cache)
        gradients.append((dW, db[0] if db else None))
    return dh, gradients[::-1]


def identity(x: ndarray) -> tuple[ndarray, tuple]:
    """No activation: y = x."""
    return x, ()


def identity_backward(dy: ndarray, cache: tuple) -> ndarray:
    """The gradient, unchanged."""
    return dy


# name -> (function, its backward pass)
ACTIVATIONS: dict[str, tuple[Callable, Callable]] = {
    "relu": (relu, relu_backward),
    "sigmoid": (sigmoid, sigmoid_backward),
    "tanh": (tanh, tanh_backward),
    "gelu": (gelu, gelu_backward),
    "gelu_tanh": (gelu_tanh, gelu_tanh_backward),
    "silu": (silu, silu_backward),
    "identity": (identity, identity_backward),
}


def _require_names(weights: Weights, activations: Sequence[str]) -> None:
    if len(weights) == 0:
        raise InputError("there are no layers: weights is empty; give at least one (W, b)")
    if isinstance(activations, str) or len(activations) != len(weights):
        raise InputError(
            f"{len(weights)} layers and activations={activations!r} do not fit: give a list "
            "with one name for each layer, 'identity' for none"
        )
    for i, layer in enumerate(weights, start=1):
        if len(layer) != 2:
            raise InputError(
                f"layer {i} of {len(weights)} has {len(layer)} parts, expected two: W and b, "
                "which may be None"
            )
    for i, name in enumerate(activations, start=1):
        if not isinstance(name, str) or name not in ACTIVATIONS:
            known = ", ".join(ACTIVATIONS)
            raise ConfigError(
                f"activation {name!r} of layer {i} of {len(weights)} is not one of {known}"
            )


def _layer(
    h: ndarray, W: ndarray, b: ndarray | None, layer: str, source: str
) -> tuple[ndarray, ndarray | None]:
    """W and b of one layer, once they are known to fit its input h."""
    W = finite_array(W, f"W of {layer}")
    if W.ndim != 2 or h.ndim == 0 or h.shape[-1] != W.shape[1]:
        raise InputError(
            f"{layer}: W of shape {W.shape}, stored (out, in), does not fit its input of shape "
            f"{h.shape} from {source}: the last axis of the input must equal the second of W"
        )
    if b is None:
        return W, None
    b = finite_array(b, f"b of {layer}")
    if b.shape != W.shape[:1]:
        raise InputError(
            f"{layer}: b has shape {b.shape}, expected {W.shape[:1]}: one entry an output"
        )
    return W, b
