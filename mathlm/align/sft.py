"""Conversations as token ids, and what of them cannot be learned from."""

import hashlib
import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from ..errors import DataError, InputError, InputTypeError
from ..text import Chat, ChatFormat, ChatTokenizer, Message

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
