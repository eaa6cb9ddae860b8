"""A prompt and its completion as token ids, and the mask of what a model is to learn."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from numpy import ndarray

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Int

log = logging.getLogger(__name__)


@runtime_checkable
class ChatTokenizer(Protocol):
    """What a chat needs of a tokenizer, such as `ByteBPE`."""

    @property
    def special(self) -> dict[str, int]:
        """Id of each special token."""
        ...

    def encode(self, text: str) -> list[int]:
        """Ids of a text, none of them special."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Chat:
    """A conversation, or a prompt and its completion, as a model sees it.

    Args:
        ids: Ids of the tokens.
        mask: True on each token that the model is to predict from those before it: the
            assistant's tokens and the marker that ends its turn.
        mismatches: How many answers are cut into other tokens alone than behind their prompt.
    """

    ids: Int[ndarray, " T"]
    mask: Bool[ndarray, " T"]
    mismatches: int

    def __len__(self) -> int:
        return len(self.ids)


def prompt_and_completion(
    prompt: str,
    completion: str,
    tokenizer: ChatTokenizer,
    *,
    bos: str | None = None,
    end: str | None = None,
) -> Chat:
    """A prompt and the completion that a model is to learn.

    Computes::

        ids = [bos] + encode(p) + encode(c) + [end],   mask = True from encode(c) on

    The boundary of the loss is the one between the tokens of encode(p) and what follows, as it
    is when a model completes the prompt. If encode(p + c) is not encode(p) + encode(c), a token
    would reach across it; that is counted in ``mismatches`` and logged.

    Args:
        prompt: p.
        completion: c.
        tokenizer: Has ``bos`` and ``end`` as special tokens.
        bos: Special token before the prompt, exactly once, or None.
        end: Special token after the completion, or None.

    Raises:
        InputTypeError: If a text is not a str.
        InputError: If the tokenizer lacks a special token, or there is nothing to learn, or
            nothing to learn it from.
    """
    for name, text in (("prompt", prompt), ("completion", completion)):
        if not isinstance(text, str):
            raise InputTypeError(f"{name} must be a str, got {type(text).__name__}")
    if not completion and end is None:
        raise InputError('completion is "" and there is no end: nothing is left to learn')
    if not prompt and bos is None:
        raise InputError('prompt is "" and there is no bos: the first token has no context')
    specials = special_ids(tokenizer, [name for name in (bos, end) if name is not None])
    chat = ChatBuilder(tokenizer, None if bos is None else specials[bos])
    chat.turn(prompt, completion, learn=True)
    if end is not None:
        chat.special(specials[end], learn=True)
    return chat.done()


class ChatBuilder:
    """Ids and mask as they grow."""

    def __init__(self, tokenizer: ChatTokenizer, bos: int | None) -> None:
        self.tokenizer = tokenizer
        self.never = set(tokenizer.special.values())
        self.bos = bos
        self.ids: list[int] = []
        self.mask: list[bool] = []
        self.mismatches = 0
        if bos is not None:
            self.special(bos)

    def special(self, token: int, learn: bool = False) -> None:
        """Append a special token."""
        self.ids.append(token)
        self.mask.append(learn)

    def text(self, text: str, learn: bool = False) -> None:
        """Append a text, of which no token is special."""
        ids = self.ordinary(text)
        self.ids += ids
        self.mask += [learn] * len(ids)

    def turn(self, before: str, text: str, learn: bool) -> None:
        """Text after what comes before it: one piece, or two if only the second is learned."""
        if not learn:
            self.text(before + text)
            return
        start = len(self.ids)
        self.text(before)
        self.text(text, learn=True)
        if self.ids[start:] != self.ordinary(before + text):
            self.mismatches += 1

    def ordinary(self, text: str) -> list[int]:
        """Ids of a text without the BOS that a tokenizer may put before every text."""
        ids = list(self.tokenizer.encode(text)) if text else []
        if ids and self.bos is not None and ids[0] == self.bos:
            ids = ids[1:]
        if made := self.never.intersection(ids):
            raise InputError(
                f"the tokenizer makes the special ids {sorted(made)} from the text "
                f"{text!r:.60}; it must keep them for markers"
            )
        return ids

    def done(self) -> Chat:
        """What was appended; mismatches are logged."""
        if self.mismatches:
            log.info(
                "%d answers are cut into other tokens behind their prompt than alone; the loss "
                "begins after the tokens of the prompt",
                self.mismatches,
            )
        return Chat(
            ids=np.array(self.ids, np.int64),
            mask=np.array(self.mask, bool),
            mismatches=self.mismatches,
        )


def special_ids(tokenizer: ChatTokenizer, names: Iterable[str]) -> dict[str, int]:
    """Ids of the special tokens, once it is known that the named ones are there."""
    missing = [name for name in names if name not in tokenizer.special]
    if missing:
        raise InputError(
            f"the tokenizer lacks the special tokens {missing}; it has "
            f"{list(tokenizer.special)}; train it with special=format.special"
        )
    return dict(tokenizer.special)


__all__ = ["Chat", "ChatBuilder", "ChatTokenizer", "prompt_and_completion", "special_ids"]
