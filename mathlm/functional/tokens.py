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


def require_token_batch(
    ids: Tensor, vocab_size: int, context: int | None = None, past: int = 0
) -> None:
    """Refuse ids that are not a batch of sequences which a model can read.

    Args:
        ids: Token ids (B, T), at least one of each.
        vocab_size: V.
        context: Longest sequence [tokens]; None = no limit.
        past: Tokens read before these [tokens].

    Raises:
        InputError: If the shape is another, an id is outside the vocabulary or the sequence is
            longer than the context.
        InputTypeError: If the dtype is not int64.
    """
    if ids.ndim != 2:
        raise InputError(f"ids have shape {tuple(ids.shape)}, expected (batch, tokens)")
    if ids.numel() == 0:
        raise InputError(f"ids are empty, of shape {tuple(ids.shape)}: give at least one token")
    require_token_ids(ids, vocab_size)
    length = past + ids.shape[1]
    if context is not None and length > context:
        raise InputError(f"sequence of {length} tokens is longer than the context {context}")
