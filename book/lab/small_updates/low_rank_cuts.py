"""What is left of a tuned model when the updates of its matrices are cut to a low rank."""

from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from torch import Tensor, nn

from mathlm.models import GPT
from mathlm.train import next_token
from mathlm.train.objectives import Batch

Change = Callable[[Tensor], Tensor]


@torch.no_grad()
def mean_loss(model: nn.Module, batches: Sequence[Batch]) -> float:
    """Cross-entropy over the targets of all batches [nats/target]."""
    model.eval()
    parts = [next_token(model, batch) for batch in batches]
    return sum(float(loss) for loss, _ in parts) / sum(count for _, count in parts)


def matrices(model: GPT) -> dict[str, Tensor]:
    """The matrices of the blocks by name."""
    named = model.blocks.named_parameters()
    return {f"blocks.{n}".removesuffix(".weight"): p.detach() for n, p in named if p.ndim == 2}


def first(update: Tensor, rank: int) -> Tensor:
    """The matrix of a rank that is nearest to an update."""
    U, sigma, Vt = torch.linalg.svd(update, full_matrices=False)
    return (U[:, :rank] * sigma[:rank]) @ Vt[:rank]


def on_random(update: Tensor, rank: int, generator: torch.Generator) -> Tensor:
    """What an update does to so many random directions of its inputs."""
    drawn = torch.randn(update.shape[1], rank, generator=generator)
    Q, _ = torch.linalg.qr(drawn.to(update.device))
    return update @ Q @ Q.T


@torch.no_grad()
def loss_with(tuned: GPT, base: GPT, change: Change, batches: Sequence[Batch]) -> float:
    """Loss of the tuned model with the update of every matrix of its blocks changed."""
    model, start = deepcopy(tuned), matrices(base)
    for name, w in matrices(model).items():
        w.copy_(start[name] + change(w - start[name]))
    return mean_loss(model, batches)


def cut(
    tuned: GPT, base: GPT, batches: Sequence[Batch], ranks: Sequence[int]
) -> dict[str, Any]:
    """Losses with updates of each rank, and shares of what these matrices gain.

    Embeddings and gains stay tuned: 0 is the loss with no update of the matrices, 1 with all.
    """
    source = torch.Generator().manual_seed(0)
    none, whole = (loss_with(tuned, base, lambda d, s=s: s * d, batches) for s in (0.0, 1.0))

    def losses(change: Callable[[Tensor, int], Tensor]) -> list[float]:
        made = [loss_with(tuned, base, lambda d, k=k: change(d, k), batches) for k in ranks]
        return [none, *made]

    best, chance = losses(first), losses(lambda d, k: on_random(d, k, source))
    return {
        "ranks": [0, *ranks],
        "loss": best,
        "whole": whole,
        "kept": [(none - loss) / (none - whole) for loss in best],
        "random": [(none - loss) / (none - whole) for loss in chance],
    }
