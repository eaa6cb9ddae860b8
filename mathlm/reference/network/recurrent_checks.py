"""What recurrent cells and their sequences refuse."""

from numpy import ndarray

from ...errors import InputError, InputTypeError
from ..arrays import Numbers, finite_array

State = ndarray | tuple[ndarray, ndarray]
GATES = {"rnn": 1, "lstm": 4, "gru": 3}  # blocks of H rows in the weights


def parts_of(state: State) -> tuple[ndarray, ...]:
    """The state as a tuple: (h, c) of an LSTM, (h,) of the others."""
    return tuple(state) if isinstance(state, tuple | list) else (state,)


def whole(parts: tuple[ndarray, ...]) -> State:
    """Inverse of :func:`parts_of`."""
    return parts[0] if len(parts) == 1 else (parts[0], parts[1])


def require_parts(state: State, kind: str, name: str = "state") -> tuple[ndarray, ...]:
    """The parts of a state, or of its gradient, if there are as many as the cell has."""
    parts, wanted = parts_of(state), 2 if kind == "lstm" else 1
    if len(parts) != wanted:
        form = "the pair (h, c)" if kind == "lstm" else "one array h"
        raise InputError(f"{name} has {len(parts)} parts; that of the cell {kind!r} is {form}")
    return tuple(finite_array(part, f"{name} {'hc'[i]}") for i, part in enumerate(parts))


def require_weights(
    kind: str,
    width: int,
    W_ih: ndarray,
    W_hh: ndarray,
    b_ih: ndarray | None,
    b_hh: ndarray | None,
) -> int:
    """Refuse weights that do not fit the cell or inputs of this width; returns H."""
    for name, W in (("W_ih", W_ih), ("W_hh", W_hh), ("b_ih", b_ih), ("b_hh", b_hh)):
        if W is not None:
            finite_array(W, name)
    gates, H = GATES[kind], W_hh.shape[-1] if W_hh.ndim else 1
    rule = f"{gates} blocks of H={H} rows, stored (out, in)"
    if W_hh.shape != (gates * H, H):
        raise InputError(f"W_hh has shape {W_hh.shape}, expected {(gates * H, H)}: {rule}")
    if W_ih.shape != (gates * H, width):
        raise InputError(
            f"W_ih has shape {W_ih.shape}, but x of width {width} and W_hh of shape "
            f"{W_hh.shape} need {(gates * H, width)}: {rule}"
        )
    for name, b in (("b_ih", b_ih), ("b_hh", b_hh)):
        if b is not None and b.shape != (gates * H,):
            raise InputError(f"{name} has shape {b.shape}, expected {(gates * H,)}")
    return H


def require_shape(array: ndarray, shape: tuple[int, ...], name: str, other: str) -> None:
    """Refuse an array of another shape than ``other`` asks for."""
    if array.shape != shape:
        raise InputError(f"{name} has shape {array.shape}, but {other} needs {shape}")


def require_sequence(x: Numbers, mask: ndarray | None) -> None:
    """Refuse x without the axes (B, T, D) or without steps, and a mask that does not fit."""
    shape = getattr(x, "shape", ())
    if len(shape) != 3 or 0 in shape:
        raise InputError(
            f"x has shape {shape}, expected (B, T, D) with at least one sequence, step and "
            "feature"
        )
    if mask is None:
        return
    if mask.dtype.kind != "b":
        raise InputTypeError(
            f"mask has dtype {mask.dtype}; give booleans, True where a step is real"
        )
    require_shape(mask, shape[:2], "mask", f"x of shape {shape}")
