"""Weights by the names of a torch ``state_dict``: what is there, its shape, its gradient."""

from collections.abc import Collection, Mapping
from typing import Any

from numpy import ndarray

from ...errors import InputError, InputTypeError
from ..arrays import finite_array
from .linear import linear, linear_backward

Weights = Mapping[str, ndarray]
Gradients = dict[str, ndarray]


def checked_weights(
    weights: Weights, required: Collection[str], optional: Collection[str] = ()
) -> Gradients:
    """The weights in float64, once their names are known to be the right ones.

    Args:
        weights: Arrays by name.
        required: Names that must be there.
        optional: Names that may be there.

    Raises:
        InputTypeError: If ``weights`` is no mapping, or one does not hold real numbers.
        InputError: If a name is missing or unknown, or a weight is empty or not finite.
    """
    if not isinstance(weights, Mapping):
        raise InputTypeError(
            f"weights is a {type(weights).__name__}; give a dict of arrays by name, with the "
            f"names {', '.join(required)}"
        )
    missing = [name for name in required if name not in weights]
    unknown = [name for name in weights if name not in {*required, *optional}]
    if missing or unknown:
        raise InputError(
            f"weights lacks {missing} and has the unknown names {unknown}; required are "
            f"{list(required)}, optional are {list(optional)}"
        )
    return {name: finite_array(w, f"weights[{name!r}]") for name, w in weights.items()}


def require_shape(weights: Weights, name: str, shape: tuple[int, ...], why: str) -> None:
    """Refuse a weight of another shape; one that is not there is fine."""
    if name in weights and weights[name].shape != shape:
        raise InputError(
            f"weights[{name!r}] has shape {weights[name].shape}, expected {shape}: {why}"
        )


def require_map(weights: Weights, name: str, width: int) -> int:
    """Refuse a linear map that does not take vectors of this width.

    Returns:
        The width of what the map gives.
    """
    W = weights[f"{name}.weight"]
    if W.ndim != 2 or W.shape[1] != width:
        raise InputError(
            f"weights['{name}.weight'] has shape {W.shape}, expected (out, {width}): stored "
            f"(out, in), it maps vectors of width {width}"
        )
    require_shape(weights, f"{name}.bias", W.shape[:1], f"one entry an output of {name}")
    return W.shape[0]


def named_linear(x: ndarray, weights: Weights, name: str) -> tuple[ndarray, Any]:
    """:func:`linear` with the weight and, if there is one, the bias of this name."""
    return linear(x, weights[f"{name}.weight"], weights.get(f"{name}.bias"))


def named_linear_backward(dy: ndarray, cache: Any, name: str) -> tuple[ndarray, Gradients]:
    """Gradient in x, and those in the weights by name."""
    dx, *gradients = linear_backward(dy, cache)
    names = (f"{name}.weight", f"{name}.bias")
    return dx, dict(zip(names, gradients, strict=False))


def part_of(weights: Weights, prefix: str) -> Gradients:
    """The weights whose names begin with the prefix, without it."""
    return {n.removeprefix(prefix): w for n, w in weights.items() if n.startswith(prefix)}


def prefixed(weights: Weights, prefix: str) -> Gradients:
    """The weights with the prefix before each name."""
    return {prefix + name: w for name, w in weights.items()}


def in_order_of(names: Collection[str], gradients: Weights) -> Gradients:
    """The gradients in the order in which the weights were given."""
    return {name: gradients[name] for name in names}
