"""Regular expressions over bytes, and what is left of one when a byte has been read.

References:
    Brzozowski (1964), Derivatives of regular expressions.
    Owens, Reppy, Turon (2009), Regular-expression derivatives re-examined.
"""

from dataclasses import dataclass

from ...errors import InputError

ALL_BYTES = 2**256 - 1  # sets of bytes are integers of 256 bits


@dataclass(frozen=True)
class ByteSet:
    """One byte, of the ones whose bit is set in ``members``."""

    members: int


@dataclass(frozen=True)
class Concatenation:
    """The parts one after another; without parts, the empty string."""

    parts: tuple["Regular", ...]


@dataclass(frozen=True)
class Alternation:
    """Any one of two or more choices; sets, so that order and repeats do not matter."""

    choices: frozenset["Regular"]


@dataclass(frozen=True)
class Repetition:
    """The part from ``least`` to ``most`` times, None = any number of times."""

    part: "Regular"
    least: int
    most: int | None


Regular = ByteSet | Concatenation | Alternation | Repetition
NOTHING = ByteSet(0)  # no string at all
EMPTY = Concatenation(())  # the empty string alone


def concatenate(*parts: Regular) -> Regular:
    """Strings of the parts in a row, in the one form that equal ones share.

    Example:
        >>> from mathlm.text import parse_pattern
        >>> concatenate(parse_pattern("a"), parse_pattern("bc")) == parse_pattern("abc")
        True
    """
    flat: list[Regular] = []
    for part in parts:
        flat.extend(part.parts if isinstance(part, Concatenation) else (part,))
    if NOTHING in flat:
        return NOTHING
    return flat[0] if len(flat) == 1 else Concatenation(tuple(flat))


def either(*choices: Regular) -> Regular:
    """Strings of any of the choices, in the one form that equal ones share.

    Example:
        >>> from mathlm.text import parse_pattern
        >>> either(parse_pattern("yes"), parse_pattern("no")) == parse_pattern("no|yes")
        True
    """
    members = 0
    others: set[Regular] = set()
    for choice in choices:
        for one in choice.choices if isinstance(choice, Alternation) else (choice,):
            if isinstance(one, ByteSet):
                members |= one.members
            else:
                others.add(one)
    if members or not others:
        others.add(ByteSet(members))
    return next(iter(others)) if len(others) == 1 else Alternation(frozenset(others))


def repeat(part: Regular, least: int, most: int | None) -> Regular:
    """The part from ``least`` to ``most`` times, in the one form that equal ones share.

    Example:
        >>> from mathlm.text import parse_pattern
        >>> repeat(parse_pattern("a"), 1, None) == parse_pattern("a+")
        True
    """
    if most == 0 or part in (EMPTY, NOTHING):
        return NOTHING if part == NOTHING and least else EMPTY
    if accepts_empty(part):
        least = 0
    is_star = isinstance(part, Repetition) and (part.least, part.most) == (0, None)
    if is_star or (least, most) == (1, 1):
        return part
    return Repetition(part, least, most)


def accepts_empty(expression: Regular) -> bool:
    """Whether the empty string is one of an expression's strings.

    Example:
        >>> from mathlm.text import parse_pattern
        >>> accepts_empty(parse_pattern("a*")), accepts_empty(parse_pattern("a+"))
        (True, False)
    """
    match expression:
        case ByteSet():
            return False
        case Concatenation(parts):
            return all(accepts_empty(part) for part in parts)
        case Alternation(choices):
            return any(accepts_empty(choice) for choice in choices)
        case Repetition(part, least, _):
            return least == 0 or accepts_empty(part)


def derivative(expression: Regular, byte: int) -> Regular:
    """What may follow a byte: the rests of those strings that begin with it.

    Implements eq-gen-derivative::

        ∂ᵦ r = {w : b w ∈ r},   ε = the empty string
        ∂ᵦ(r s)    = ∂ᵦr · s, and ∂ᵦs too if ε ∈ r
        ∂ᵦ(r | s)  = ∂ᵦr | ∂ᵦs
        ∂ᵦ r{m,n}  = ∂ᵦr · r{m−1, n−1}     (m − 1 never below 0)

    A string w₁ … wₙ is one of r's if and only if ε is one of the strings of its n-th derivative
    by w₁ … wₙ. An expression has finitely many derivatives of all orders, and one that is not
    ``NOTHING`` has strings: a derivative is a state of an automaton without dead ends.

    Args:
        expression: r, as :func:`parse_pattern` gives it.
        byte: b, 0 to 255.

    Raises:
        InputError: If ``byte`` is none.

    Example:
        >>> from mathlm.text import parse_pattern
        >>> derivative(parse_pattern("yes|no"), ord("y")) == parse_pattern("es")
        True
    """
    if not 0 <= byte <= 255:
        raise InputError(f"byte={byte} is no byte: give a number from 0 to 255")
    match expression:
        case ByteSet(members):
            return EMPTY if members >> byte & 1 else NOTHING
        case Concatenation(parts):
            return _concatenation_derivative(parts, byte)
        case Alternation(choices):
            return either(*(derivative(choice, byte) for choice in choices))
        case Repetition(part, least, most):
            rest = repeat(part, max(least - 1, 0), None if most is None else most - 1)
            return concatenate(derivative(part, byte), rest)


def _concatenation_derivative(parts: tuple[Regular, ...], byte: int) -> Regular:
    """The byte is the first one of a part before which all parts may be empty."""
    choices = []
    for i, part in enumerate(parts):
        choices.append(concatenate(derivative(part, byte), *parts[i + 1 :]))
        if not accepts_empty(part):
            break
    return either(*choices)


def byte_classes(expression: Regular) -> set[int]:
    """Sets of bytes by which an expression has one and the same derivative.

    They part the 256 bytes; two sets may still have equal derivatives.

    Example:
        >>> from mathlm.text import parse_pattern
        >>> [members.bit_count() for members in sorted(byte_classes(parse_pattern("[0-9]")))]
        [10, 246]
    """
    match expression:
        case ByteSet(members):
            return {members, ALL_BYTES ^ members} - {0}
        case Repetition(part, _, _):
            return byte_classes(part)
        case Alternation(choices):
            parts = tuple(choices)
        case Concatenation(parts):
            count = next((i for i, p in enumerate(parts, 1) if not accepts_empty(p)), None)
            parts = parts[:count]
    classes = {ALL_BYTES}
    for part in parts:
        classes = {a & b for a in classes for b in byte_classes(part)} - {0}
    return classes


__all__ = [
    "ALL_BYTES",
    "EMPTY",
    "NOTHING",
    "Alternation",
    "ByteSet",
    "Concatenation",
    "Regular",
    "Repetition",
    "accepts_empty",
    "byte_classes",
    "concatenate",
    "derivative",
    "either",
    "repeat",
]
