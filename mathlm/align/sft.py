"""Conversations as token ids, and what of them cannot be learned from."""

import hashlib
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch

from ..errors import ConfigError, DataError, InputError, InputTypeError
from ..text import Chat, ChatFormat, ChatTokenizer, Message, Packed, pack
from ..train.objective_batches import padded
from ..train.objectives import IGNORED, Batch
from ..train.windows import epoch_order

logger = logging.getLogger(__name__)
EMPTY, LONG = "empty answer", "longer than the context"
Turns = Iterable[Message | Mapping[str, str]]


@dataclass(frozen=True, kw_only=True, eq=False)
class Encoded:
    """Conversations as a model sees them; what :func:`encode_chats` returns.

    Args:
        chats: Ids and mask of each conversation that was kept, in their order.
        index: Number of each of them among the conversations that were given.
        dropped: How many were left out, by reason.
        mismatches: How many answers are cut into other tokens alone than behind their prompt.
        context: Most tokens that a conversation may have.
    """

    chats: list[Chat]
    index: list[int]
    dropped: dict[str, int]
    mismatches: int
    context: int

    def __len__(self) -> int:
        return len(self.chats)

    @property
    def tokens(self) -> int:
        """Tokens of all conversations."""
        return sum(map(len, self.chats))

    @property
    def targets(self) -> int:
        """Tokens that are learned: those of answers, and the ends of their turns."""
        return sum(int(chat.mask.sum()) for chat in self.chats)

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all ids and masks, as little-endian int64, each behind its length."""
        return chats_sha256(self.chats)


def chats_sha256(chats: Iterable[Chat], more: bytes = b"") -> str:
    """SHA-256 of ids and masks, as little-endian int64, each behind its length, and of more."""
    digest = hashlib.sha256()
    for chat in chats:
        digest.update(len(chat).to_bytes(8, "little"))
        digest.update(chat.ids.astype("<i8").tobytes())
        digest.update(chat.mask.astype("<i8").tobytes())
    digest.update(more)
    return digest.hexdigest()


def encode_chats(
    conversations: Iterable[Turns],
    format: ChatFormat,
    tokenizer: ChatTokenizer,
    context: int,
) -> Encoded:
    """Conversations as ids, with the mask of what is learned of them.

    Every answer of a conversation is learned, and the end of each of its turns; nothing else
    is. A conversation with an answer of nothing but blanks is left out, and so is one that is
    longer than the context: none is ever cut. How many there were is counted and logged, once.

    Args:
        conversations: Each a list of messages that ends with the assistant.
        format: How they are written.
        tokenizer: Has every name of ``format.special`` as a special token.
        context: Most tokens that a conversation may have, with all markers.

    Raises:
        InputError: If the context is too short for any answer, or a conversation cannot be
            written in this format; the message has its number.
        InputTypeError: If ``conversations`` is one conversation, or an item is none.
        DataError: If there are no conversations, or none is left.

    Example:
        >>> from mathlm.text import Bytes
        >>> asked = {"role": "user", "content": "Hi"}
        >>> chats = [[asked, {"role": "assistant", "content": "Ho"}]]
        >>> form = ChatFormat.named()
        >>> encoded = encode_chats(chats, form, Bytes(form.special), context=64)
        >>> encoded.chats[0].mask.sum().item()  # "Ho" and the end of the turn are learned
        3
    """
    if context < 2:
        raise InputError(f"context={context} must be at least 2: a token and what follows it")
    if _is_no_list(conversations):
        raise InputTypeError(
            f"conversations is a {type(conversations).__name__}; it must be a list of "
            "conversations, each a list of messages"
        )
    dropped, chats, index, number = {EMPTY: 0, LONG: 0}, list[Chat](), list[int](), 0
    longest = 0
    for number, messages in enumerate(conversations, start=1):
        turns = turns_of(messages, number - 1)
        chat = encoded_chat(turns, number - 1, format, tokenizer)
        longest = max(longest, len(chat))
        if reason := unfit(turns, chat, context):
            dropped[reason] += 1
        else:
            chats.append(chat)
            index.append(number - 1)
    _report(number, dropped, context, longest)
    mismatches = sum(chat.mismatches for chat in chats)
    return Encoded(
        chats=chats, index=index, dropped=dropped, mismatches=mismatches, context=context
    )


def _is_no_list(value: object) -> bool:
    return isinstance(value, str | Mapping | Message) or not isinstance(value, Iterable)


def turns_of(messages: Turns, number: int) -> list[Message | Mapping[str, str]]:
    """The turns of conversation ``number``, as a list."""
    if _is_no_list(messages):
        raise InputTypeError(
            f"conversation {number} is a {type(messages).__name__}; expected a list of messages"
        )
    return list(messages)


def encoded_chat(
    turns: list[Message | Mapping[str, str]],
    number: int,
    format: ChatFormat,
    tokenizer: ChatTokenizer,
) -> Chat:
    """A conversation as ids; errors name its number."""
    try:
        return format.encode(turns, tokenizer)
    except (InputError, InputTypeError) as error:
        raise type(error)(f"conversation {number}: {error}") from error


def unfit(turns: list[Message | Mapping[str, str]], chat: Chat, context: int) -> str | None:
    """Why a conversation is left out, if it is."""
    fields = [vars(turn) if isinstance(turn, Message) else turn for turn in turns]
    if any(turn["role"] == "assistant" and not turn["content"].strip() for turn in fields):
        return EMPTY
    return LONG if len(chat) > context else None


def _report(number: int, dropped: Mapping[str, int], context: int, longest: int) -> None:
    """Log what was left out; an error if that is everything."""
    out = sum(dropped.values())
    counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
    if not number:
        raise DataError("there are no conversations to encode")
    if out == number:
        advice = "write answers"
        if dropped[LONG]:
            advice = f"the longest has {longest} tokens, the context is {context}: raise it"
        raise DataError(
            f"none of {number} conversations can be learned from ({counts}); {advice}"
        )
    if out:
        logger.info(
            "left out %d of %d conversations (%s); the context is %d tokens",
            out,
            number,
            counts,
            context,
        )


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

    Example:
        >>> from mathlm.text import Bytes
        >>> asked = {"role": "user", "content": "Hi"}
        >>> chats = [[asked, {"role": "assistant", "content": "Ho"}]]
        >>> form = ChatFormat.named()
        >>> encoded = encode_chats(chats, form, Bytes(form.special), context=64)
        >>> batch = ChatBatches(encoded, batch_size=1)(0)
        >>> int((batch["targets"] != -100).sum())  # "Ho" and the end of the turn
        3
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
