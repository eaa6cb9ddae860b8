"""Batches of pairs: two answers to one prompt in each row."""

import numpy as np
import torch

from ...train.batches import Batch
from ..reference_model import Reference, require_reference
from .compared_rows import ComparedRows, asked_rows, logp_of_rows
from .preference_pairs import EncodedPairs

SIDES = ("chosen", "rejected")


class PairBatches(ComparedRows):
    """Pairs in rows, of which only the answers and the ends of their turns are asked.

    A batch has ``chosen_ids`` and ``chosen_targets`` (B, T), ``rejected_ids`` and
    ``rejected_targets`` (B, T'), each as wide as its longest needs, and ``index`` (B,), the
    number of each pair; after :meth:`with_reference` also ``chosen_logp_ref`` and
    ``rejected_logp_ref`` (B,) [nats].

    Called with a step, it gives the batch of that step, which depends on nothing else. Each
    epoch visits the pairs in an order of its own; the last batch of an epoch may hold fewer.
    Iterated over, it gives each pair once, in a fixed order: the way to evaluate.

    Args:
        encoded: The pairs.
        batch_size: Pairs in a step.
        pad_id: Id at positions without a text; no loss and no gradient depends on it.
        seed: Seed of the order.

    Raises:
        ConfigError: If the size is not positive, a number negative, or there are no pairs.
    """

    def __init__(
        self, encoded: EncodedPairs, batch_size: int, *, pad_id: int = 0, seed: int = 0
    ) -> None:
        super().__init__(encoded, batch_size, pad_id=pad_id, seed=seed)
        self.encoded = encoded

    def with_reference(self, reference: Reference) -> "PairBatches":
        """The same batches with the reference's log-probabilities of both answers.

        They are computed once, here, for every pair; each rank of a distributed run computes
        its share. They do not depend on which pairs share a batch.

        Raises:
            InputTypeError: If it is no :class:`Reference`.
        """
        require_reference(reference)
        new = PairBatches(self.encoded, self.batch_size, pad_id=self.pad_id, seed=self.seed)
        rows = self.encoded.chosen + self.encoded.rejected
        new.logp_ref = logp_of_rows(rows, reference, self.pad_id).unflatten(0, (2, -1))
        new.reference_sha256 = reference.sha256
        return new

    def batch(self, index: np.ndarray) -> Batch:
        """The pairs with the numbers ``index``."""
        rows = torch.from_numpy(index.astype(np.int64))
        batch = {"index": rows}
        for i, name in enumerate(SIDES):
            side = getattr(self.encoded, name)
            asked = asked_rows([side[j] for j in index], self.pad_id)
            batch |= {f"{name}_{key}": tensor for key, tensor in asked.items()}
            if self.logp_ref is not None:
                batch[f"{name}_logp_ref"] = self.logp_ref[i, rows]
        return batch
