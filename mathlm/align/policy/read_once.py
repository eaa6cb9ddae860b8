"""Log-probabilities that an iteration and its first step both ask for, read once."""

from dataclasses import dataclass
from functools import update_wrapper

import torch
from torch import Tensor, nn

from ...generate.fused_step import fingerprint
from ...shapes import Float
from ...train.objectives import Batch
from ..answers import LogProbabilities, target_log_probabilities


@dataclass(frozen=True, eq=False)
class Reading:
    """What was read, of which texts, and by which weights."""

    logp: Tensor
    model: nn.Module
    ids: Tensor
    targets: Tensor
    state: tuple[object, ...]

    def answers(self, model: nn.Module, batch: Batch, state: tuple[object, ...]) -> bool:
        """Whether the same is asked of the same weights."""
        return (
            model is self.model
            and state == self.state
            and _same(batch.get("ids"), self.ids)
            and _same(batch.get("targets"), self.targets)
        )


class ReadOnce:
    """Reads log-probabilities, and need not read again what nothing has changed.

    At the first step of an iteration the policy that learns still is the policy that wrote, and
    log π of its texts, of which the loss takes the gradient, is log π_old. Given to the
    rollouts and to the objective, one reader goes through the policy once for both. It looks
    whether the model, its weights, the texts, the temperature and the precision are the same,
    and reads anew if anything is not: at later steps, and for parts of the rollouts. Results
    are those of ``read``; the activations of one reading stay until the step.

    Args:
        read: From model and batch to log-probabilities (B, T), as
            :func:`mathlm.align.target_log_probabilities`.

    Example:
        >>> model = torch.nn.Sequential(torch.nn.Embedding(4, 8), torch.nn.Linear(8, 4))
        >>> batch = {"ids": torch.tensor([[0, 1]]), "targets": torch.tensor([[1, 2]])}
        >>> read = ReadOnce()
        >>> logp_old = read.ahead(model, batch)  # as the rollouts do
        >>> logp = read(model, batch)  # as the loss does: no second pass
        >>> torch.equal(logp, logp_old), logp.requires_grad
        (True, True)
    """

    def __init__(self, read: LogProbabilities = target_log_probabilities) -> None:
        update_wrapper(self, read, updated=())  # a run is described by what reads
        self.read = read
        self._kept: Reading | None = None

    def ahead(
        self, model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
    ) -> Float[Tensor, "B T"]:
        """Read, without a gradient for the caller, and keep it for the loss.

        Returns:
            (B, T) [nats], as ``read`` gives it.
        """
        self._kept = None
        with torch.enable_grad():
            logp = self.read(model, batch, temperature=temperature)
        if logp.requires_grad:
            state = state_of(model, logp.device, temperature)
            ids, targets = batch["ids"].clone(), batch["targets"].clone()
            self._kept = Reading(logp, model, ids, targets, state)
        return logp.detach()

    def __call__(
        self, model: nn.Module, batch: Batch, *, temperature: float | int = 1.0
    ) -> Float[Tensor, "B T"]:
        """Log-probabilities: those kept, if they answer this, which are then given away.

        Returns:
            (B, T) [nats], as ``read`` gives it.
        """
        if torch.is_grad_enabled() and self._kept is not None:
            kept, self._kept = self._kept, None
            if kept.answers(model, batch, state_of(model, kept.logp.device, temperature)):
                return kept.logp
        return self.read(model, batch, temperature=temperature)


def state_of(
    model: nn.Module, device: torch.device, temperature: float | int
) -> tuple[object, ...]:
    """What changes if a reading would: weights and settings, temperature, precision, mode."""
    half = torch.is_autocast_enabled(device.type) and torch.get_autocast_dtype(device.type)
    return float(temperature), half, model.training, fingerprint(model)


def _same(x: Tensor | None, y: Tensor) -> bool:
    return x is not None and x.shape == y.shape and torch.equal(x.to(y.device), y)
