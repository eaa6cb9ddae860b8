"""Batches of single judged answers, and of the same prompts with answers of others."""

import numpy as np
import torch

from ...errors import ConfigError
from ...train.batches import Batch
from ...train.objectives import IGNORED
from ..reference_model import Reference, require_reference
from .compared_rows import ComparedRows, asked_rows, logp_of_rows
from .judged_texts import EncodedJudged


class JudgedBatches(ComparedRows):
    """Judged answers in rows, and the same prompts with answers of others.

    A batch has ``ids`` and ``targets`` (B, T), ``desirable`` (B,), bool, ``kl_ids`` and
    ``kl_targets`` (B, T'), rows without a target where no other answer fits, and ``index``;
    after :meth:`with_reference` also ``logp_ref`` and ``kl_logp_ref`` (B,) [nats].

    Args:
        encoded: The answers.
        batch_size: Answers in a step.
        pad_id: Id at positions without a text.
        seed: Seed of the order.

    Raises:
        ConfigError: If the size is not positive, a number negative, or no answer can be put
            behind the prompt of another.
    """

    def __init__(
        self, encoded: EncodedJudged, batch_size: int, *, pad_id: int = 0, seed: int = 0
    ) -> None:
        super().__init__(encoded, batch_size, pad_id=pad_id, seed=seed)
        self.encoded = encoded
        if not any(encoded.mismatched):
            raise ConfigError(
                f"of {len(encoded)} judged answers none fits behind the prompt of another, and "
                "the divergence is estimated from such: give more of them, or a longer context"
            )

    def with_reference(self, reference: Reference) -> "JudgedBatches":
        """The same batches with the reference's log-probabilities, computed here, once.

        Raises:
            InputTypeError: If it is no :class:`Reference`.
        """
        require_reference(reference)
        new = JudgedBatches(self.encoded, self.batch_size, pad_id=self.pad_id, seed=self.seed)
        own, others = self.encoded.chats, self.encoded.mismatched
        there = [i for i, chat in enumerate(others) if chat is not None]
        rows = own + [chat for chat in others if chat is not None]
        logp = logp_of_rows(rows, reference, self.pad_id)
        new.logp_ref = logp.new_zeros(2, len(own))
        new.logp_ref[0], new.logp_ref[1, there] = logp[: len(own)], logp[len(own) :]
        new.reference_sha256 = reference.sha256
        return new

    def batch(self, index: np.ndarray) -> Batch:
        """The answers with the numbers ``index``."""
        rows = torch.from_numpy(index.astype(np.int64))
        own = [self.encoded.chats[i] for i in index]
        others = [self.encoded.mismatched[i] for i in index]
        labels = torch.tensor([self.encoded.labels[i] for i in index])
        batch = asked_rows(own, self.pad_id) | {"desirable": labels, "index": rows}
        near = [one if one is not None else own[i] for i, one in enumerate(others)]
        asked = asked_rows(near, self.pad_id)
        alone = torch.tensor([one is None for one in others])
        asked["targets"][alone] = IGNORED
        batch |= {f"kl_{key}": tensor for key, tensor in asked.items()}
        if self.logp_ref is not None:
            batch |= {"logp_ref": self.logp_ref[0, rows], "kl_logp_ref": self.logp_ref[1, rows]}
        return batch
