"""Tokens to text one at a time, as a model writes them."""

import codecs
from collections.abc import Callable
from typing import Any, Literal, get_args

from ...errors import InputError

Errors = Literal["replace", "strict", "ignore"]


def require_errors(errors: str) -> None:
    """Raise unless ``errors`` names a way to treat bytes that are not UTF-8."""
    if errors not in get_args(Errors):
        raise InputError(f"errors={errors!r} must be one of {', '.join(get_args(Errors))}")


def not_text(error: UnicodeDecodeError) -> InputError:
    """What to raise for bytes that are not UTF-8."""
    found = error.object[error.start : error.end].hex(" ")
    return InputError(
        f"bytes {found} at {error.start} of {len(error.object)} are not UTF-8 "
        f"({error.reason}): decode with errors='replace', or take decode_bytes"
    )


class DecodeStream:
    """Text of a growing list of tokens; characters come as soon as they are complete.

    A token may end inside a character. Its bytes wait until the character is whole. All pieces
    together are the text that ``decode`` gives for all tokens at once.

    Args:
        to_bytes: Bytes of a list of ids.
        errors: "replace" writes U+FFFD for bytes that are not UTF-8, as ``bytes.decode`` does;
            "strict" raises, "ignore" drops them.

    Raises:
        InputError: If ``errors`` is another word.

    Example:
        >>> from mathlm.text import Bytes
        >>> stream = Bytes().stream()
        >>> [stream.push(token) for token in "né".encode()]
        ['n', '', 'é']
    """

    def __init__(self, to_bytes: Callable[[list[Any]], bytes], errors: str = "replace") -> None:
        require_errors(errors)
        self._to_bytes = to_bytes
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors)

    def push(self, token: Any) -> str:
        """Text that is certain once ``token`` has come; it may be empty.

        Raises:
            InputError: If the id is unknown, or with "strict" if the bytes are not UTF-8; these
                are dropped, and the stream is then as new.
        """
        return self._decode(self._to_bytes([token]), final=False)

    def end(self) -> str:
        """What is left when no token follows; the stream is then as new.

        Raises:
            InputError: With "strict", if a character is incomplete; it is dropped.
        """
        return self._decode(b"", final=True)

    def _decode(self, data: bytes, *, final: bool) -> str:
        try:
            return self._decoder.decode(data, final)
        except UnicodeDecodeError as error:
            self._decoder.reset()
            raise not_text(error) from error


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

    Example:
        >>> utf8_length(ord("€"))
        3
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
