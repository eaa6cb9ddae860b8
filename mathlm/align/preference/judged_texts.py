"""Single answers that were found good or bad, as token ids and in batches."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...text import Chat, ChatFormat, ChatTokenizer, Judged
from ..sft import chats_sha256
from .preference_pairs import (
    EMPTY,
    FULL,
    LONG,
    behind_prompt,
    report,
    require_item,
    require_list,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedJudged:
    """Judged answers as a model sees them; what :func:`encode_judged` returns.

    Args:
        chats: Ids and mask of each conversation that was kept.
        labels: Whether each is desirable.
        index: Number of each among those that were given.
        dropped: How many were left out, by reason.
        mismatches: How many answers are cut into other tokens alone than behind their prompt.
        context: Most tokens that a conversation may have.
    """

    chats: list[Chat]
    labels: list[bool]
    index: list[int]
    dropped: dict[str, int]
    mismatches: int
    context: int

    def __len__(self) -> int:
        return len(self.chats)

    @cached_property
    def mismatched(self) -> list[Chat | None]:
        """Each prompt with the answer of the next conversation that fits behind it.

        The answer is one of another conversation: the first after it, in a circle, with which
        it is no longer than the context. None where there is no such answer.
        """
        starts = [int(chat.mask.argmax()) for chat in self.chats]
        rests = [len(chat) - start for chat, start in zip(self.chats, starts, strict=True)]
        found: list[Chat | None] = []
        for i, start in enumerate(starts):
            others = ((i + step) % len(starts) for step in range(1, len(starts)))
            j = next((j for j in others if start + rests[j] <= self.context), None)
            found.append(None if j is None else joined(self.chats, starts, i, j))
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


def encode_judged(
    answers: Iterable[Judged], format: ChatFormat, tokenizer: ChatTokenizer, context: int
) -> EncodedJudged:
    """Judged answers as ids, with the mask of what is asked of them.

    As :func:`encode_pairs`, for one answer.

    Args:
        answers: Such as :func:`mathlm.text.corpora.preferences.read_judged` gives.
        format: How conversations are written.
        tokenizer: Has every name of ``format.special`` as a special token.
        context: Most tokens that a conversation may have, with all markers.

    Raises:
        InputError, InputTypeError, DataError: As :func:`encode_pairs`.
    """
    require_list(answers, Judged, context)
    dropped, number = dict.fromkeys((FULL, EMPTY, LONG), 0), 0
    chats, labels, index = list[Chat](), list[bool](), list[int]()
    for number, answer in enumerate(answers, start=1):
        require_item(answer, Judged, number - 1)
        chat = behind_prompt(
            answer.prompt, answer.completion, number - 1, format, tokenizer, context
        )
        if isinstance(chat, str):
            dropped[chat] += 1
        else:
            chats.append(chat)
            labels.append(answer.label)
            index.append(number - 1)
    report(number, dropped, context, "judged answers")
    mismatches = sum(chat.mismatches for chat in chats)
    return EncodedJudged(
        chats=chats,
        labels=labels,
        index=index,
        dropped=dropped,
        mismatches=mismatches,
        context=context,
    )
