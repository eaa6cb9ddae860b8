"""When a row of a batch has written enough."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool, Float, Int
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


@dataclass(frozen=True, eq=False)
class Step:
    """One more token of each row, and what it was drawn from.

    Args:
        tokens: The new tokens, (B,).
        logits: What the model said of them, (B, V).
        drawn_from: Probabilities that they were drawn with, (B, V); None = the likeliest was
            taken.
        live: Whether each row drew its token; the others had stopped and were filled.
        finish: Why each row has ended, if it has: "stop" for a stop sequence or a complete
            constrained text, "length" for ``max_new_tokens``; None = it goes on.
    """

    tokens: Int[Tensor, " B"]
    logits: Float[Tensor, "B V"]
    drawn_from: Float[Tensor, "B V"] | None
    live: tuple[bool, ...]
    finish: tuple[Finish | None, ...]

    @property
    def model_log_probabilities(self) -> Float[Tensor, "B V"]:
        """Of every token under the model itself, at temperature 1 [nats]."""
        return _full(self.logits).log_softmax(-1)

    @property
    def probabilities(self) -> Float[Tensor, "B V"]:
        """With which the tokens were drawn, after penalties, temperature and truncation."""
        if self.drawn_from is not None:
            return self.drawn_from
        certain = torch.zeros_like(_full(self.logits))
        return certain.scatter(-1, self.tokens.unsqueeze(-1), 1.0)

    @property
    def log_probabilities(self) -> Float[Tensor, " B"]:
        """Of the drawn tokens under the model itself [nats]; 0 in rows that had stopped.

        Their sum over all steps is what :func:`score` gives for the new text.
        """
        return self._of_tokens(self.model_log_probabilities)

    @property
    def drawn_log_probabilities(self) -> Float[Tensor, " B"]:
        """Of the drawn tokens under what they were drawn from [nats]; 0 in stopped rows."""
        if self.drawn_from is None:
            return torch.zeros_like(self.log_probabilities)
        return self._of_tokens(self.drawn_from.log())

    def alternatives(self, count: int) -> tuple[Int[Tensor, "B N"], Float[Tensor, "B N"]]:
        """The likeliest tokens under the model, and their probabilities.

        Raises:
            InputError: If the count is not between 1 and the size of the vocabulary.
        """
        if not 1 <= count <= self.logits.shape[-1]:
            raise InputError(f"count={count} is outside 1..{self.logits.shape[-1]}")
        best = self.model_log_probabilities.exp().topk(count)
        return best.indices, best.values

    def _of_tokens(self, logp: Float[Tensor, "B V"]) -> Float[Tensor, " B"]:
        """Entries of the drawn tokens."""
        found = logp.gather(-1, self.tokens.unsqueeze(-1)).squeeze(-1)
        return found.masked_fill(~torch.tensor(self.live, device=found.device), 0.0)


def _full(logits: Tensor) -> Tensor:
    return logits.float() if logits.dtype in (torch.float16, torch.bfloat16) else logits
