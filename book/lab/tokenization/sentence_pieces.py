"""What SentencePiece does around a vocabulary of pieces: spaces as symbols, bytes as a way out.

References:
    Kudo and Richardson (2018), arXiv:1808.06226.
"""

import re
from collections.abc import Mapping, Sequence

from mathlm.text import viterbi

SPACE, RARE = "▁", -1e3  # log p of a character that no piece holds: below that of any cut
BYTE = re.compile(r"<0x([0-9A-F]{2})>")


def to_pieces(text: str, log_p: Mapping[str, float]) -> list[str]:
    """The most probable pieces of a text, in which a space is a symbol like any other.

    A character that is in no piece becomes its bytes in UTF-8, each a piece ``<0x..>``.

    Args:
        text: Any text; one space is put before it, as before every word.
        log_p: log p(s) of each piece s [nats]; "▁" stands for a space.

    Example:
        >>> to_pieces("a ü", {"▁a": -1.0, "▁": -1.0})
        ['▁a', '▁', '<0xC3>', '<0xBC>']
    """
    line = (" " + text).replace(" ", SPACE)
    known = {c for piece in log_p for c in piece}
    missing = {c: RARE for c in line if c not in known}
    pieces: list[str] = []
    for piece in viterbi(line, {**log_p, **missing})[0]:
        spelled = [f"<0x{byte:02X}>" for byte in piece.encode()]
        pieces += spelled if piece in missing else [piece]
    return pieces


def to_text(pieces: Sequence[str]) -> str:
    """The text of pieces: join them, bytes as bytes, and write spaces again."""
    raw = [BYTE.fullmatch(piece) for piece in pieces]
    parts = [
        bytes.fromhex(byte[1]) if byte else piece.encode()
        for byte, piece in zip(raw, pieces, strict=True)
    ]
    return b"".join(parts).decode(errors="replace").replace(SPACE, " ").removeprefix(" ")


__all__ = ["to_pieces", "to_text"]
