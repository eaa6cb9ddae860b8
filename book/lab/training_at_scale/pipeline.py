"""Layers on several ranks, one after the other, kept busy by micro-batches."""

from collections.abc import Callable, Sequence

import torch
import torch.distributed as dist
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.train.distributed import rank, ranks


def bubble_fraction(stages: int, micro_batches: int) -> float:
    """Share of the time that a stage waits, if all take equally long.

    Implements eq-scale-bubble::

        (p - 1) / (m + p - 1)

    Args:
        stages: p, each on a device of its own.
        micro_batches: m.

    Raises:
        ConfigError: If a number is not positive.
    """
    for name, value in (("stages", stages), ("micro_batches", micro_batches)):
        if value < 1:
            raise ConfigError(f"{name}={value} must be positive")
    return (stages - 1) / (micro_batches + stages - 1)


def pipeline_step(
    stage: nn.Module,
    inputs: Sequence[Tensor],
    losses: Sequence[Callable[[Tensor], Tensor]],
    like: Tensor,
) -> float:
    """Forward and backward through all stages; leaves the gradient of this rank's stage.

    Rank 0 holds the first stage and reads ``inputs``; the last rank holds the last stage and
    reads ``losses``. Between two stages go activations forward and their gradients back.

    Args:
        stage: The layers of this rank.
        inputs: One micro-batch after the other.
        losses: For each, the output of the last stage to its loss, summed.
        like: A tensor of the shape and dtype of what goes from stage to stage.

    Returns:
        The sum of the losses on the last rank, 0 on the others.
    """
    received, sent, total = [], [], 0.0
    for x, loss in zip(inputs, losses, strict=True):
        x = x if rank() == 0 else take(like, rank() - 1).requires_grad_()
        y = stage(x)
        if rank() == ranks() - 1:
            y = loss(y)
            total += float(y.detach())
        else:
            dist.send(y.detach().contiguous(), rank() + 1)
        received.append(x)
        sent.append(y)
    for x, y in zip(reversed(received), reversed(sent), strict=True):
        y.backward(None if rank() == ranks() - 1 else take(y, rank() + 1))
        if rank() > 0:
            dist.send(x.grad.contiguous(), rank() - 1)  # type: ignore[union-attr]
    return total


def take(like: Tensor, source: int) -> Tensor:
    """A tensor of the shape of ``like`` that rank ``source`` sent."""
    values = torch.empty_like(like, requires_grad=False)
    dist.recv(values, source)
    return values
