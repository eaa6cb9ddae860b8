"""Training that is pulled back to where it began."""

from dataclasses import InitVar, dataclass, field

import torch
from torch import Tensor, nn

from ..errors import ConfigError, InputError
from ..optim.shards import is_sharded
from ..train import bare
from ..train.batches import Batch
from ..train.frozen import tensors_sha256
from ..train.objectives import Objective


@dataclass(frozen=True)
class TowardsStart:
    """An objective, and a penalty on the distance from the weights of the start.

    Implements eq-tune-towards::

        (L + n λ Σ (θ - θ₀)², n),   objective(model, batch) = (L, n)

    over the trained parameters, so that the mean over the n targets is the mean loss plus
    λ ‖θ - θ₀‖²: it does not depend on how a batch is cut. λ counts in nats a target; the pull
    on a weight is 2 λ (θ - θ₀). In evaluation mode only the loss counts, so that a held-out
    loss can be compared with that of other runs.

    Of a model with adapters the numbers of the adapters are pulled, not their product.

    Args:
        objective: From model and batch to a loss summed over targets, and their number.
        model: As it is at the start. The trained parameters are copied.
        weight: λ, at least 0 [nats per target].

    Attributes:
        start_sha256: Of θ₀; a run is resumed with the same start only.

    Raises:
        ConfigError: If the weight is negative or not finite, no parameter is trained, or the
            model is sharded: a rank then holds a part of each weight only.
    """

    objective: Objective
    model: InitVar[nn.Module]
    weight: float | int
    start_sha256: str = field(init=False)

    def __post_init__(self, model: nn.Module) -> None:
        if not 0 <= self.weight < float("inf"):
            raise ConfigError(f"weight={self.weight} must be at least 0 and finite")
        trained = _trained(model)
        if not trained:
            raise ConfigError("no parameter of the model is trained: nothing can be pulled")
        start = {name: p.detach().clone() for name, p in trained.items()}
        object.__setattr__(self, "start", start)
        object.__setattr__(self, "start_sha256", tensors_sha256(start))

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over targets, with their share of the penalty; their number."""
        loss, count = self.objective(model, batch)
        if model.training and self.weight:
            loss = loss + count * self.weight * self.distance(model).to(loss.dtype)
        return loss, count

    def distance(self, model: nn.Module) -> Tensor:
        """‖θ - θ₀‖², with gradients in θ.

        Raises:
            InputError: If the model trains other parameters than at the start.
        """
        now, start = _trained(model), self._start()
        if now.keys() != start.keys():
            other = sorted(now.keys() ^ start.keys())
            raise InputError(
                f"{len(other)} parameters are trained now but were not at the start, or the "
                f"other way, first {other[0]}: make TowardsStart after freezing and adding"
            )
        for name, p in now.items():
            start[name] = start[name].to(p.device)  # the trainer may have moved the model
        squares = [(_wide(p) - _wide(start[name])).square().sum() for name, p in now.items()]
        return torch.stack(squares).sum()

    def _start(self) -> dict[str, Tensor]:
        return self.__dict__["start"]


def _trained(model: nn.Module) -> dict[str, nn.Parameter]:
    """The parameters that are trained, by name, each in one piece."""
    found = {n: p for n, p in bare(model).named_parameters() if p.requires_grad}
    if cut := [name for name, p in found.items() if is_sharded(p)]:
        raise ConfigError(
            f"{cut[0]} is sharded: TowardsStart needs whole weights, parallel 'sum' or 'ddp'"
        )
    return found


def _wide(x: Tensor) -> Tensor:
    """``x`` in 32 bits at least."""
    return x.float() if x.itemsize < 4 else x


__all__ = ["TowardsStart"]
