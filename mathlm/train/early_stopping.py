"""Early stopping: a run ends where the held-out loss was least."""

import logging
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from ..optim.clipping import local
from .distributed import rank
from .parallel import unwrap

log = logging.getLogger(__name__)
NUMBERS = ("loss", "step", "waited")


class Best:
    """Early stopping: the weights at the best evaluation so far, and how long ago it was.

    Computes::

        θ* = θ at the evaluation of the least held-out loss, the first of equals

    Frozen parameters are not kept, nor buffers of modules that train nothing. Of a sharded
    weight each rank keeps its part.

    Args:
        model: The model, before or after it was distributed.
        patience: Evaluations without a new best after which the run ends.

    Attributes:
        loss: Least held-out loss; None before the first evaluation.
        step: Steps done at that evaluation.
        waited: Evaluations since then.
        values: What was trained, by name, as it was then.
    """

    def __init__(self, model: nn.Module, patience: int) -> None:
        self.model, self.patience = unwrap(model), patience
        self.loss: float | None = None
        self.step, self.waited = 0, 0
        self.values = {name: t.detach().clone() for name, t in self.own().items()}

    def own(self) -> dict[str, Tensor]:
        """Trained parameters, and the saved buffers of their modules; a tied one once."""
        found: dict[str, Tensor] = {
            name: p for name, p in self.model.named_parameters() if p.requires_grad
        }
        saved = self.model.state_dict(keep_vars=True)
        for path, module in self.model.named_modules():
            if any(p.requires_grad for p in module.parameters(recurse=False)):
                names = [
                    f"{path}.{n}".removeprefix(".") for n, _ in module.named_buffers("", False)
                ]
                found |= {name: saved[name] for name in names if name in saved}
        return found

    def consider(self, loss: float, step: int) -> None:
        """Take note of an evaluation; NaN is never best."""
        if loss < (float("inf") if self.loss is None else self.loss):
            self.loss, self.step, self.waited = loss, step, 0
            self.copy(self.own(), self.values)
        else:
            self.waited += 1

    @property
    def is_over(self) -> bool:
        """Whether the patience is used up."""
        return self.waited >= self.patience

    def restore(self, now: int) -> None:
        """Give the model the best weights at the end of a run, if there was an evaluation."""
        if self.loss is None:
            return
        self.copy(self.values, self.own())
        if rank() == 0:
            words = "run of %d steps ends with the weights of step %d, held_out_loss %.6g"
            log.info(words, now, self.step, self.loss)

    def state_dict(self) -> dict[str, Any]:
        """Weights, and numbers under names that no weight has."""
        numbers = {f".{name}": getattr(self, name) for name in NUMBERS}
        return {**self.values, **numbers}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Take what :meth:`state_dict` returned."""
        for name in NUMBERS:
            setattr(self, name, state[f".{name}"])
        self.copy(state, self.values)

    @torch.no_grad()
    def copy(self, source: Mapping[str, Tensor], target: Mapping[str, Tensor]) -> None:
        """Copy what is kept from one place to the other, each rank its part."""
        for name in self.values:
            local(target[name]).copy_(local(source[name]))
