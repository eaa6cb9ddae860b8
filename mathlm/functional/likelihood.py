"""Documents of unequal length, scored so that neither batch nor padding can be seen."""

import math
from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Int

IGNORED = -100


def pad_documents(
    documents: Sequence[Tensor], side: Literal["right", "left"] = "right"
) -> tuple[Int[Tensor, "B T"], Bool[Tensor, "B T"], Int[Tensor, "B T"]]:
    """Documents side by side, with what each position is to predict.

    Computes::

        ids = x_1 … x_{n-1},   targets = x_2 … x_n,   padded to the longest of the batch

    Args:
        documents: Token ids of each document, two or more, int64.
        side: Where the padding goes.

    Returns:
        ids, mask (True where a token is real) and targets (-100 where nothing is predicted);
        T is the length of the longest document, less one.

    Raises:
        InputError: If there are no documents, one is shorter than two tokens, or the side is
            not known.
        InputTypeError: If the ids are not int64.
    """
    _require_documents(documents, side)
    B, T = len(documents), max(len(x) for x in documents) - 1
    device = documents[0].device
    ids = torch.zeros(B, T, dtype=torch.int64, device=device)
    mask = torch.zeros(B, T, dtype=torch.bool, device=device)
    targets = torch.full((B, T), IGNORED, device=device)
    for b, x in enumerate(documents):
        n = len(x) - 1
        real = slice(0, n) if side == "right" else slice(T - n, T)
        ids[b, real], mask[b, real], targets[b, real] = x[:-1], True, x[1:]
    return ids, mask, targets


def perplexity(nats: float | int, count: float | int) -> float:
    """Equally likely tokens that would surprise as much as the text did.

    Implements eq-perplexity::

        PPL = exp(Σ_t -log p(x_t | x_<t) / N)

    Sum and number are two arguments so that they can be added up over batches first: the
    exponential of a mean of batch means is another number.

    Args:
        nats: -log p summed over all targets of all batches [nats].
        count: N, their number.

    Returns:
        PPL, at least 1; infinite beyond the largest float.

    Raises:
        InputError: If count is not positive and finite, or nats is negative or NaN.

    Example:
        >>> round(perplexity(3 * math.log(20), 3), 9)
        20.0
    """
    if not 0 < count < math.inf or not nats >= 0:
        raise InputError(
            f"nats={nats} over count={count} targets: need nats >= 0 and at least one target"
        )
    mean = float(nats) / float(count)
    return math.exp(mean) if mean < math.log(torch.finfo(torch.float64).max) else math.inf


def _require_documents(documents: Sequence[Tensor], side: str) -> None:
    if side not in ("right", "left"):
        raise InputError(f"side={side!r} must be 'right' or 'left'")
    if len(documents) == 0:
        raise InputError("no documents: nothing to pad")
    for b, x in enumerate(documents):
        if not isinstance(x, Tensor):
            raise InputTypeError(f"document {b} is a {type(x).__name__}, expected a tensor")
        if x.dtype != torch.int64:
            raise InputTypeError(f"document {b} has dtype {x.dtype}, expected int64")
        if x.ndim != 1 or len(x) < 2:
            raise InputError(
                f"document {b} has shape {tuple(x.shape)}; it needs 2 tokens in a row, one to "
                "read and one to predict"
            )
