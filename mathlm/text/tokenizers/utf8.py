"""UTF-8 by its bit patterns: how one code point becomes one to four bytes."""

from ...errors import InputError

LAST = 0x10FFFF  # the last code point of Unicode
SURROGATES = range(0xD800, 0xE000)  # halves of a pair in UTF-16; no characters


def utf8_length(code_point: int) -> int:
    """Number of bytes of a code point in UTF-8.

    Implements eq-utf8-length::

        n = 1 if u < 2⁷, else the smallest n ≥ 2 with u < 2⁵ⁿ⁺¹

    Args:
        code_point: u, from 0 to 0x10FFFF and not a surrogate.

    Returns:
        n [bytes], 1 to 4.

    Raises:
        InputError: If no character has this code point.
    """
    if not 0 <= code_point <= LAST or code_point in SURROGATES:
        raise InputError(
            f"code point {code_point:#x} is outside 0..{LAST:#x} or a surrogate "
            f"({SURROGATES[0]:#x}..{SURROGATES[-1]:#x}): UTF-8 has no bytes for it"
        )
    if code_point < 2**7:
        return 1
    return next(n for n in (2, 3, 4) if code_point < 2 ** (5 * n + 1))


def utf8_encode(code_point: int) -> bytes:
    """The bytes of a code point: a leading byte and n - 1 bytes that continue it.

    Computes::

        n = 1: 0xxxxxxx
        n > 1: n ones, a zero, 7 - n bits of u; then n - 1 times 10 and six bits of u

    Args:
        code_point: u, from 0 to 0x10FFFF and not a surrogate.

    Raises:
        InputError: If no character has this code point.

    Example:
        >>> utf8_encode(ord("é")).hex(" ")
        'c3 a9'
    """
    n = utf8_length(code_point)
    if n == 1:
        return bytes([code_point])
    marker = (0xFF << (8 - n)) & 0xFF  # n ones and 8 - n zeros
    sixes = [(code_point >> 6 * i) & 0b111111 for i in range(n - 1)]  # lowest bits first
    first = marker | code_point >> 6 * (n - 1)
    return bytes([first, *(0b10000000 | six for six in reversed(sixes))])


__all__ = ["LAST", "SURROGATES", "utf8_encode", "utf8_length"]
