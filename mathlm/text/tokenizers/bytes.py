"""The tokenizer that learns nothing: each byte of UTF-8 is a token."""

import hashlib
from collections.abc import Iterable, Sequence

from ...errors import InputError
from .batches import BatchEncoder, require_one_text
from .pretokenize import require_names, utf8
from .stream import DecodeStream, not_text, require_errors

UNUSED = (0xC0, 0xC1, *range(0xF5, 0x100))  # bytes that no text in UTF-8 has
PLAIN = hashlib.sha256(b"mathlm bytes of UTF-8")


class Bytes(BatchEncoder):
    """Text as its bytes in UTF-8: 256 tokens, whose ids are their values.

    Equal to a :class:`ByteBPE` without merges, without the work of cutting words.

    Thirteen bytes never occur in UTF-8: 0xC0, 0xC1 and 0xF5 to 0xFF. They are the ids of
    special tokens, in the order of ``special``, so that a model of 256 tokens can read and
    write the markers of a conversation without a larger vocabulary.

    Args:
        special: Names of special tokens, 13 at most, such as ``ChatFormat.named().special``.

    Raises:
        InputTypeError: If ``special`` is no list of strings.
        InputError: If there are more than 13 names, or one is empty, repeated or no text.

    Example:
        >>> Bytes().encode("é")
        [195, 169]
        >>> Bytes(["<|end|>"]).special
        {'<|end|>': 192}
    """

    vocab_size = 256
    sha256 = PLAIN.hexdigest()

    def __init__(self, special: Sequence[str] = ()) -> None:
        require_names(special)
        if len(special) > len(UNUSED):
            raise InputError(
                f"special has {len(special)} names; {len(UNUSED)} bytes never occur in UTF-8"
            )
        self._names = dict(zip(UNUSED, special, strict=False))
        if special:
            digest = PLAIN.copy()
            digest.update(repr(list(special)).encode())
            self.sha256 = digest.hexdigest()

    @property
    def special(self) -> dict[str, int]:
        """Id of each special token."""
        return {name: token for token, name in self._names.items()}

    def encode(self, text: str) -> list[int]:
        """Bytes of a text; none of them is a special token, whatever the text spells.

        Raises:
            InputError: If the text holds a lone surrogate.
        """
        require_one_text(text)
        return list(utf8(text))

    def token_bytes(self, token: int) -> bytes:
        """The byte of an id, or the name of a special token.

        Raises:
            InputError: If the id is outside 0..255.
        """
        return self.decode_bytes([token])

    def decode_bytes(self, ids: Iterable[int], skip_special: bool = False) -> bytes:
        """Bytes of ids; a special token is its name, or nothing with ``skip_special``.

        Raises:
            InputError: If an id is outside 0..255.
        """
        try:
            plain = bytes(int(i) for i in ids)
        except ValueError as error:
            raise InputError(f"an id is no byte, 0..255: {error}") from error
        if not self._names:
            return plain
        names = {i: b"" if skip_special else utf8(name) for i, name in self._names.items()}
        return b"".join(names.get(i, bytes([i])) for i in plain)

    def decode(
        self, ids: Iterable[int], errors: str = "replace", skip_special: bool = False
    ) -> str:
        """Text of ids; U+FFFD where they are not UTF-8.

        Args:
            ids: Ids of tokens.
            errors: What to do with bytes that are not UTF-8: "replace" writes U+FFFD, "strict"
                raises, "ignore" drops them.
            skip_special: Leave special tokens out; otherwise their names are shown.

        Raises:
            InputError: If an id is outside 0..255, or with "strict" if the bytes are not UTF-8.
        """
        require_errors(errors)
        try:
            return self.decode_bytes(ids, skip_special).decode("utf-8", errors)
        except UnicodeDecodeError as error:
            raise not_text(error) from error

    def stream(self, errors: str = "replace", skip_special: bool = False) -> DecodeStream:
        """A decoder that takes one id at a time and returns what text is certain."""
        return DecodeStream(lambda ids: self.decode_bytes(ids, skip_special), errors)

    def __repr__(self) -> str:
        return f"Bytes({list(self._names.values())})" if self._names else "Bytes()"
