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


__all__ = ["DecodeStream", "Errors"]
