"""Text to words as BERT's uncased vocabularies expect them: clean, lower, strip, split."""

import unicodedata
from collections.abc import Callable

from .pretokenize import utf8

SPACES = "\t\n\r"  # control characters that count as white space
IDEOGRAPHS = (  # each character a word; the gap before 2B920 is the published table's
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0x2F800, 0x2FA1F),
)
# Later characters are plain letters to the tables of the published tokenizers, which are of
# Unicode 8.0: these ranges hold every mark, sign and format character that came after it.
AFTER_UNICODE_8 = """
5c8-5c9 61d-61d 7fd-7fd 890-8e2 9fd-9fe a76-a76 afa-aff b53-b55 c04-c3c c77-c77 c84-c84 d00-d00
d3b-d3c d81-d81 eba-eba ece-ece 180f-1886 1abf-1af0 1b4e-1b4f 1b7d-1b7f 1df6-1dfb 2e43-2e63
a82c-a82c a8c5-a8c5 a8ff-a8ff a9bd-a9bd 10d24-10f89 11070-11074 110c2-110cd 111cf-111cf
1123e-11241 1133b-1133b 113bb-1145e 11660-1166c 116b9-116b9 1182f-11fff 12ff1-1612f 16d6d-16f4f
16fe2-16fe4 1cf00-1d128 1d25b-1d25c 1e000-1e6f5 1e944-1e95f
"""
CHANGED = {0x166D: "Po", 0x1734: "Mn", 0x1171E: "Mn", 0x111C9: "Po"}  # categories they had then
NEWER = {
    code
    for first, last in (pair.split("-") for pair in AFTER_UNICODE_8.split())
    for code in range(int(first, 16), int(last, 16) + 1)
    if code not in CHANGED
}


class Table(dict[int, str]):
    """What `str.translate` puts for each code point, worked out at its first use."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        self.rule = rule

    def __missing__(self, code: int) -> str:
        self[code] = self.rule(chr(code))
        return self[code]


def category(char: str) -> str:
    """General category of a character, as of Unicode 8.0 where it matters."""
    code = ord(char)
    return "Cn" if code in NEWER else CHANGED.get(code) or unicodedata.category(char)


def clean(char: str) -> str:
    """No control characters, one kind of space, ideographs apart."""
    if char in SPACES:
        return " "
    if char in "\0\ufffd" or category(char) in {"Cc", "Cf", "Co"}:
        return ""
    if any(first <= ord(char) <= last for first, last in IDEOGRAPHS):
        return f" {char} "
    return " " if char.isspace() else char


def fold(char: str) -> str:
    """No accents, lower case, punctuation apart."""
    kind = category(char)
    if kind == "Mn":
        return ""
    ascii_sign = char.isascii() and char.isprintable() and not char.isalnum() and char != " "
    return f" {char} " if ascii_sign or kind.startswith("P") else char.lower()


CLEAN, FOLD = Table(clean), Table(fold)


def bert_words(text: str) -> list[str]:
    """The words that WordPiece cuts into pieces.

    Control characters vanish, accents are stripped, letters are lowered, and each punctuation
    mark and each Chinese character is a word of its own. Equal to the normalizer and the
    pre-tokenizer of uncased BERT in the `tokenizers` package, for every code point.

    Args:
        text: Any text.

    Raises:
        InputTypeError: If it is not a str.
        InputError: If it holds a lone surrogate.

    Example:
        >>> bert_words("Café, 中文!")
        ['cafe', ',', '中', '文', '!']
    """
    utf8(text)
    return unicodedata.normalize("NFD", text.translate(CLEAN)).translate(FOLD).split()


__all__ = ["bert_words"]
