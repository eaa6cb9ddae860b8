"""Batches of pairs as a pure function of the seed and the step, and what a reference says."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..errors import ConfigError
from ..text import Chat
from ..train.batches import Batch
from ..train.data import epoch_order
from ..train.distributed import all_sum, rank, ranks
from ..train.objective_batches import padded
from ..train.objectives import IGNORED
from .preference_pairs import EncodedPairs
from .reference_model import Reference, require_reference

SIDES = ("chosen", "rejected")
AT_ONCE = 16  # pairs that a reference reads together


class PairBatches:
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
        self.encoded, self.batch_size = encoded, batch_size
        self.pad_id, self.seed = pad_id, seed
        self.logp_ref: Tensor | None = None
        self.reference_sha256: str | None = None
        if batch_size < 1:
            raise ConfigError(f"batch_size={batch_size} must be positive")
        for name in ("pad_id", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)} must not be negative")
        if not len(encoded):
            raise ConfigError("there are no pairs to make batches of")

    def with_reference(self, reference: Reference) -> "PairBatches":
        """The same batches with the reference's log-probabilities of both answers.

        They are computed once, here, for every pair; each rank of a distributed run computes
        its share. They do not depend on which pairs share a batch.

        Raises:
            InputTypeError: If it is no :class:`Reference`.
        """
        require_reference(reference)
        new = PairBatches(self.encoded, self.batch_size, pad_id=self.pad_id, seed=self.seed)
        new.logp_ref = reference_log_probabilities(self, reference)
        new.reference_sha256 = reference.sha256
        return new

    @property
    def rows(self) -> int:
        """Pairs in an epoch."""
        return len(self.encoded)

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch; the last may be smaller."""
        return -(-self.rows // self.batch_size)

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``."""
        epoch, i = divmod(step, self.steps_per_epoch)
        order = epoch_order(self.rows, self.seed, epoch)
        return self.batch(order[i * self.batch_size : (i + 1) * self.batch_size])

    def __iter__(self) -> Iterator[Batch]:
        """Each pair once, in a fixed order."""
        for start in range(0, self.rows, self.batch_size):
            yield self.batch(np.arange(start, min(start + self.batch_size, self.rows)))

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

    @property
    def sha256(self) -> list[str]:
        """Hashes of the pairs and, if there is one, of the reference."""
        reference = [] if self.reference_sha256 is None else [self.reference_sha256]
        return [self.encoded.sha256, *reference]

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the pairs themselves."""
        names = ("batch_size", "pad_id", "seed")
        return {"pairs": self.rows, "tokens": self.encoded.tokens} | {
            name: getattr(self, name) for name in names
        }


def asked_rows(chats: list[Chat], pad_id: int) -> Batch:
    """Conversations one below the other, up to the last token before one that is asked for."""
    ends = [int(chat.mask.nonzero()[0][-1]) for chat in chats]
    ids = [chat.ids[:end] for chat, end in zip(chats, ends, strict=True)]
    targets = [
        np.where(chat.mask, chat.ids, IGNORED)[1 : end + 1]
        for chat, end in zip(chats, ends, strict=True)
    ]
    return {"ids": padded(ids, pad_id), "targets": padded(targets, IGNORED)}


def side_of(batch: Batch, name: str) -> Batch:
    """One side of a batch of pairs, as a batch of conversations."""
    return {"ids": batch[f"{name}_ids"], "targets": batch[f"{name}_targets"]}


def reference_log_probabilities(pairs: PairBatches, reference: Reference) -> Tensor:
    """Log-probabilities of all answers, chosen and rejected, (2, pairs) [nats].

    Pairs of like lengths are read together; each rank reads some of the batches.
    """
    both = zip(pairs.encoded.chosen, pairs.encoded.rejected, strict=True)
    lengths = [max(len(chosen), len(rejected)) for chosen, rejected in both]
    order = np.argsort(lengths, kind="stable")
    device = reference.device
    found: Tensor | None = None
    for i, start in enumerate(range(0, len(order), AT_ONCE)):
        index = order[start : start + AT_ONCE]
        if found is not None and i % ranks() != rank():
            continue
        batch = {k: v.to(device) for k, v in pairs.batch(index).items()}
        sides = [reference.log_probabilities(side_of(batch, name)).sum(1) for name in SIDES]
        if found is None:
            found = torch.zeros(2, len(order), dtype=sides[0].dtype)
        if i % ranks() == rank():
            found[:, torch.from_numpy(index)] = torch.stack(sides).cpu()
    assert found is not None
    return all_sum(found.to(device)).cpu()
