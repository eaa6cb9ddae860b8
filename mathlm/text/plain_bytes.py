"""The tokenizer that learns nothing: each byte of UTF-8 is a token."""

import hashlib
from collections.abc import Iterable

from ..errors import InputError
from .pretokenize import utf8


class Bytes:
    """Text as its bytes in UTF-8: 256 tokens, whose ids are their values.

    Equal to a :class:`ByteBPE` without merges, without the work of cutting words.

    Example:
        >>> Bytes().encode("é")
        [195, 169]
    """

    vocab_size = 256
    sha256 = hashlib.sha256(b"mathlm bytes of UTF-8").hexdigest()

    def encode(self, text: str) -> list[int]:
        """Bytes of a text.

        Raises:
            InputError: If the text holds a lone surrogate.
        """
        return list(utf8(text))

    def decode(self, ids: Iterable[int]) -> str:
        """Text of bytes; U+FFFD where they are not UTF-8.

        Raises:
            InputError: If an id is outside 0..255.
        """
        try:
            return bytes(int(i) for i in ids).decode(errors="replace")
        except ValueError as error:
            raise InputError(f"an id is no byte, 0..255: {error}") from error
