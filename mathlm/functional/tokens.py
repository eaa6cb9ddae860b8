"""Checks of token ids, made before a device turns a bad one into a crash."""

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Int


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

    Example:
        >>> require_token_ids(torch.tensor([1, 7]), vocab_size=4)
        Traceback (most recent call last):
        mathlm.errors.InputError: token id 7 at [1] is outside 0..3
    """
    require_tensor(ids, name)
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


def require_tensor(ids: object, name: str) -> None:
    """Refuse lists and arrays of NumPy, with the call that makes a tensor of them."""
    if not isinstance(ids, Tensor):
        raise InputTypeError(
            f"{name}s must be a tensor of int64, got a {type(ids).__name__}: "
            "give torch.tensor(ids), of shape (batch, tokens) for a model"
        )


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

    Example:
        >>> require_token_batch(torch.tensor([[1, 2, 3]]), vocab_size=4, context=2)
        Traceback (most recent call last):
        mathlm.errors.InputError: sequence of 3 tokens is longer than the context 2
    """
    require_tensor(ids, "token id")
    if ids.ndim != 2:
        raise InputError(f"ids have shape {tuple(ids.shape)}, expected (batch, tokens)")
    if ids.numel() == 0:
        raise InputError(f"ids are empty, of shape {tuple(ids.shape)}: give at least one token")
    require_token_ids(ids, vocab_size)
    length = past + ids.shape[1]
    if context is not None and length > context:
        raise InputError(f"sequence of {length} tokens is longer than the context {context}")


def document_mask(documents: Tensor) -> Bool[Tensor, "B 1 T T"]:
    """Mask that lets each token see the tokens of its own document; True = may attend.

    Computes::

        mask[b, 1, t, s] = tokens t and s of row b are of one document, which is not padding

    A document is an unbroken run of one number: a number that comes again later is another
    document. The mask does not know of time; a GPT adds the causal order.

    Args:
        documents: Number of the document of each token, (B, T), int64; -1 = padding.

    Returns:
        One mask for all heads; padding sees nothing and is seen by nothing.

    Raises:
        InputError: If the shape is another, or a number is below -1.
        InputTypeError: If the dtype is not int64.

    Example:
        >>> document_mask(torch.tensor([[0, 0, 1]]))[0, 0].int()
        tensor([[1, 1, 0],
                [1, 1, 0],
                [0, 0, 1]], dtype=torch.int32)
    """
    runs = _runs(documents)
    same = runs[:, :, None] == runs[:, None, :]
    return (same & (documents >= 0)[:, :, None])[:, None]


def document_positions(documents: Tensor) -> Int[Tensor, "B T"]:
    """Place of each token in its own document, counted from 0.

    Computes::

        position[b, t] = t - (first place of the run of documents[b] that t is in)

    Args:
        documents: As in :func:`document_mask`.

    Returns:
        Positions [tokens]; 0 at padding.

    Raises:
        InputError, InputTypeError: As :func:`document_mask`.

    Example:
        >>> document_positions(torch.tensor([[0, 0, 1, 1, 1]]))
        tensor([[0, 1, 0, 1, 2]])
    """
    runs = _runs(documents)
    T = documents.shape[1]
    place = torch.arange(T, device=documents.device).expand_as(documents)
    starts = torch.full_like(documents, T).scatter_reduce(1, runs, place, "amin")
    return (place - starts.gather(1, runs)).masked_fill(documents < 0, 0)


def _runs(documents: Tensor) -> Int[Tensor, "B T"]:
    """Number of the run of equal numbers that each token is in."""
    if documents.dtype != torch.int64:
        found = str(documents.dtype).removeprefix("torch.")
        raise InputTypeError(f"documents must be int64, got {found}")
    if documents.ndim != 2 or documents.numel() == 0:
        raise InputError(
            f"documents have shape {tuple(documents.shape)}, expected (batch, tokens), at "
            "least one of each"
        )
    if not torch.compiler.is_compiling() and int(documents.min()) < -1:
        where = (documents < -1).nonzero()[0].tolist()
        raise InputError(
            f"document {int(documents[tuple(where)])} at {where} is below -1, which is padding"
        )
    changes = documents.diff(dim=1, prepend=documents[:, :1]) != 0
    return changes.cumsum(1)
