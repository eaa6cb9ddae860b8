"""Tuning all weights of a model together within few random directions.

How many such directions reach nine tenths of what full tuning gains is called the intrinsic
dimension of the task. The directions are those of a count sketch: every weight belongs to one
of them, with a sign, and those of one direction move by the same amount.

References:
    Li et al. (2018), arXiv:1804.08838 (intrinsic dimension).
    Aghajanyan et al. (2021), arXiv:2012.13255 (of fine-tuning).
"""

from copy import deepcopy

import torch
from torch import Tensor, nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters

from mathlm.errors import InputError
from mathlm.models import GPT
from mathlm.optim import AdamW, warmup_cosine
from mathlm.train import next_token

from .low_rank_data import Text


def as_vector(gradient: Tensor | None) -> Tensor:
    """A gradient as one row."""
    if gradient is None:
        raise InputError("a weight has no gradient: call backward before")
    return gradient.flatten()


class Directions:
    """Random directions through the weights of a model.

    Implements eq-small-subspace::

        θ = θ₀ + P z,   P_ij = ±1 if weight i belongs to direction j, else 0

    Args:
        model: At θ₀; its weights are then set by :meth:`move`.
        size: How many directions.
        seed: Of P.
    """

    def __init__(self, model: nn.Module, size: int, seed: int = 0) -> None:
        source = torch.Generator().manual_seed(seed)
        self.model, self.start = model, parameters_to_vector(model.parameters()).detach()
        of = torch.randint(size, self.start.shape, generator=source)
        sign = torch.randint(2, self.start.shape, generator=source) * 2.0 - 1.0
        self.of, self.sign = of.to(self.start.device), sign.to(self.start.device)
        self.z = nn.Parameter(torch.zeros(size, device=self.start.device))

    def gradient(self) -> Tensor:
        """Gradient of the loss in z, from those of the weights: Pᵀ g."""
        g = torch.cat([as_vector(p.grad) for p in self.model.parameters()])
        return torch.zeros_like(self.z).index_add_(0, self.of, self.sign * g)

    @torch.no_grad()
    def move(self) -> None:
        """Put the weights where z says."""
        place = self.start + self.sign * self.z[self.of]
        vector_to_parameters(place, self.model.parameters())


def tune_within(base: GPT, size: int, data: Text, lr: float, steps: int, seed: int = 0) -> GPT:
    """A copy of the base, tuned as :func:`.low_rank_tuning.tune` does, but along directions."""
    model = deepcopy(base).requires_grad_(True).train()
    directions = Directions(model, size, seed)
    schedule = warmup_cosine(lr, steps // 10, steps, final=lr / 10)
    optimizer = AdamW([directions.z], lr=lr, betas=(0.9, 0.95), weight_decay=0.0)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = schedule(step)
        loss, count = next_token(model, data.training(step))
        model.zero_grad()
        (loss / count).backward()
        directions.z.grad = directions.gradient()
        torch.nn.utils.clip_grad_norm_([directions.z], 1.0)
        optimizer.step()
        directions.move()
    return model.eval()
