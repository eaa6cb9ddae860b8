"""When a row of a batch has written enough."""

import operator
from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Int
from .constraint import Constraint

Finish = Literal["stop", "length"]
Stops = tuple[tuple[int, ...], ...]


class Rows:
    """Which rows of a batch still write, and why the others do not.

    Args:
        batch: B, rows.
        max_new_tokens: Tokens that a row may write.
        stops: Token sequences that end a row, none empty.
        constraint: What a row may write; None = anything.
    """

    def __init__(
        self,
        batch: int,
        max_new_tokens: int,
        stops: Stops = (),
        constraint: Constraint | None = None,
    ) -> None:
        self.room = max_new_tokens  # tokens that may still be written
        self.finish: tuple[Finish | None, ...] = (None,) * batch
        self.constraint, self.stops = constraint, stops
        self.longest = max(map(len, stops), default=0)
        self.tails: list[tuple[int, ...]] = [()] * batch  # last tokens of each row
        self.states: list[Any] = [None] * batch
        if constraint is not None:
            self.states = [constraint.start()] * batch
            self.finish = (self._complete(0),) * batch  # only the empty text may be allowed

    @property
    def watches(self) -> bool:
        """Whether tokens are looked at: otherwise only their number counts."""
        return bool(self.stops) or self.constraint is not None

    def allowed(self, vocab_size: int) -> Bool[Tensor, "B V"] | None:
        """Tokens that may come next in each row; None = all."""
        if self.constraint is None:
            return None
        masks = []
        for row, (state, ended) in enumerate(zip(self.states, self.finish, strict=True)):
            mask = torch.ones(vocab_size, dtype=torch.bool)  # what follows an end is not drawn
            if not ended:
                mask = self.constraint.allowed(state, self.room)
                _require_allowed(mask, row, vocab_size)
            masks.append(mask)
        return torch.stack(masks)

    def push(self, tokens: Int[Tensor, " B"]) -> None:
        """Take up one token of each row; those of rows that have ended do not count."""
        self.room -= 1
        if self.watches:
            ends = enumerate(zip(tokens.tolist(), self.finish, strict=True))
            self.finish = tuple(
                ended or self._after(row, token) for row, (token, ended) in ends
            )
        if not self.room:
            self.finish = tuple(ended or "length" for ended in self.finish)

    def _after(self, row: int, token: int) -> Finish | None:
        """Whether this token ends its row."""
        if self.longest == 1 and self.constraint is None:
            return "stop" if (token,) in self.stops else None
        tail = self.tails[row] = (*self.tails[row], token)[-self.longest or None :]
        stopped = any(tail[-len(stop) :] == stop for stop in self.stops)
        if self.constraint is not None:
            self.states[row] = self.constraint.next(self.states[row], token)
        return "stop" if stopped else self._complete(row)

    def _complete(self, row: int) -> Finish | None:
        """Whether the constraint lets nothing follow, within the room that is left."""
        if self.constraint is None:
            return None
        complete = self.constraint.finished(self.states[row], self.room or None)
        return "stop" if complete else None


def stop_sequences(
    stop: Sequence[Sequence[int] | int] | None, vocab_size: int, constraint: Constraint | None
) -> Stops:
    """Token sequences that end a row, from what a caller gave.

    Args:
        stop: Token sequences, or single ids.
        vocab_size: V.
        constraint: What may be written; None = anything.

    Raises:
        InputError: If a sequence is empty, outside the vocabulary, or can never be written.
        InputTypeError: If ``stop`` is one id, or text.
    """
    if stop is not None and (isinstance(stop, str) or not hasattr(stop, "__len__")):
        raise InputTypeError(
            f"stop={stop!r} is one {type(stop).__name__}: give a list of token ids or of lists "
            "of token ids; texts are stops of write and stream_text"
        )
    stops = tuple(_ids(s, i) for i, s in enumerate(() if stop is None else stop))
    for i, ids in enumerate(stops):
        if outside := [token for token in ids if not 0 <= token < vocab_size]:
            raise InputError(f"stop[{i}] has token {outside[0]}, outside 0..{vocab_size - 1}")
        if constraint is not None and not constraint.may_contain(ids):
            raise InputError(
                f"stop[{i}] = {list(ids)} occurs in no text that the constraint allows: it "
                "would never stop anything"
            )
    return stops


def require_constraint(constraint: Constraint | None, max_new_tokens: int) -> None:
    """Refuse what is no constraint, or one that no text of this length can meet."""
    if constraint is None:
        return
    if not isinstance(constraint, Constraint):
        raise InputTypeError(
            f"constraint is a {type(constraint).__name__}: give a RegexConstraint, or an "
            "object with the methods of Constraint"
        )
    needed = constraint.tokens_needed(constraint.start())
    if needed > max_new_tokens:
        raise InputError(
            f"max_new_tokens={max_new_tokens} is too few: the shortest text that the "
            f"constraint allows has {needed} tokens"
        )


def _ids(stop: Any, i: int) -> tuple[int, ...]:
    """One stop sequence."""
    if isinstance(stop, str):
        raise InputTypeError(
            f"stop[{i}]={stop!r} is text: give token ids, or use write or stream_text"
        )
    try:
        ids = tuple(map(operator.index, stop if hasattr(stop, "__len__") else [stop]))
    except TypeError:
        raise InputTypeError(
            f"stop[{i}]={stop!r:.60} is neither a token id nor a sequence of them"
        ) from None
    if not ids:
        raise InputError(f"stop[{i}] is empty: it would end a text before it begins")
    return ids


def _require_allowed(mask: Tensor, row: int, vocab_size: int) -> None:
    if mask.shape != (vocab_size,) or mask.dtype != torch.bool:
        raise InputError(
            f"the constraint allows with {mask.dtype} of shape {tuple(mask.shape)}, the model "
            f"has {vocab_size} tokens: make both from one tokenizer"
        )
    if not mask.any():
        raise InputError(f"the constraint allows no token at all to follow in row {row}")
