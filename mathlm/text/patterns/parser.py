"""Patterns in the notation of ``re``, as regular expressions over the bytes of UTF-8."""

from ...errors import InputError, InputTypeError
from ..tokenizers.pretokenize import utf8
from ..tokenizers.stream import LAST, SURROGATES, utf8_encode
from .regular import NOTHING, ByteSet, Regular, concatenate, either, repeat

Ranges = tuple[tuple[int, int], ...]  # first and last code point of each range

DIGITS: Ranges = ((0x30, 0x39),)
WORD: Ranges = (*DIGITS, (0x41, 0x5A), (0x5F, 0x5F), (0x61, 0x7A))
SPACE: Ranges = ((0x09, 0x0D), (0x20, 0x20))
LINE_BREAK: Ranges = ((0x0A, 0x0A),)
LENGTHS = ((0, 0x7F), (0x80, 0x7FF), (0x800, 0xFFFF), (0x10000, LAST))  # 1, 2, 3, 4 bytes


def complement(ranges: Ranges) -> Ranges:
    """The code points that are in none of the ranges."""
    gaps, begin = [], 0
    for first, last in sorted(ranges):
        if begin < first:
            gaps.append((begin, first - 1))
        begin = max(begin, last + 1)
    return (*gaps, (begin, LAST)) if begin <= LAST else tuple(gaps)


def in_utf8(ranges: Ranges) -> Regular:
    """The expression whose strings are the UTF-8 of the characters in the ranges.

    Surrogates are no characters, and are left out.
    """
    pieces: list[tuple[int, int]] = []
    for first, last in ranges:
        for low, high in (
            (first, min(last, SURROGATES[0] - 1)),
            (max(first, SURROGATES[-1] + 1), last),
        ):
            pieces.extend((max(low, a), min(high, b)) for a, b in LENGTHS)
    return either(
        NOTHING, *(_between(utf8_encode(a), utf8_encode(b)) for a, b in pieces if a <= b)
    )


def byte_range(first: int, last: int) -> ByteSet:
    """One byte from ``first`` to ``last``; none where ``first`` is larger."""
    return ByteSet((1 << max(last + 1, first)) - (1 << first))


def _between(low: bytes, high: bytes) -> Regular:
    """All UTF-8 from ``low`` to ``high``, which are equally long, in the order of bytes."""
    if len(low) == 1:
        return byte_range(low[0], high[0])
    if low[0] == high[0]:
        return concatenate(byte_range(low[0], low[0]), _between(low[1:], high[1:]))
    n = len(low) - 1
    lowest, highest, any_rest = b"\x80" * n, b"\xbf" * n, (byte_range(0x80, 0xBF),) * n
    return either(
        concatenate(byte_range(low[0], low[0]), _between(low[1:], highest)),
        concatenate(byte_range(low[0] + 1, high[0] - 1), *any_rest),
        concatenate(byte_range(high[0], high[0]), _between(lowest, high[1:])),
    )


MAX_COUNT = 4096  # of {m,n}: an automaton counts with its states
MAX_LENGTH = 8192  # characters of a pattern
MAX_DEPTH = 50  # groups inside groups
CLASSES = {"d": DIGITS, "s": SPACE, "w": WORD}
CONTROLS = {"a": 7, "f": 12, "n": 10, "r": 13, "t": 9, "v": 11}
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
QUANTIFIERS: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}


def parse_pattern(pattern: str) -> Regular:
    r"""The regular expression that a pattern writes down.

    It reads what ``re.fullmatch(pattern, text, re.ASCII)`` reads, and means the same: literals,
    ``.`` (all but the line break), ``\d \D \w \W \s \S`` (ASCII), ``[a-z]``, ``[^a-z]``,
    ``\n``, ``\x41``, ``\u00e9``, groups ``( )`` and ``(?: )``, ``|``, ``* + ?`` and
    ``{m} {m,} {,n} {m,n}``. Anchors, look-around and back references are refused: the first
    have no use where the whole text must match, the last are not regular.

    Args:
        pattern: The whole of what a text may be.

    Returns:
        An expression over bytes. A character of several bytes is that many in a row, so that a
        token may hold any part of it.

    Raises:
        InputError: If the pattern is malformed or uses what is refused; the message has the
            position.
        InputTypeError: If it is not a str.

    Example:
        >>> from mathlm.text import Automaton
        >>> either = Automaton.from_expression(parse_pattern("yes|no"))
        >>> either.matches("yes"), either.matches("yesno")
        (True, False)
    """
    if not isinstance(pattern, str):
        raise InputTypeError(
            f"pattern must be a str, got {type(pattern).__name__}: write it as for re.fullmatch"
        )
    utf8(pattern)
    if len(pattern) > MAX_LENGTH:
        raise InputError(f"pattern has {len(pattern):,} characters; {MAX_LENGTH:,} is the most")
    return _Parser(pattern).parse()


class _Parser:
    """Reads a pattern from left to right; ``at`` is the position of the next character."""

    def __init__(self, pattern: str) -> None:
        self.pattern, self.at, self.depth = pattern, 0, 0

    def parse(self) -> Regular:
        expression = self.alternation()
        if self.at < len(self.pattern):  # only ")" ends an alternation before the end
            raise self.error(self.at, "closes a group that was never opened; write \\)")
        return expression

    def alternation(self) -> Regular:
        choices = [self.sequence()]
        while self.take("|"):
            choices.append(self.sequence())
        return either(*choices)

    def sequence(self) -> Regular:
        parts = []
        while self.at < len(self.pattern) and self.pattern[self.at] not in "|)":
            parts.append(self.quantified(self.item()))
        return concatenate(*parts)

    def quantified(self, part: Regular) -> Regular:
        counts = self.counts()
        if counts is None:
            return part
        if self.peek() in QUANTIFIERS or self.peek() == "{":
            why = "follows a quantifier: which match is found first makes no difference here, "
            raise self.error(self.at, why + "and to repeat a repeat needs a group ( )")
        return repeat(part, *counts)

    def counts(self) -> tuple[int, int | None] | None:
        """Least and most repeats, if a quantifier is next."""
        if (character := self.peek()) in QUANTIFIERS:
            self.at += 1
            return QUANTIFIERS[character]
        return self.braces() if character == "{" else None

    def braces(self) -> tuple[int, int | None]:
        begin = self.at
        end = self.pattern.find("}", begin)
        low, comma, high = self.pattern[begin + 1 : max(end, begin)].partition(",")
        if end < 0 or not (low or high) or not _are_digits(low + high):
            raise self.error(begin, "is no quantifier {m}, {m,}, {,n} or {m,n}; write \\{")
        self.at = end + 1
        least = self.count(low, begin) if low else 0
        if not high:
            return least, None if comma else least
        most = self.count(high, begin)
        if least > most:
            raise self.error(begin, f"asks for at least {least} and at most {most} repeats")
        return least, most

    def count(self, digits: str, begin: int) -> int:
        if len(digits.lstrip("0")) > len(str(MAX_COUNT)) or int(digits) > MAX_COUNT:
            raise self.error(begin, f"repeats {digits[:12]} times; {MAX_COUNT} is the most")
        return int(digits)

    def item(self) -> Regular:
        begin, character = self.at, self.pattern[self.at]
        self.at += 1
        if character == "(":
            return self.group(begin)
        if character == "[":
            return in_utf8(self.character_class(begin))
        if character == ".":
            return in_utf8(complement(LINE_BREAK))
        if character == "\\":
            return in_utf8(self.escape(begin))
        if character in "*+?{":
            raise self.error(
                begin, f"has nothing to repeat; for the character write \\{character}"
            )
        if character in "^$":
            why = "is an anchor, but the whole text must match anyway; for the character write "
            raise self.error(begin, f"{why}\\{character}")
        return in_utf8(_one(ord(character)))

    def group(self, begin: int) -> Regular:
        if self.take("?") and not self.take(":"):
            kind = self.pattern[begin : begin + 3]
            raise self.error(begin, f"begins {kind!r}; of such groups only (?: ) is read")
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise self.error(begin, f"is a group inside {MAX_DEPTH} others; that is the most")
        expression = self.alternation()
        self.depth -= 1
        if not self.take(")"):
            raise self.error(begin, "opens a group that is never closed; for it write \\(")
        return expression

    def character_class(self, begin: int) -> Ranges:
        negated, first = self.take("^"), True
        ranges: list[tuple[int, int]] = []
        while first or self.peek() != "]":
            ranges.extend(self.class_item(begin))
            first = False
        self.at += 1
        return complement(tuple(ranges)) if negated else tuple(ranges)

    def class_item(self, begin: int) -> Ranges:
        r"""One character, an escape such as ``\d``, or a range."""
        at, low = self.at, self.class_character(begin)
        if self.peek() != "-" or self.pattern[self.at + 1 : self.at + 2] in ("]", ""):
            return low
        self.at += 1
        high = self.class_character(begin)
        if not (_is_one(low) and _is_one(high) and low[0][0] <= high[0][1]):
            text = self.pattern[at : self.at]
            raise self.error(at, f"begins {text!r}, no range from a character to a later one")
        return ((low[0][0], high[0][1]),)

    def class_character(self, begin: int) -> Ranges:
        if self.at >= len(self.pattern):
            raise self.error(begin, "opens a class that is never closed; for it write \\[")
        at, character = self.at, self.pattern[self.at]
        self.at += 1
        return self.escape(at) if character == "\\" else _one(ord(character))

    def escape(self, begin: int) -> Ranges:
        """What stands behind a backslash, which is at ``begin``."""
        if self.at >= len(self.pattern):
            raise self.error(begin, "is the last character; for a backslash write two")
        character = self.pattern[self.at]
        self.at += 1
        if character.lower() in CLASSES:
            ranges = CLASSES[character.lower()]
            return ranges if character.islower() else complement(ranges)
        if character in CONTROLS:
            return _one(CONTROLS[character])
        if character in HEX_DIGITS:
            return _one(self.hexadecimal(begin, HEX_DIGITS[character]))
        if character.isascii() and character.isalnum():
            known = "\\d \\D \\w \\W \\s \\S \\a \\f \\n \\r \\t \\v \\x \\u \\U"
            raise self.error(begin, f"escapes {character!r}; of letters and digits: {known}")
        return _one(ord(character))

    def hexadecimal(self, begin: int, count: int) -> int:
        digits = self.pattern[self.at : self.at + count]
        if len(digits) < count or set(digits) - set("0123456789abcdefABCDEF"):
            raise self.error(begin, f"needs {count} hexadecimal digits, found {digits!r}")
        self.at += count
        point = int(digits, 16)
        if point > 0x10FFFF or 0xD800 <= point < 0xE000:
            raise self.error(begin, f"stands for U+{point:04X}, which is no character")
        return point

    def peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def take(self, character: str) -> bool:
        """Step over ``character`` if it is next."""
        found = self.peek() == character
        self.at += found
        return found

    def error(self, at: int, why: str) -> InputError:
        return InputError(
            f"pattern {self.pattern[:60]!r}, position {at}: {self.pattern[at]!r} {why}"
        )


def _one(point: int) -> Ranges:
    return ((point, point),)


def _is_one(ranges: Ranges) -> bool:
    return len(ranges) == 1 and ranges[0][0] == ranges[0][1]


def _are_digits(text: str) -> bool:
    return text.isascii() and text.isdigit()
