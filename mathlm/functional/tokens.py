"""Checks of token ids, made before a device turns a bad one into a crash."""

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError


def require_token_ids(ids: Tensor, vocab_size: int, name: str = "token id") -> None:
    """Refuse ids that are not int64 or not in 0 ... vocab_size - 1.

    Skipped inside ``torch.compile``, where a value cannot be looked at.

    Args:
        ids: Token ids of any shape.
        vocab_size: V.
        name: What the ids are called in the message.

    Raises:
        InputTypeError: If the dtype is not int64.
        InputError: If an id is outside; the message names the first one and where it stands.
    """
    if ids.dtype != torch.int64:
        found = str(ids.dtype).removeprefix("torch.")
        raise InputTypeError(f"{name}s must be int64, got {found}; convert them with .long()")
    if ids.numel() == 0 or torch.compiler.is_compiling():
        return
    low, high = torch.stack(ids.aminmax()).tolist()
    if low < 0 or high >= vocab_size:
        where = ((ids < 0) | (ids >= vocab_size)).nonzero()[0].tolist()
        outside = int(ids[tuple(where)])
        raise InputError(f"{name} {outside} at {where} is outside 0..{vocab_size - 1}")
