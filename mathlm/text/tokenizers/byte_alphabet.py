"""GPT-2's printable alphabet: one visible character for each of the 256 bytes."""

from ...errors import InputError


def _alphabet() -> tuple[str, ...]:
    """Bytes with a visible Latin-1 character keep it; the others get U+0100 onwards."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (chr(0x100 + n) for n in range(256 - len(visible)))
    return tuple(chr(byte) if byte in visible else next(others) for byte in range(256))


ALPHABET = _alphabet()
BYTES = {character: byte for byte, character in enumerate(ALPHABET)}


def to_printable(data: bytes) -> str:
    """Bytes as visible characters, one each; the space becomes Ġ and the newline Ċ.

    Example:
        >>> to_printable(" café".encode())
        'ĠcafÃ©'

    References:
        Radford et al. (2019), Language Models are Unsupervised Multitask Learners, section 2.2.
    """
    return "".join(ALPHABET[byte] for byte in data)


def from_printable(text: str) -> bytes:
    """The bytes that :func:`to_printable` wrote as ``text``.

    Raises:
        InputError: If a character stands for no byte; the message has its position.
    """
    try:
        return bytes([BYTES[character] for character in text])
    except KeyError as error:
        position = next(i for i, character in enumerate(text) if character not in BYTES)
        raise InputError(
            f"character {text[position]!r} at position {position} of {text!r} stands for no "
            f"byte; the alphabet has 256 characters from {ALPHABET[0x21]!r} to {max(BYTES)!r}"
        ) from error


__all__ = ["ALPHABET", "from_printable", "to_printable"]
