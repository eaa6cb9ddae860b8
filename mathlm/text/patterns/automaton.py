"""Finite automata over bytes, made of the derivatives of a regular expression."""

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Int
from .regular import NOTHING, Regular, accepts_empty, byte_classes, derivative
from .regular_parser import parse_pattern

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
        """Whether a whole text matches, as ``re.fullmatch(pattern, text, re.ASCII)`` says."""
        state = self.run(text.encode())
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


__all__ = ["DEAD", "MAX_STATES", "Automaton"]
