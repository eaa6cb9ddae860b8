"""Steps that were laid out before, as long as the model is what it was."""

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from ..layers import LoRALinear
from ..models import GPT
from .decode_step import DecodeStep, decodable

STEPS: WeakKeyDictionary[nn.Module, tuple[Any, DecodeStep]] = WeakKeyDictionary()


def prepared_step(model: nn.Module) -> DecodeStep | None:
    """The :class:`DecodeStep` of a model, laid out anew if the model has changed.

    A second copy of the matrices is kept as long as the model is. Before it is used again every
    weight is read once and summed up, bit for bit: that takes about as long as one token.

    Args:
        model: In evaluation mode.

    Returns:
        The step; None if the model has parts that it does not know.
    """
    if not (isinstance(model, GPT) and decodable(model)):
        return None
    found, state = STEPS.get(model), fingerprint(model)
    if found is None or found[0] != state:
        step = DecodeStep(model)
        found = STEPS[model] = fingerprint(model), step  # quantized codes may have moved
    return found[1]


@torch.no_grad()
def fingerprint(model: nn.Module) -> tuple[Any, ...]:
    """Where each tensor is, how often it was written to, what its bits sum to; and settings."""
    tensors = [*model.parameters(), *model.buffers()]
    held = tuple((id(t), t.data_ptr(), _version(t), _bits(t)) for t in tensors)
    return held, tuple(map(_settings, model.modules()))


def _settings(module: nn.Module) -> tuple[Any, ...]:
    """Numbers and names that a module was told, such as ε or an activation."""
    plain = (int, float, str)
    said = tuple(x for n, x in vars(module).items() if n != "training" and type(x) in plain)
    return (*said, *module.settings.items()) if isinstance(module, LoRALinear) else said


def _version(x: Tensor) -> int:
    return 0 if x.is_inference() else x._version


def _bits(x: Tensor) -> int:
    """The bits of each row as integers, summed; rows in another order give another sum."""
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int32}[x.itemsize]
    x = x.detach().contiguous()
    if x.itemsize < 8 and x.ndim and x.shape[-1] * x.itemsize % 8 == 0:
        words = torch.int64  # by far the fastest; of float64 it would lose even counts of signs
    held = x.reshape(-1).view(words)
    rows = held.view(len(x), -1).sum(-1) if x.ndim > 1 else held.long()
    return int((rows * torch.arange(1, 2 * len(rows), 2, device=rows.device)).sum())
