"""What to minimize: ``objective(model, batch) -> (loss summed over targets, their number)``.

The sum and the number are returned apart, so that the caller can divide once, by all targets of
a step, however they are split into micro-batches and over ranks.
"""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from ..errors import InputTypeError
from ..functional import cross_entropy
from .batches import Batch

Objective = Callable[[nn.Module, Batch], tuple[Tensor, int]]
IGNORED = -100


def next_token(model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
    """Cross-entropy of each token given those before it, summed over the targets.

    Implements eq-next-token::

        (-Σ log p(targetₜ | ids₁ … idsₜ), number of targets)

    Targets equal to -100 do not count; a batch without others has the loss 0.

    Args:
        model: From ``ids`` (B, T) to logits (B, T, V).
        batch: ``ids`` and ``targets``, both (B, T); ``targets`` is the text shifted by one.

    Returns:
        Loss [nats], summed over targets, and how many targets there are.

    Raises:
        InputError: If the logits and ``targets`` differ in shape.
        InputTypeError: If the ids or targets are not int64.
    """
    ids, targets = batch["ids"], batch["targets"]
    for name, value in (("token ids", ids), ("targets", targets)):
        if value.dtype != torch.int64:
            found = str(value.dtype).removeprefix("torch.")
            raise InputTypeError(f"{name} must be int64, got {found}")
    loss, count = cross_entropy(model(ids), targets, ignore_index=IGNORED, empty="zero")
    return loss, int(count)
