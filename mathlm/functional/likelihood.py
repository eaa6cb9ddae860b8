"""Documents of unequal length, scored so that neither batch nor padding can be seen."""

import math
from collections.abc import Callable, Sequence
from typing import Literal

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Int
from .loss import token_cross_entropy

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

    Example:
        >>> ids, mask, targets = pad_documents([torch.tensor([5, 6, 7]), torch.tensor([8, 9])])
        >>> ids[:, 0], targets
        (tensor([5, 8]), tensor([[   6,    7],
                [   9, -100]]))
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
    return math.exp(mean) if mean <= math.log(torch.finfo(torch.float64).max) else math.inf


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


@torch.no_grad()
def strided_likelihood(
    model: Callable[[Tensor], Tensor],
    ids: Tensor,
    context: int,
    stride: int,
    *,
    mask: Tensor | None = None,
    batch_size: int = 32,
) -> tuple[float, int]:
    """Surprise of a text, read through a window that moves on by ``stride`` tokens.

    Implements eq-strided-likelihood::

        Σ_t -log p(x_t | x_{s(t)} … x_{t-1}),   s(t) = first token of the window that scores t

    Window number i reads ``context`` tokens from i · stride on and scores those predictions
    that no window before it has scored. Each token but the first is scored once. One that is
    not in the first window has at least context - stride + 1 tokens before it; with
    ``stride = context`` the windows tile the text and some have a single one. The cost grows
    as context / stride.

    Args:
        model: From ids (B, T) to logits (B, T, V) of the token after each.
        ids: Token ids of one text, (T,), int64, two or more.
        context: Tokens that a window reads.
        stride: Tokens from the start of a window to that of the next, 1 … context.
        mask: True where a token is real, (T,); others are taken out, wherever they are.
        batch_size: Windows read at once.

    Returns:
        Surprise [nats], summed over the tokens, and their number.

    Raises:
        InputError: If there are fewer than two tokens, a size is out of range, or the mask does
            not fit.
        InputTypeError: If a dtype is wrong.

    Example:
        >>> def model(ids):  # four tokens, all alike
        ...     return torch.zeros(ids.shape + (4,))
        >>> ids = torch.tensor([0, 1, 2, 3, 0])
        >>> total, count = strided_likelihood(model, ids, context=4, stride=2)
        >>> round(total / count, 4), count  # ln 4
        (1.3863, 4)
    """
    ids = _real_tokens(ids, mask)
    if not 1 <= stride <= context or batch_size < 1:
        raise InputError(
            f"stride={stride} must be in 1..context={context}, and batch_size={batch_size} at "
            "least 1"
        )
    nats, scored = 0.0, 0
    for starts in torch.arange(0, _last_start(len(ids), context, stride) + 1, stride).split(
        batch_size
    ):
        for group in _equal_lengths(starts, len(ids), context):
            length = min(context, len(ids) - 1 - int(group[0]))
            at = group[:, None].to(ids.device) + torch.arange(length, device=ids.device)
            new = at >= torch.where(group > 0, group + context - stride, 0)[:, None].to(
                ids.device
            )
            loss = token_cross_entropy(model(ids[at]), ids[at + 1].masked_fill(~new, -100))
            nats, scored = nats + loss.double().sum().item(), scored + int(new.sum())
    return nats, scored


def _last_start(tokens: int, context: int, stride: int) -> int:
    """Start of the window that reaches the end of the text."""
    beyond = max(0, tokens - 1 - context)
    return -(-beyond // stride) * stride


def _equal_lengths(starts: Tensor, tokens: int, context: int) -> list[Tensor]:
    """The windows in groups of one length: the last may be shorter."""
    full = starts + context <= tokens - 1
    return [group for group in (starts[full], starts[~full]) if len(group)]


def _real_tokens(ids: Tensor, mask: Tensor | None) -> Tensor:
    if ids.dtype != torch.int64:
        raise InputTypeError(f"token ids must be int64, got {ids.dtype}")
    if ids.ndim != 1:
        raise InputError(f"ids have shape {tuple(ids.shape)}, expected one text, (tokens,)")
    if mask is not None:
        if mask.dtype != torch.bool:
            raise InputTypeError(f"mask must be bool, True = real token, got {mask.dtype}")
        if mask.shape != ids.shape:
            raise InputError(
                f"mask {tuple(mask.shape)} must have the shape of ids {tuple(ids.shape)}"
            )
        ids = ids[mask]
    if len(ids) < 2:
        raise InputError(f"{len(ids)} tokens: there is none that another stands before")
    return ids
