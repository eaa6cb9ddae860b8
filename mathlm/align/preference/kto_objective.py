"""Learning from single judged answers, as an objective of a trainer."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...shapes import Float
from ...train.batches import Batch
from ...train.objectives import IGNORED
from ..answers import LogProbabilities, target_log_probabilities
from ..masks import require_columns
from ..reference_model import require_trained
from .kto import kto_loss, mismatched_kl
from .preference_losses import implicit_reward


@dataclass(frozen=True, kw_only=True)
class KTO:
    """:func:`kto_loss` of judged answers, in batches of :class:`JudgedBatches`.

    The reference point is estimated from the rows that are read together, as in the paper. So
    this is the one objective whose gradient depends, through that number, on how a batch is
    cut into micro-batches and over ranks.

    Args:
        read: From model and batch to log-probabilities (B, T) of what is asked.
        beta: β > 0.
        desirable_weight: λ_D >= 0.
        undesirable_weight: λ_U >= 0.
    """

    read: LogProbabilities = target_log_probabilities
    beta: float | int = 0.1
    desirable_weight: float | int = 1.0
    undesirable_weight: float | int = 1.0

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss summed over answers, and their number.

        Raises:
            InputError: If the batch has no log-probabilities of a reference, or is not one of
                judged answers.
        """
        if "logp_ref" not in batch:
            raise InputError(
                "the batch has no logp_ref, and this loss needs it: train on "
                "JudgedBatches(...).with_reference(reference)"
            )
        names = ("ids", "targets", "desirable", "kl_ids", "kl_targets", "kl_logp_ref")
        require_columns(batch, "KTO", *names)
        kl = self.reference_point(model, batch)
        logp = self.read(model, batch).sum(1)
        losses = kto_loss(
            implicit_reward(logp, batch["logp_ref"].to(logp), self.beta),
            batch["desirable"],
            kl,
            self.beta,
            self.desirable_weight,
            self.undesirable_weight,
        )
        require_trained(model, losses)
        return losses.sum(), len(losses)

    @torch.no_grad()
    def reference_point(self, model: nn.Module, batch: Batch) -> Float[Tensor, ""]:
        """Estimate of KL(π ‖ π_ref) from prompts with the answers of others [nats]."""
        other = (batch["kl_targets"] != IGNORED).any(1)
        if not other.any():
            return batch["kl_logp_ref"].new_zeros(())
        rows = {"ids": batch["kl_ids"][other], "targets": batch["kl_targets"][other]}
        logp = self.read(model, rows).sum(1)
        return mismatched_kl(logp, batch["kl_logp_ref"][other].to(logp))
