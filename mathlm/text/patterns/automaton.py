"""Finite automata over bytes, made of the derivatives of a regular expression."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Int
from ..tokenizers.pretokenize import utf8
from .parser import parse_pattern
from .regular import NOTHING, Regular, accepts_empty, byte_classes, derivative

MAX_STATES = 4096
DEAD = -1  # where no string of the expression goes on


@dataclass(frozen=True, eq=False)
class Automaton:
    """A machine that reads bytes and knows at each one whether a match is still possible.

    State 0 is the start. Every state can be left for an accepting one or accepts: there are no
    dead ends, only ``DEAD``, which is no state.

    Args:
        table: State after each byte, (S, 256); ``DEAD`` where no match goes on.
        accepting: Whether what has been read so far is a match, (S,).

    Example:
        >>> digits = Automaton.from_pattern("[0-9]+")
        >>> digits.matches("1984"), digits.matches("19a4")
        (True, False)
    """

    table: Int[ndarray, "S 256"]
    accepting: Bool[ndarray, " S"]

    @classmethod
    def from_pattern(cls, pattern: str) -> "Automaton":
        """The automaton of a pattern; see :func:`parse_pattern` for the notation.

        Raises:
            InputError: If the pattern is malformed, matches no text at all, or needs more than
                4096 states.
            InputTypeError: If it is not a str.
        """
        expression = parse_pattern(pattern)
        if expression == NOTHING:
            raise InputError(
                f"pattern {pattern[:60]!r} matches no text, not even the empty one"
            )
        return cls.from_expression(expression, pattern)

    @classmethod
    def from_expression(cls, expression: Regular, name: str = "") -> "Automaton":
        """A state for each derivative of an expression, of any order.

        Args:
            expression: As :func:`parse_pattern` gives it.
            name: What messages call it.

        Raises:
            InputError: If the expression has no string, or more than 4096 derivatives.
        """
        if expression == NOTHING:
            raise InputError(f"the expression {name[:60]!r} has no string")
        number, rows = {expression: 0}, []
        waiting = [expression]
        for state in waiting:  # grows meanwhile
            row = np.full(256, DEAD, dtype=np.int32)
            for members in byte_classes(state):
                first = (members & -members).bit_length() - 1
                after = derivative(state, first)
                if after != NOTHING:
                    if after not in number:
                        number[after] = _next_number(number, name)
                        waiting.append(after)
                    row[_bytes_of(members)] = number[after]
            rows.append(row)
        return cls(np.stack(rows), np.array([accepts_empty(state) for state in waiting]))

    def run(self, data: bytes, state: int = 0) -> int:
        """State behind some bytes; ``DEAD`` if no match begins with them.

        Raises:
            InputError: If there is no such state.
            InputTypeError: If ``data`` is not bytes.
        """
        if not isinstance(data, bytes | bytearray):
            raise InputTypeError(
                f"data must be bytes, got {type(data).__name__}: write text.encode()"
            )
        if not 0 <= state < len(self.table):
            raise InputError(f"state={state} is none of the {len(self.table)} states")
        for byte in data:
            state = int(self.table[state, byte])
            if state == DEAD:
                break
        return state

    def matches(self, text: str) -> bool:
        """Whether a whole text matches, as ``re.fullmatch(pattern, text, re.ASCII)`` says.

        Raises:
            InputError: If the text holds a lone surrogate.
        """
        state = self.run(utf8(text))
        return state != DEAD and bool(self.accepting[state])


def _next_number(number: dict[Regular, int], name: str) -> int:
    if len(number) == MAX_STATES:
        raise InputError(
            f"pattern {name[:60]!r} needs more than {MAX_STATES:,} states: repeat less with "
            "{m,n}, or avoid what must be remembered for long, such as (a|b)*a(a|b){20}"
        )
    return len(number)


def _bytes_of(members: int) -> Bool[ndarray, "256"]:
    """Which bytes a set has."""
    packed = np.frombuffer(members.to_bytes(32, "little"), dtype=np.uint8)
    return np.unpackbits(packed, bitorder="little").astype(bool)


ROWS = 8  # states that are walked together
NEVER = np.iinfo(np.int32).max  # tokens to a match that no tokens reach


class TokenTrie:
    """The tokens of a vocabulary, those that begin alike on one path.

    Node 0 is the empty string. Nodes are numbered by depth, and the children of a node stand
    together. An automaton that refuses a first byte refuses all tokens that begin with it in
    one look-up.

    Args:
        tokens: Bytes of each id; ``b""`` for one that may never be drawn, such as a special
            token, whose name is not text.

    Raises:
        InputError: If there is no token, or each is empty.
        InputTypeError: If they are not bytes.

    Example:
        >>> trie = TokenTrie([b"1", b"19", b"a"])
        >>> digits = Automaton.from_pattern("[0-9]+")
        >>> (trie.after(digits, 0) >= 0).tolist()  # which tokens may begin a number
        [True, True, False]
    """

    def __init__(self, tokens: Sequence[bytes]) -> None:
        _require_tokens(tokens)
        order = np.array(sorted(range(len(tokens)), key=tokens.__getitem__))
        length = np.array([len(tokens[i]) for i in order])
        flat = np.frombuffer(b"".join(tokens[i] for i in order), dtype=np.uint8)
        begin, at, here = length.cumsum() - length, np.zeros_like(order), np.arange(len(order))
        parents, letters, total = [], [np.zeros(1, np.uint8)], 1
        for depth in range(length.max()):
            here = here[length[here] > depth]
            parent, byte = at[here], flat[begin[here] + depth]
            new = np.append(True, (np.diff(parent) != 0) | (byte[1:] != byte[:-1]))
            at[here] = total - 1 + new.cumsum()
            parents.append(parent[new])
            letters.append(byte[new])
            total += int(new.sum())
        self.byte = np.concatenate(letters)  # last byte of each node
        self.children = np.bincount(np.concatenate(parents), minlength=total)
        self.first_child = 1 + self.children.cumsum() - self.children
        self.node = np.empty_like(order)  # of each token, (V,); 0 for an empty one
        self.node[order] = at
        self.tokens = tuple(tokens)

    def __len__(self) -> int:
        """Number of tokens V."""
        return len(self.tokens)

    def after(self, automaton: Automaton, state: int) -> Int[ndarray, " V"]:
        """State of the automaton behind each token, ``DEAD`` where it goes no further."""
        found = np.full(len(self.byte), DEAD, dtype=np.int32)
        for _, node, behind in self._walk(automaton.table, np.array([state])):
            found[node] = behind
        return found[self.node]

    def successors(
        self, automaton: Automaton, states: Int[ndarray, " N"]
    ) -> Bool[ndarray, "N S"]:
        """Which states of the automaton one token leads to, from each of some states."""
        reached = np.zeros((len(states), len(automaton.table)), dtype=bool)
        for begin in range(0, len(states), ROWS):
            for row, node, behind in self._walk(automaton.table, states[begin : begin + ROWS]):
                ends = self._is_token[node]
                reached[begin + row[ends], behind[ends]] = True
        return reached

    @cached_property
    def _is_token(self) -> Bool[ndarray, " N"]:
        return np.bincount(self.node, minlength=len(self.byte)) > 0

    def _walk(self, table: ndarray, states: ndarray) -> Iterator[tuple[ndarray, ...]]:
        """All that is alive at each depth: which of ``states`` it is from, node and state."""
        row, node, state = np.arange(len(states)), np.zeros(len(states), np.int64), states
        while len(node):
            count = self.children[node]
            origin = np.repeat(np.arange(len(node)), count)
            skipped = self.first_child[node] - (count.cumsum() - count)
            child = np.arange(len(origin)) + skipped[origin]
            behind = table[state[origin], self.byte[child]]
            alive = (behind != DEAD).nonzero()[0]
            row, node, state = row[origin[alive]], child[alive], behind[alive]
            yield row, node, state


def tokens_to_match(automaton: Automaton, trie: TokenTrie) -> Int[ndarray, " S"]:
    """Fewest tokens from each state of an automaton to a match.

    Computes::

        n(s) = 0 where s accepts,   else 1 + min over tokens t of n(s behind t)

    The vocabulary decides: with the token ``yes`` the pattern ``yes`` is one token away, with
    bytes three. Where a vocabulary lacks a byte, a match may be out of reach.

    Returns:
        n [tokens]; ``NEVER`` where no tokens lead to a match.

    Example:
        >>> either = Automaton.from_pattern("yes|no")
        >>> trie = TokenTrie([b"y", b"es", b"n", b"o", b"s", b"e"])
        >>> int(tokens_to_match(either, trie)[0])  # "y" and "es", or "n" and "o"
        2
    """
    needed = np.where(automaton.accepting, 0, NEVER).astype(np.int32)
    open_states = (~automaton.accepting).nonzero()[0]
    reached, n = trie.successors(automaton, open_states), 0
    while (needed == n).any():
        step = reached[:, needed == n].any(1) & (needed[open_states] == NEVER)
        n += 1
        needed[open_states[step]] = n
    return needed


def _require_tokens(tokens: Sequence[bytes]) -> None:
    if isinstance(tokens, str | bytes) or not isinstance(tokens, Sequence):
        raise InputTypeError(
            f"tokens must be a list of the bytes of each id, got {type(tokens).__name__}"
        )
    for i, token in enumerate(tokens):
        if not isinstance(token, bytes):
            raise InputTypeError(
                f"tokens[{i}]={token!r} must be bytes, got {type(token).__name__}: write "
                "text.encode()"
            )
    if not any(tokens):
        raise InputError(
            f"{len(tokens)} tokens, none of them with a byte: nothing can be drawn"
        )
