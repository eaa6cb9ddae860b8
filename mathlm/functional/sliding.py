"""A text longer than the context, scored so that each token counts once."""

from collections.abc import Callable

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from .loss import token_cross_entropy


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
