"""What every way of writing asks of its arguments."""

from numbers import Integral

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..functional import require_token_ids
from ..models import GPT, Recurrent


def require_integer(name: str, value: int) -> None:
    """Refuse a number that is not whole."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputTypeError(f"{name}={value!r} must be an integer")


def require_seed(seed: int | None) -> None:
    """Refuse a seed that NumPy would not take."""
    if seed is None:
        return
    require_integer("seed", seed)
    if seed < 0:
        raise InputError(f"seed={seed} must be 0 or more, or None for fresh random numbers")


def require_prompt(
    model: GPT | Recurrent, ids: Tensor, max_new_tokens: int, mask: Tensor | None
) -> None:
    """Refuse a prompt that cannot be continued by so many tokens."""
    if not isinstance(model, GPT | Recurrent):
        raise InputTypeError(
            f"model is a {type(model).__name__}: give a GPT or a Recurrent; an encoder-decoder "
            "goes to translate"
        )
    if not isinstance(ids, Tensor):
        raise InputTypeError(
            f"ids is a {type(ids).__name__}: give an int64 tensor (batch, tokens), such as "
            "torch.tensor([[1, 2, 3]])"
        )
    require_device("ids are", ids, next(model.parameters()).device)
    if ids.ndim != 2 or ids.numel() == 0:
        raise InputError(
            f"prompt has shape {tuple(ids.shape)}: give (batch, tokens), 1 or more"
        )
    require_token_ids(ids, model.config.vocab_size)
    require_integer("max_new_tokens", max_new_tokens)
    if max_new_tokens < 0:
        raise InputError(f"max_new_tokens={max_new_tokens} must not be negative")
    total, context = ids.shape[1] + max_new_tokens, model.config.context
    if context is not None and total > context:
        raise InputError(
            f"{ids.shape[1]} prompt tokens and {max_new_tokens} new ones make a sequence of "
            f"{total} tokens, longer than the context {context}"
        )
    if mask is None:
        return
    require_mask(mask, ids)
    if not mask.any(1).all():
        row = int((~mask.any(1)).nonzero()[0])
        raise InputError(f"row {row} of the prompt has no real token")


def require_mask(mask: Tensor, ids: Tensor) -> None:
    """Refuse what does not say of each token whether it is real."""
    if not isinstance(mask, Tensor):
        raise InputTypeError(
            f"mask is a {type(mask).__name__}: give a bool tensor of the shape of ids "
            f"{tuple(ids.shape)}"
        )
    if mask.shape != ids.shape:
        raise InputError(
            f"mask {tuple(mask.shape)} must have the shape of ids {tuple(ids.shape)}"
        )
    if mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, True = real token, got {found}")


def require_device(which: str, ids: Tensor, device: torch.device) -> None:
    """Refuse ids that are elsewhere than the model."""
    if ids.device != device:
        raise InputError(f"{which} on {ids.device}, the model is on {device}: move one of them")
