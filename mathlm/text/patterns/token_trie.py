"""A vocabulary as a tree of bytes, to run an automaton over every token at once."""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Int
from .automaton import DEAD, Automaton

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


__all__ = ["NEVER", "TokenTrie", "tokens_to_match"]
