"""What the functions that change a model ask of their arguments."""

from typing import Any

import torch
from torch import nn

from ..errors import InputError, InputTypeError


def require_model(model: Any) -> None:
    """Refuse what is no model."""
    if not isinstance(model, nn.Module):
        raise InputTypeError(f"model is a {type(model).__name__}: give a torch.nn.Module")


def require_flag(what: str, value: Any) -> None:
    """Refuse what is neither True nor False: a word such as "no" would count as True."""
    if not isinstance(value, bool):
        raise InputTypeError(f"{what}={value!r} must be True or False")


def drawn_by(seed: Any) -> torch.Generator | None:
    """A generator on the CPU with this seed; None = torch's own.

    Raises:
        InputTypeError: If the seed is no whole number.
        InputError: If it is outside of what a generator takes.
    """
    if seed is None:
        return None
    if type(seed) is not int:
        raise InputTypeError(f"seed={seed!r} must be a whole number, or None")
    if not -(2**63) <= seed < 2**64:
        raise InputError(f"seed={seed} is outside -2^63 ... 2^64 - 1: give a smaller one")
    return torch.Generator().manual_seed(seed)
