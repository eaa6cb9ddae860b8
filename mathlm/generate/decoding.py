"""Text from a model, token by token."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..functional import require_token_ids
from ..models import GPT, Recurrent
from .sampling import draw, token_probabilities


@torch.no_grad()
def generate(
    model: GPT | Recurrent,
    ids: Tensor,
    max_new_tokens: int,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    seed: int | None = None,
    cache: bool = True,
    *,
    mask: Tensor | None = None,
) -> Tensor:
    """Continue each row of ``ids``, each token drawn given all before it.

    Computes::

        y_t ~ p(· | prompt, y_1 … y_{t-1})   for t = 1 … max_new_tokens

    Each row has its own stream of random numbers, made from the seed and the row's number: what
    a row draws does not depend on how many rows there are. The model is in evaluation mode
    meanwhile.

    Args:
        model: The language model.
        ids: Prompts (B, T), int64.
        max_new_tokens: Tokens to add to each row.
        temperature: Divides the logits; 0 takes the likeliest token.
        top_k: Draw from the k likeliest tokens; None = from all.
        top_p: Draw from the fewest tokens of this joint probability; None = from all.
        seed: Of the random numbers; None = fresh ones.
        cache: Whether keys and values, or the state of a recurrent model, are kept, rather than
            computed again for each token.
        mask: True where a prompt token is real, (B, T); padding may be on either side. New
            tokens follow at the end.

    Returns:
        Ids with the prompt in front, (B, T + max_new_tokens).

    Raises:
        InputError: If the prompt is empty, prompt and new tokens are together longer than the
            context (nothing slides out of it), or an option is out of range.
    """
    _require_prompt(model, ids, max_new_tokens, mask)
    streams = [
        np.random.default_rng(None if seed is None else (seed, i)) for i in range(len(ids))
    ]
    store = model.new_cache(len(ids), ids.shape[1] + max_new_tokens) if cache else None
    with evaluating(model):
        for _ in range(max_new_tokens):
            new = ids if store is None else ids[:, store.length :]
            logits = last_real(model(new, mask=mask, cache=store), mask)
            p = token_probabilities(logits, temperature, top_k, top_p)
            u = torch.tensor([s.random(dtype=np.float32) for s in streams], device=p.device)
            ids = torch.cat((ids, draw(p, u).unsqueeze(1)), 1)
            mask = None if mask is None else torch.cat((mask, mask.new_ones(len(ids), 1)), 1)
    return ids


@contextmanager
def evaluating(model: torch.nn.Module) -> Iterator[None]:
    """Evaluation mode inside, and each module's own mode again afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        yield
    finally:
        for module, mode in modes:
            module.training = mode


def last_real(logits: Tensor, mask: Tensor | None) -> Tensor:
    """Logits (B, V) behind the last real token of each row."""
    if mask is None:
        return logits[:, -1]
    T = logits.shape[1]
    places = torch.arange(T, device=mask.device) * mask[:, -T:]  # 0 where padded
    return logits[torch.arange(len(logits), device=mask.device), places.amax(1)]


def _require_prompt(
    model: GPT | Recurrent, ids: Tensor, max_new_tokens: int, mask: Tensor | None
) -> None:
    if ids.ndim != 2 or ids.numel() == 0:
        raise InputError(
            f"prompt has shape {tuple(ids.shape)}: give (batch, tokens), 1 or more"
        )
    require_token_ids(ids, model.config.vocab_size)
    if max_new_tokens < 0:
        raise InputError(f"max_new_tokens={max_new_tokens} must not be negative")
    total, context = ids.shape[1] + max_new_tokens, model.config.context
    if context is not None and total > context:
        raise InputError(
            f"{ids.shape[1]} prompt tokens and {max_new_tokens} new ones make a sequence of "
            f"{total} tokens, longer than the context {context}"
        )
    if mask is not None and mask.shape != ids.shape:
        raise InputError(
            f"mask {tuple(mask.shape)} must have the shape of ids {tuple(ids.shape)}"
        )
    if mask is not None and not mask.any(1).all():
        row = int((~mask.any(1)).nonzero()[0])
        raise InputError(f"row {row} of the prompt has no real token")
