"""What a text may be, asked one token at a time."""

import operator
from collections.abc import Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..shapes import Bool
from ..text import ByteBPE, Bytes
from ..text.patterns.automaton import DEAD, NEVER, Automaton, TokenTrie, tokens_to_match


@runtime_checkable
class Constraint(Protocol):
    """Constrained decoding: a set of texts, as the tokens that may follow each beginning.

    A state stands for what a row has written so far; the prompt is not part of it. States are
    never changed in place, so that rows may share them.
    """

    def start(self) -> Any:
        """State of a row that has written nothing."""
        ...

    def allowed(self, state: Any, room: int | None = None) -> Bool[Tensor, " V"]:
        """Tokens after which the text can still be completed.

        Args:
            state: Of the row; not a finished one, with the same room.
            room: Tokens that may still be written, this one among them; None = any number.
                The text must then be complete within them.

        Returns:
            True where a token may follow; at least one may.

        Raises:
            InputError: If the text is finished, or cannot be completed within the room.
        """
        ...

    def next(self, state: Any, token: int) -> Any:
        """State after one more token, one of the allowed ones."""
        ...

    def finished(self, state: Any, room: int | None = None) -> bool:
        """Whether the text is complete and nothing may follow: the row stops here.

        Args:
            state: Of the row; that of a row that has written nothing may be finished too.
            room: As in :meth:`allowed`, 1 or more: a text that could go on, but to no end
                within the room, is finished.
        """
        ...

    def tokens_needed(self, state: Any) -> int:
        """Fewest tokens that complete the text; 0 where it may end as it is."""
        ...

    def may_contain(self, tokens: Sequence[int]) -> bool:
        """Whether these tokens, in a row, occur in any text that is allowed."""
        ...


ENDED = -2  # state behind the end token
STATES_KEPT = 128  # whose tokens are kept in memory: a walk takes milliseconds


class RegexConstraint:
    """Constrained decoding by a regular expression: the tokens that may follow each beginning.

    A token may follow if the text can still be completed behind it, by tokens of this
    vocabulary: there is no way into a dead end. All cuts of a text into tokens are allowed, not
    only the tokenizer's own, and a token may hold a part of a character. Objects can be shared
    by rows and calls.

    Implements the protocol :class:`Constraint`.

    Args:
        pattern: What the whole text must match, without the prompt; :func:`parse_pattern` has
            the notation.
        tokens: The tokenizer; or the bytes of each id, ``b""`` for one that may never be drawn;
            or a :class:`TokenTrie` of them, made once for many patterns.
        end: Token that ends a text that matches, and is its last; it is no text itself. None =
            the text stops where no token can follow, or at ``max_new_tokens``.

    Raises:
        InputError: If the pattern is malformed or matches no text, no tokens of the vocabulary
            spell a text that matches, or ``end`` is outside the vocabulary.
        InputTypeError: If an argument is of another kind.

    Example:
        >>> constraint = RegexConstraint("yes|no", [b"yes", b"y", b"n", b"o", b"nope"])
        >>> constraint.allowed(constraint.start()).tolist()
        [True, False, True, False, False]

    References:
        Willard and Louf (2023), arXiv:2307.09702.
    """

    def __init__(
        self,
        pattern: str,
        tokens: ByteBPE | Bytes | TokenTrie | Sequence[bytes],
        end: int | None = None,
    ) -> None:
        self.automaton = Automaton.from_pattern(pattern)
        self.pattern, self.end = pattern, None if end is None else _id("end", end)
        self.trie = _trie(tokens, self.end)
        self.needed = tokens_to_match(self.automaton, self.trie)
        self._kept: dict[int, ndarray] = {}
        if self.needed[0] == NEVER:
            raise InputError(
                f"pattern {pattern[:60]!r}: no tokens of this vocabulary of {len(self.trie)} "
                "spell a text that matches"
            )

    def start(self) -> int:
        """State of a row that has written nothing: the automaton's first."""
        return 0

    def allowed(self, state: int, room: int | None = None) -> Bool[Tensor, " V"]:
        """Tokens after which the text can still be completed.

        Args:
            state: Of the row; not a finished one.
            room: Tokens that may still be written, this one among them, 1 or more; None = any
                number. The end token may then be left out, the match may not.

        Returns:
            True where a token may follow; at least one may.

        Raises:
            InputError: If the text is finished, or cannot be completed within the room.
        """
        if self._known(state) == ENDED:
            raise InputError(f"token {self.end} has ended this text: nothing may follow")
        if room is not None and room < 1:
            raise InputError(f"room={room} must be at least 1: the token that is asked for")
        may = torch.from_numpy(self._live(state) < (NEVER if room is None else room))
        if self.end is not None:
            may[self.end] = bool(self.automaton.accepting[state])
        if not may.any():
            raise self._no_room(state, room)
        return may

    def next(self, state: int, token: int) -> int:
        """State after one more token.

        Raises:
            InputError: If the token is not one of the allowed ones.
        """
        token, state = _id("token", token), self._known(state)
        if not 0 <= token < len(self.trie):
            raise InputError(f"token {token} is outside the vocabulary of {len(self.trie)}")
        if state >= 0 and token == self.end and self.automaton.accepting[state]:
            return ENDED
        data = self.trie.tokens[token]
        after = self.automaton.run(data, state) if data and state >= 0 else DEAD
        if after == DEAD or self.needed[after] == NEVER:
            raise InputError(
                f"token {token} ({data!r}) may not follow in state {state}: no text that "
                f"matches {self.pattern[:60]!r} goes on like this"
            )
        return after

    def finished(self, state: int, room: int | None = None) -> bool:
        """Whether the text has its end token, or without one matches and cannot go on.

        Args:
            state: Of the row.
            room: As in :meth:`allowed`: a match may be unable to go on for want of room.
        """
        if self._known(state) == ENDED:
            return True
        if self.end is not None or not self.automaton.accepting[state]:
            return False
        return not (self._live(state) < (NEVER if room is None else room)).any()

    def tokens_needed(self, state: int) -> int:
        """Fewest tokens that complete the text, the end token not among them."""
        return 0 if self._known(state) == ENDED else int(self.needed[state])

    def may_contain(self, tokens: Sequence[int]) -> bool:
        """Whether these tokens, in a row, occur in any text that is allowed.

        Raises:
            InputError: If there are none, or one is outside the vocabulary.
        """
        ids = [_id("token", token) for token in tokens]
        if not ids or not all(0 <= token < len(self.trie) for token in ids):
            raise InputError(f"tokens={ids}: give one or more of 0..{len(self.trie) - 1}")
        behind = [self._through(state, ids) for state in range(len(self.needed))]
        able = np.array(behind)
        if able[0] or not able.any():
            return bool(able[0])
        return self._reaches(able)

    def _live(self, state: int) -> ndarray:
        """Fewest tokens to a match behind each token; ``NEVER`` where there is none."""
        if state not in self._kept:
            if len(self._kept) == STATES_KEPT:
                del self._kept[next(iter(self._kept))]  # the first that came
            after = self.trie.after(self.automaton, state)
            self._kept[state] = np.where(after == DEAD, NEVER, self.needed[after])
        return self._kept[state]

    def _known(self, state: int) -> int:
        if state != ENDED and not (isinstance(state, int) and 0 <= state < len(self.needed)):
            raise InputError(
                f"state={state!r} is none of this constraint: begin with start(), go on with "
                "next(state, token)"
            )
        return state

    def _through(self, state: int, tokens: Sequence[int]) -> bool:
        """Whether the tokens can follow in a state, one after the other."""
        for token in tokens:
            if state == ENDED:
                return False
            try:
                state = self.next(state, token)
            except InputError:
                return False
        return True

    def _reaches(self, wanted: Bool[ndarray, " S"]) -> bool:
        """Whether tokens lead from the start to any of the wanted states."""
        reached = np.zeros(len(wanted), dtype=bool)
        new = np.array([0])
        while len(new):
            reached[new] = True
            found = self.trie.successors(self.automaton, new).any(0)
            if (found & wanted).any():
                return True
            new = (found & ~reached & (self.needed < NEVER)).nonzero()[0]
        return False

    def _no_room(self, state: int, room: int | None) -> InputError:
        if self.finished(state, room):
            return InputError(f"state {state} is finished: no longer match has room={room}")
        return InputError(
            f"room={room}: the shortest text that matches {self.pattern[:60]!r} needs "
            f"{self.needed[state]} more tokens from here"
        )


def _trie(tokens: ByteBPE | Bytes | TokenTrie | Sequence[bytes], end: int | None) -> TokenTrie:
    """The tokens that are text: neither special ones nor the end."""
    if isinstance(tokens, TokenTrie):
        found: Sequence[bytes] = tokens.tokens
    elif isinstance(tokens, ByteBPE | Bytes):
        special = set(tokens.special.values())
        ids = range(tokens.vocab_size)
        found = [b"" if i in special else tokens.token_bytes(i) for i in ids]
    elif isinstance(tokens, Sequence) and not isinstance(tokens, str | bytes):
        found = tokens
    else:
        raise InputTypeError(
            f"tokens is a {type(tokens).__name__}: give a ByteBPE, Bytes, a TokenTrie, or a "
            "list of the bytes of each id"
        )
    if end is not None and not 0 <= end < len(found):
        raise InputError(f"end={end} is outside the vocabulary of {len(found)} tokens")
    if isinstance(tokens, TokenTrie) and (end is None or not tokens.tokens[end]):
        return tokens
    return TokenTrie([b"" if i == end else token for i, token in enumerate(found)])


def _id(name: str, value: int) -> int:
    """An id as an int; integers of NumPy and of torch count, booleans do not."""
    try:
        if not isinstance(value, bool):
            return operator.index(value)
    except TypeError:
        pass
    raise InputTypeError(f"{name}={value!r:.40} must be the id of a token, an integer")
