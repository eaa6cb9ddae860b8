"""Sets of characters as ranges of code points, and as the bytes of UTF-8."""

from ..tokenizers.utf8 import LAST, SURROGATES, utf8_encode
from .regular import NOTHING, ByteSet, Regular, concatenate, either

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


__all__ = [
    "DIGITS",
    "LINE_BREAK",
    "SPACE",
    "WORD",
    "Ranges",
    "byte_range",
    "complement",
    "in_utf8",
]
