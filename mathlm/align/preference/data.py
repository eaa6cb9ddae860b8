"""Pairs of answers, and single answers that were found good or bad, as token ids."""

import logging
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain

import numpy as np

from ...errors import DataError, InputError, InputTypeError
from ...text import Chat, ChatFormat, ChatTokenizer, Message, Preference, Unpaired
from ..sft import EMPTY, LONG, chats_sha256, encoded_chat, unfit

logger = logging.getLogger(__name__)
FULL, EQUAL = "prompt fills the context", "equal answers"


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedPairs:
    """Pairs as a model sees them; what :func:`encode_pairs` returns.

    Args:
        chosen: Ids and mask of the conversations with the answers that were preferred.
        rejected: Those with the others, in the same order.
        index: Number of each pair among those that were given.
        dropped: How many were left out, by reason.
        mismatches: How many answers are cut into other tokens alone than behind their prompt.
        context: Most tokens that a conversation may have.
    """

    chosen: list[Chat]
    rejected: list[Chat]
    index: list[int]
    dropped: dict[str, int]
    mismatches: int
    context: int

    def __len__(self) -> int:
        return len(self.chosen)

    @property
    def tokens(self) -> int:
        """Tokens of all conversations; the prompt of a pair counts twice."""
        return sum(map(len, self.chosen)) + sum(map(len, self.rejected))

    @property
    def lengths(self) -> np.ndarray:
        """Tokens of the answers and their ends, chosen and rejected, (2, pairs)."""
        sides = (self.chosen, self.rejected)
        return np.array([[int(chat.mask.sum()) for chat in side] for side in sides])

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all ids and masks, as little-endian int64, each behind its length."""
        return chats_sha256(chain.from_iterable(zip(self.chosen, self.rejected, strict=True)))


def encode_pairs(
    pairs: Iterable[Preference],
    format: ChatFormat,
    tokenizer: ChatTokenizer,
    context: int,
) -> EncodedPairs:
    """Pairs as ids, with the mask of what is asked of them: the last answer and its end.

    Each side is written and masked as :func:`encode_chats` does it, but that earlier answers,
    which are part of the prompt, are not asked for. A pair is left out, both sides together,
    if its prompt leaves no room for an answer, an answer is nothing but blanks, a side is
    longer than the context, or both sides are the same tokens. How many there were is counted
    and logged, once; a pair with two reasons counts under the first of these.

    Args:
        pairs: Such as :func:`mathlm.text.corpora.preferences.read` gives.
        format: How conversations are written.
        tokenizer: Has every name of ``format.special`` as a special token.
        context: Most tokens that a side may have, with all markers.

    Raises:
        InputError: If the context is too short for any answer, or a conversation cannot be
            written in this format; the message has its number.
        InputTypeError: If ``pairs`` is one pair, or an item is none.
        DataError: If there are no pairs, or none is left.

    Example:
        >>> from mathlm.text import Bytes, Message
        >>> asked = (Message("user", "2 + 3?"),)
        >>> pairs = [Preference(prompt=asked, chosen="5", rejected="6")]
        >>> form = ChatFormat.named()
        >>> encoded = encode_pairs(pairs, form, Bytes(form.special), context=64)
        >>> len(encoded.chosen), encoded.chosen[0].mask.sum().item()  # "5" and its end
        (1, 2)
    """
    require_list(pairs, Preference, context)
    dropped = dict.fromkeys((FULL, EMPTY, LONG, EQUAL), 0)
    kept: list[tuple[Chat, Chat]] = []
    index, number = list[int](), 0
    for number, pair in enumerate(pairs, start=1):
        require_item(pair, Preference, number - 1)
        sides = [
            behind_prompt(pair.prompt, answer, number - 1, format, tokenizer, context)
            for answer in (pair.chosen, pair.rejected)
        ]
        found = [side for side in sides if isinstance(side, str)]
        chats = [side for side in sides if isinstance(side, Chat)]
        if not found and np.array_equal(chats[0].ids, chats[1].ids):
            found = [EQUAL]
        if found:
            dropped[next(reason for reason in dropped if reason in found)] += 1
        else:
            kept.append((chats[0], chats[1]))
            index.append(number - 1)
    report(number, dropped, context, "pairs")
    return EncodedPairs(
        chosen=[chosen for chosen, _ in kept],
        rejected=[rejected for _, rejected in kept],
        index=index,
        dropped=dropped,
        mismatches=sum(chat.mismatches for pair in kept for chat in pair),
        context=context,
    )


def behind_prompt(
    prompt: Iterable[Message],
    answer: str,
    number: int,
    format: ChatFormat,
    tokenizer: ChatTokenizer,
    context: int,
) -> Chat | str:
    """A prompt and an answer, which alone is asked for; or why they are left out."""
    turns: list[Message | Mapping[str, str]] = [*prompt, Message("assistant", answer)]
    try:
        start = len(format.encode(turns[:-1], tokenizer, answer=True))
    except (InputError, InputTypeError) as error:
        raise type(error)(f"pair {number}: {error}") from error
    if start >= context:
        return FULL
    chat = encoded_chat(turns, number, format, tokenizer)
    if reason := unfit(turns[-1:], chat, context):
        return reason
    mask = chat.mask & (np.arange(len(chat)) >= start)
    return Chat(ids=chat.ids, mask=mask, mismatches=chat.mismatches)


def require_list(items: object, kind: type, context: int) -> None:
    """Refuse what is no list of such items, and a context without room."""
    if context < 2:
        raise InputError(f"context={context} must be at least 2: a token and what follows it")
    if isinstance(items, str | Mapping | kind) or not isinstance(items, Iterable):
        raise InputTypeError(
            f"expected a list of {kind.__name__}, got one {type(items).__name__}"
        )


def require_item(item: object, kind: type, number: int) -> None:
    """Refuse an item of another type."""
    if not isinstance(item, kind):
        raise InputTypeError(
            f"item {number} is a {type(item).__name__}, expected a {kind.__name__}"
        )


def report(number: int, dropped: Mapping[str, int], context: int, what: str) -> None:
    """Log what was left out; an error if that is everything."""
    out = sum(dropped.values())
    counts = ", ".join(f"{count} {reason}" for reason, count in dropped.items() if count)
    if not number:
        raise DataError(f"there are no {what} to encode")
    if out == number:
        raise DataError(
            f"none of {number} {what} can be learned from ({counts}); the context is "
            f"{context} tokens"
        )
    if out:
        logger.info(
            "left out %d of %d %s (%s); the context is %d tokens",
            out,
            number,
            what,
            counts,
            context,
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedUnpaired:
    """Unpaired answers as a model sees them; what :func:`encode_unpaired` returns.

    Args:
        chats: Ids and mask of each conversation that was kept.
        labels: Whether each is desirable.
        index: Number of each among those that were given.
        dropped: How many were left out, by reason.
        mismatches: How many answers are cut into other tokens alone than behind their prompt.
        context: Most tokens that a conversation may have.
        others: Further conversations, such as those to train on beside the held-out ones,
            whose answers :attr:`mismatched` may take.
    """

    chats: list[Chat]
    labels: list[bool]
    index: list[int]
    dropped: dict[str, int]
    mismatches: int
    context: int
    others: list[Chat] = field(default_factory=list)

    def __len__(self) -> int:
        return len(self.chats)

    @cached_property
    def mismatched(self) -> list[Chat | None]:
        """Each prompt with the next answer to another prompt that fits behind it.

        The answer is that of the first conversation after it, in a circle, whose prompt is
        another, whose answer was not given to this prompt as well, and with which the prompt is
        no longer than the context; :attr:`others` stand behind the conversations in the
        circle. None where there is no such answer.
        """
        pool = self.chats + self.others
        starts = [int(chat.mask.argmax()) for chat in pool]
        rests = [len(chat) - start for chat, start in zip(pool, starts, strict=True)]
        cut = [
            (chat.ids[:start].tobytes(), chat.ids[start:].tobytes())
            for chat, start in zip(pool, starts, strict=True)
        ]
        given: dict[bytes, set[bytes]] = {}  # the answers to each prompt
        for prompt, answer in cut:
            given.setdefault(prompt, set()).add(answer)
        found: list[Chat | None] = []
        for i, (prompt, _) in enumerate(cut[: len(self.chats)]):
            others = ((i + step) % len(cut) for step in range(1, len(cut)))
            fits = (
                j
                for j in others
                if starts[i] + rests[j] <= self.context
                and cut[j][0] != prompt
                and cut[j][1] not in given[prompt]
            )
            j = next(fits, None)
            found.append(None if j is None else joined(pool, starts, i, j))
        return found

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all ids and masks, as little-endian int64, and of the labels."""
        return chats_sha256(self.chats, bytes(self.labels))


def joined(chats: list[Chat], starts: list[int], i: int, j: int) -> Chat:
    """The prompt of one conversation and the answer of another."""
    ids, mask = (
        np.concatenate([getattr(chats[i], x)[: starts[i]], getattr(chats[j], x)[starts[j] :]])
        for x in ("ids", "mask")
    )
    return Chat(ids=ids, mask=mask, mismatches=0)


def encode_unpaired(
    answers: Iterable[Unpaired], format: ChatFormat, tokenizer: ChatTokenizer, context: int
) -> EncodedUnpaired:
    """Unpaired answers as ids, with the mask of what is asked of them.

    As :func:`encode_pairs`, for one answer.

    Args:
        answers: Such as :func:`mathlm.text.corpora.preferences.read_unpaired` gives.
        format: How conversations are written.
        tokenizer: Has every name of ``format.special`` as a special token.
        context: Most tokens that a conversation may have, with all markers.

    Raises:
        InputError, InputTypeError, DataError: As :func:`encode_pairs`.

    Example:
        >>> from mathlm.text import Bytes
        >>> asked, form = ({"role": "user", "content": "Hi"},), ChatFormat.named()
        >>> answer = Unpaired(prompt=asked, completion="Ho", label=True)
        >>> encoded = encode_unpaired([answer], form, Bytes(form.special), context=64)
        >>> encoded.labels, encoded.chats[0].mask.sum().item()  # "Ho" and the end of the turn
        ([True], 3)
    """
    require_list(answers, Unpaired, context)
    dropped, number = dict.fromkeys((FULL, EMPTY, LONG), 0), 0
    chats, labels, index = list[Chat](), list[bool](), list[int]()
    for number, answer in enumerate(answers, start=1):
        require_item(answer, Unpaired, number - 1)
        chat = behind_prompt(
            answer.prompt, answer.completion, number - 1, format, tokenizer, context
        )
        if isinstance(chat, str):
            dropped[chat] += 1
        else:
            chats.append(chat)
            labels.append(answer.label)
            index.append(number - 1)
    report(number, dropped, context, "unpaired answers")
    mismatches = sum(chat.mismatches for chat in chats)
    return EncodedUnpaired(
        chats=chats,
        labels=labels,
        index=index,
        dropped=dropped,
        mismatches=mismatches,
        context=context,
    )
