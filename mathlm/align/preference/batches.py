"""Batches of preference pairs and of unpaired answers, with a reference."""

from collections.abc import Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from ...errors import ConfigError
from ...text import Chat
from ...train.distributed import all_sum, rank, ranks
from ...train.objective_batches import padded
from ...train.objectives import IGNORED, Batch
from ...train.windows import epoch_order
from ..masks import require_finite
from ..reference_model import Reference, require_reference
from .data import EncodedPairs, EncodedUnpaired

AT_ONCE = 32  # conversations that a reference reads together


@runtime_checkable
class Encoding(Protocol):
    """Encoded texts that are known by their number and their hash."""

    def __len__(self) -> int:
        """How many there are."""

    @property
    def sha256(self) -> str:
        """Their hash."""
        ...


class ComparedRows:
    """Rows of encoded texts in batches; what batches of pairs and of unpaired answers share.

    Called with a step, it gives the batch of that step, which depends on nothing else. Each
    epoch visits the rows in an order of its own; the last batch of an epoch may hold fewer.
    Iterated over, it gives each row once, in a fixed order: the way to evaluate.

    Args:
        encoded: The texts.
        batch_size: Rows in a step.
        pad_id: Id at positions without a text; no loss and no gradient depends on it.
        seed: Seed of the order.

    Raises:
        ConfigError: If the size is not positive, a number negative, or nothing is there.
    """

    def __init__(
        self, encoded: Encoding, batch_size: int, *, pad_id: int = 0, seed: int = 0
    ) -> None:
        self._encoded, self.batch_size = encoded, batch_size
        self.pad_id, self.seed = pad_id, seed
        self.logp_ref: Tensor | None = None
        self.reference_sha256: str | None = None
        if batch_size < 1:
            raise ConfigError(f"batch_size={batch_size} must be positive")
        for name in ("pad_id", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)} must not be negative")
        if not len(encoded):
            raise ConfigError("there are no pairs or answers to make batches of")

    @property
    def rows(self) -> int:
        """Rows in an epoch."""
        return len(self._encoded)

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
        """Each row once, in a fixed order."""
        for start in range(0, self.rows, self.batch_size):
            yield self.batch(np.arange(start, min(start + self.batch_size, self.rows)))

    def batch(self, index: np.ndarray) -> Batch:
        """The rows with the numbers ``index``."""
        raise NotImplementedError

    @property
    def sha256(self) -> list[str]:
        """Hashes of the texts and, if there is one, of the reference."""
        reference = [] if self.reference_sha256 is None else [self.reference_sha256]
        return [self._encoded.sha256, *reference]

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the texts themselves."""
        names = ("rows", "batch_size", "pad_id", "seed")
        return {name: getattr(self, name) for name in names}


def asked_rows(chats: list[Chat], pad_id: int) -> Batch:
    """Conversations one below the other, up to the last token before one that is asked for."""
    ends = [int(chat.mask.nonzero()[0][-1]) for chat in chats]
    ids = [chat.ids[:end] for chat, end in zip(chats, ends, strict=True)]
    targets = [
        np.where(chat.mask, chat.ids, IGNORED)[1 : end + 1]
        for chat, end in zip(chats, ends, strict=True)
    ]
    return {"ids": padded(ids, pad_id), "targets": padded(targets, IGNORED)}


def logp_of_rows(chats: list[Chat], reference: Reference, pad_id: int) -> Tensor:
    """Log-probability of what is asked of each conversation, under a reference (N,) [nats].

    Conversations of like lengths are read together; each rank reads some of the batches. They
    are looked at here, once: a reference that gives NaN would spoil every step that reads them.

    Raises:
        InputError: If one is NaN or infinite.
    """
    order = np.argsort([len(chat) for chat in chats], kind="stable")
    parts = [order[start : start + AT_ONCE] for start in range(0, len(order), AT_ONCE)]
    found = torch.zeros(len(chats), dtype=torch.float64, device=reference.device)
    for index in parts[rank() :: ranks()]:
        batch = asked_rows([chats[i] for i in index], pad_id)
        batch = {name: tensor.to(reference.device) for name, tensor in batch.items()}
        found[torch.from_numpy(index)] = reference.log_probabilities(batch).sum(1).double()
    logp = all_sum(found).cpu()
    require_finite(logp, "log-probability under the reference", "row")
    return logp


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

    Example:
        >>> from mathlm.align import encode_pairs
        >>> from mathlm.text import Bytes, ChatFormat, Preference
        >>> asked, form = ({"role": "user", "content": "Hi"},), ChatFormat.named()
        >>> pair = Preference(prompt=asked, chosen="Ho", rejected="Go away")
        >>> encoded = encode_pairs([pair], form, Bytes(form.special), context=64)
        >>> batch = PairBatches(encoded, batch_size=1)(0)
        >>> int((batch["chosen_targets"] != -100).sum())  # "Ho" and the end of the turn
        3
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


class UnpairedBatches(ComparedRows):
    """Unpaired answers in rows, and the same prompts with answers of others.

    A batch has ``ids`` and ``targets`` (B, T), ``desirable`` (B,), bool, ``kl_ids`` and
    ``kl_targets`` (B, T'), rows without a target where no answer to another prompt fits, and
    ``index``; after :meth:`with_reference` also ``logp_ref`` and ``kl_logp_ref`` (B,) [nats].

    Args:
        encoded: The answers.
        batch_size: Answers in a step.
        pad_id: Id at positions without a text.
        seed: Seed of the order.

    Raises:
        ConfigError: If the size is not positive, a number negative, or no answer can be put
            behind another prompt.

    Example:
        >>> from mathlm.align import encode_unpaired
        >>> from mathlm.text import Bytes, ChatFormat, Unpaired
        >>> form, said = ChatFormat.named(), [("Hi", "Ho", True), ("Why?", "No", False)]
        >>> answers = [
        ...     Unpaired(prompt=({"role": "user", "content": asked},), completion=y, label=good)
        ...     for asked, y, good in said
        ... ]
        >>> encoded = encode_unpaired(answers, form, Bytes(form.special), context=64)
        >>> next(iter(UnpairedBatches(encoded, batch_size=2)))["desirable"]
        tensor([ True, False])
    """

    def __init__(
        self, encoded: EncodedUnpaired, batch_size: int, *, pad_id: int = 0, seed: int = 0
    ) -> None:
        super().__init__(encoded, batch_size, pad_id=pad_id, seed=seed)
        self.encoded = encoded
        if not any(encoded.mismatched):
            raise ConfigError(
                f"of {len(encoded)} unpaired answers none fits behind another prompt than "
                "those it was given to, and the divergence is estimated from such: give "
                "answers to more prompts, or a longer context"
            )

    def with_reference(self, reference: Reference) -> "UnpairedBatches":
        """The same batches with the reference's log-probabilities, computed here, once.

        Raises:
            InputTypeError: If it is no :class:`Reference`.
        """
        require_reference(reference)
        new = UnpairedBatches(self.encoded, self.batch_size, pad_id=self.pad_id, seed=self.seed)
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
