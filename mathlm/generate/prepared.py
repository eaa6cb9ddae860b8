"""Steps that were laid out before, as long as the model is what it was."""

from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

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
def fingerprint(model: nn.Module) -> tuple[tuple[int, ...], ...]:
    """Where each tensor is, how often it was written to, and what its bits sum to."""
    tensors = [*model.parameters(), *model.buffers()]
    return tuple((id(t), t.data_ptr(), _version(t), _bits(t)) for t in tensors)


def _version(x: Tensor) -> int:
    return 0 if x.is_inference() else x._version


def _bits(x: Tensor) -> int:
    """The bits of a tensor as integers, summed."""
    words = {1: torch.uint8, 2: torch.int16, 4: torch.int32, 8: torch.int64}[x.itemsize]
    x = x.detach()
    if x.is_contiguous() and x.nbytes % 8 == 0:  # int64 is by far the fastest
        x, words = x.view(-1), torch.int64
    return int(x.view(words).sum())
