"""What a mask counts, and checks of what stands beside it."""

from collections.abc import Mapping

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError


def counted(x: Tensor, mask: Tensor | None) -> Tensor:
    """``x`` where the mask is True; elsewhere 0, in value and gradient, whatever stands there.

    It must come before anything that is not linear: what is NaN or infinite in a value that is
    thrown away afterwards would still be NaN in the gradient.
    """
    return x if mask is None else torch.where(mask, x, 0.0)


def require_alike(**tensors: Tensor | None) -> None:
    """Refuse tensors of different shapes, and a mask that is not boolean; None is left out."""
    given = {name: value for name, value in tensors.items() if value is not None}
    mask = given.get("mask")
    if mask is not None and mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, got {found}; True = counts")
    if len({value.shape for value in given.values()}) > 1:
        found = ", ".join(f"{name} {tuple(value.shape)}" for name, value in given.items())
        raise InputError(f"the shapes differ: {found}; they must be the same")


def require_columns(batch: Mapping[str, Tensor], reader: str, *names: str) -> None:
    """Refuse a batch in which a column is missing that ``reader`` needs."""
    missing = [name for name in names if name not in batch]
    if missing:
        found = ", ".join(sorted(batch)) or "nothing"
        raise InputError(f"{reader} needs {', '.join(missing)}, and the batch has {found}")


def require_row_each(numbers: Tensor, rows: Tensor, name: str) -> None:
    """Refuse ``numbers`` that are not one for each row of ``rows``."""
    if numbers.shape != rows.shape[:1]:
        raise InputError(
            f"{name} has shape {tuple(numbers.shape)}, expected ({len(rows)},): one a sequence"
        )


def require_finite(x: Tensor, name: str, *axes: str) -> None:
    """Refuse NaN and infinity; the message names the first by the axes' names."""
    bad = ~x.detach().isfinite()
    if bad.any():
        where = bad.nonzero()[0].tolist()
        place = ", ".join(f"{axis} {i}" for axis, i in zip(axes, where, strict=True))
        value = float(x.detach()[tuple(where)])
        raise InputError(f"{name} of {place} is {value}; it must be a finite number")
