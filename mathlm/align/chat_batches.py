"""Batches of conversations as a pure function of the seed and the step."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch

from ..errors import ConfigError, InputError
from ..text import Chat, Packed, pack
from ..train.batches import Batch
from ..train.objective_batches import padded
from ..train.objectives import IGNORED
from ..train.windows import epoch_order
from .sft import Encoded


class ChatBatches:
    """Conversations in rows, of which only the answers and the ends of their turns are asked.

    Packed, the conversations are put into rows of ``context`` tokens once, each in one piece,
    by best fit; ``documents`` tells those of one row apart, and :func:`mathlm.train.next_token`
    lets none see another. Otherwise each row is one conversation, and a batch is as wide as its
    longest. Both ask for the same tokens.

    Called with a step, it gives the batch of that step, which depends on nothing else. Each
    epoch visits the rows in an order of its own; the last batch of an epoch may hold fewer.
    Iterated over, it gives each row once, in a fixed order: the way to evaluate.

    Args:
        encoded: The conversations.
        batch_size: Rows in a step.
        packed: Whether conversations share rows.
        context: Length of a packed row [tokens]; None = that of ``encoded``.
        pad_id: Id at positions without a conversation; no loss and no gradient depends on it.
        seed: Seed of the order.

    Raises:
        ConfigError: If a size is not positive, a number negative, or nothing is to be learned.
        InputError: If a conversation is longer than ``context``.
    """

    def __init__(
        self,
        encoded: Encoded,
        batch_size: int,
        *,
        packed: bool = True,
        context: int | None = None,
        pad_id: int = 0,
        seed: int = 0,
    ) -> None:
        self.encoded, self.batch_size, self.packed = encoded, batch_size, packed
        self.context = encoded.context if context is None else context
        self.pad_id, self.seed = pad_id, seed
        self._check()
        self._packed = _packed(encoded.chats, self.context, pad_id) if packed else None

    def _check(self) -> None:
        for name in ("batch_size", "context"):
            if getattr(self, name) < 1:
                raise ConfigError(f"{name}={getattr(self, name)} must be positive")
        for name in ("pad_id", "seed"):
            if getattr(self, name) < 0:
                raise ConfigError(f"{name}={getattr(self, name)} must not be negative")
        if not self.encoded.chats:
            raise ConfigError("there are no conversations to make batches of")
        longest = max(map(len, self.encoded.chats))
        if longest > self.context:
            raise InputError(
                f"a conversation has {longest} tokens, a row {self.context}: encode the "
                f"conversations with context={self.context}, which drops and counts such"
            )

    @property
    def rows(self) -> int:
        """Rows in an epoch."""
        return len(self.encoded if self._packed is None else self._packed.ids)

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch; the last may be smaller."""
        return -(-self.rows // self.batch_size)

    @property
    def waste(self) -> float:
        """Share of the positions that are padding, in one pass over the rows."""
        return 1 - self.encoded.tokens / sum(batch["ids"].numel() for batch in self)

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``: ``ids``, ``targets``, packed ``documents``, and ``index``."""
        epoch, i = divmod(step, self.steps_per_epoch)
        order = epoch_order(self.rows, self.seed, epoch)
        return self.batch(order[i * self.batch_size : (i + 1) * self.batch_size])

    def __iter__(self) -> Iterator[Batch]:
        """Each row once, in a fixed order."""
        for start in range(0, self.rows, self.batch_size):
            yield self.batch(np.arange(start, min(start + self.batch_size, self.rows)))

    def batch(self, index: np.ndarray) -> Batch:
        """The rows with the numbers ``index``."""
        if self._packed is None:
            batch = _padded([self.encoded.chats[i] for i in index], self.pad_id)
        else:
            rows = self._packed._asdict().items()
            batch = {name: torch.from_numpy(row[index]) for name, row in rows}
        return batch | {"index": torch.from_numpy(index.astype(np.int64))}

    @property
    def sha256(self) -> list[str]:
        """Hash of the conversations."""
        return [self.encoded.sha256]

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the conversations themselves."""
        names = ("batch_size", "packed", "context", "pad_id", "seed")
        return {"chats": len(self.encoded), "tokens": self.encoded.tokens} | {
            name: getattr(self, name) for name in names
        }


def _packed(chats: list[Chat], context: int, pad_id: int) -> Packed:
    """Conversations in rows, with targets where the mask is True.

    Where a document goes depends on its length alone, so that the masks, packed like the ids,
    come to lie on their tokens.
    """
    rows = pack([chat.ids for chat in chats], context, method="best_fit", pad_id=pad_id)
    masks = [chat.mask.astype(np.int64) for chat in chats]
    learned = pack(masks, context, method="best_fit").targets == 1
    return rows._replace(targets=np.where(learned, rows.targets, IGNORED))


def _padded(chats: list[Chat], pad_id: int) -> Batch:
    """Conversations one below the other, filled up to the right."""
    targets = [np.where(chat.mask, chat.ids, IGNORED)[1:] for chat in chats]
    ids = padded([chat.ids for chat in chats], pad_id)
    asked = torch.full_like(ids, IGNORED)
    asked[:, :-1] = padded(targets, IGNORED)
    return {"ids": ids, "targets": asked}
