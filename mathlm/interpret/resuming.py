"""A GPT that goes on from the stream in front of one of its blocks."""

from typing import Any

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..layers import AlibiPosition, RelativePosition, RotaryPosition, Taps
from ..models import GPT
from ..shapes import Float
from .steering import require_unsteered


def resumed(
    model: GPT, x: Float[Tensor, "B T D"], layer: int, taps: Taps | None = None
) -> Float[Tensor, "B T V"]:
    """Logits from the stream in front of block ``layer``, which alone is given the taps."""
    attend = attend_terms(model, x.shape[1])
    for i, block in enumerate(model.blocks[layer:]):
        x = block(x, taps=None if i else taps, **attend)
    return model.head(model.final_norm(x))


def attend_terms(model: GPT, length: int) -> dict[str, Any]:
    """What attention needs to know of the positions of a text without padding."""
    require_unsteered(model)
    if model.virtual is not None:
        raise InputError(
            "the model has a prefix or a prompt before every text: remove_adapters(model) "
            "takes it away"
        )
    places = torch.arange(length, device=next(model.parameters()).device)
    if isinstance(model.position, RotaryPosition):
        return {"rotation": model.position(places)}
    if isinstance(model.position, AlibiPosition | RelativePosition):
        return {"bias": model.position(places, places)}
    return {}


def require_pairs(clean_ids: Tensor, corrupt_ids: Tensor) -> None:
    """Refuse prompts whose tokens do not stand opposite each other."""
    for ids in (clean_ids, corrupt_ids):
        if not isinstance(ids, Tensor):
            raise InputTypeError(f"ids must be a tensor (B, T), got {type(ids).__name__}")
    if clean_ids.shape != corrupt_ids.shape or clean_ids.ndim != 2:
        raise InputError(
            f"clean_ids {tuple(clean_ids.shape)} and corrupt_ids {tuple(corrupt_ids.shape)} "
            "must both be (B, T): a value is put in the place of the one at the same position, "
            "so a pair of prompts must have as many tokens"
        )
