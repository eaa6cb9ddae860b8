"""WordPiece, the tokenizer of BERT: greedy longest match against a fixed vocabulary."""

import operator
import unicodedata
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from ...errors import DataError, DataNotFoundError, InputError, InputTypeError
from .batches import BatchEncoder, TokenBatch, require_one_text, require_texts
from .pretokenize import require_allowed, split_special, utf8

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


UNK, CLS, SEP, PAD, MASK = "[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"
CONTINUES = "##"  # begins a piece that does not begin a word
LONGEST_WORD = 100  # characters; a longer word is unknown
CLOSING = ".?!,"  # written without a space before them


class WordPiece(BatchEncoder):
    """A vocabulary of word beginnings and continuations, and the greedy rule that applies it.

    A word is cut from the left: the longest piece that begins it, then the longest that
    continues it, and so on. A word with a character that no piece continues, or of more than
    100 characters, is one ``[UNK]`` as a whole. Uncased: see `bert_words`.

    Text never becomes a special token, whatever it says, unless ``allowed_special`` names it.

    Args:
        pieces: The vocabulary; the place of a piece is its id.

    Attributes:
        vocab: Id of each piece.
        special: Ids of ``[PAD]``, ``[UNK]``, ``[CLS]``, ``[SEP]`` and, where there, ``[MASK]``.

    Raises:
        InputError: If a piece is empty, there twice or a lone surrogate, or one of the first
            four special tokens is missing.
        InputTypeError: If the pieces are no sequence, or one is no str.

    Example:
        >>> pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "un", "##aff", "##able", "the"]
        >>> tokenizer = WordPiece(pieces)
        >>> tokenizer.tokens("The unaffable")
        ['the', 'un', '##aff', '##able']
        >>> tokenizer.encode("The unaffable")
        [2, 7, 4, 5, 6, 3]

    References:
        Schuster and Nakajima (2012), doi:10.1109/ICASSP.2012.6289079; Devlin et al. (2018),
        arXiv:1810.04805.
    """

    def __init__(self, pieces: Sequence[str]) -> None:
        if isinstance(pieces, str) or not isinstance(pieces, Sequence):
            kind = type(pieces).__name__
            raise InputTypeError(f"pieces must be a list, in the order of the ids, got {kind}")
        self.pieces = list(pieces)
        self.vocab: dict[str, int] = {}
        for i, piece in enumerate(self.pieces):
            utf8(piece)
            if not piece or piece in self.vocab:
                what = f"also {self.vocab[piece]}" if piece else "empty"
                raise InputError(f"id {i} of the vocabulary, {piece!r}, is {what}")
            self.vocab[piece] = i
        missing = [name for name in (PAD, UNK, CLS, SEP) if name not in self.vocab]
        if missing:
            raise InputError(
                f"the vocabulary of {len(self.pieces)} pieces lacks {', '.join(missing)}"
            )
        names = (PAD, UNK, CLS, SEP, MASK)
        self.special = {name: self.vocab[name] for name in names if name in self.vocab}
        self._longest = max(map(len, self.pieces))

    @classmethod
    def load(cls, path: str | Path) -> "WordPiece":
        """Read ``vocab.txt``, one piece a line, or the folder that holds it.

        Raises:
            DataNotFoundError: If it is not there.
            DataError: If a line is empty or there twice, a special token is missing, or the
                file is not UTF-8.
        """
        path = Path(path)
        file = path / "vocab.txt" if path.is_dir() else path
        if not file.is_file():
            raise DataNotFoundError(f"no vocabulary at {file}: expected a vocab.txt")
        try:
            lines = file.read_text(encoding="utf-8").split("\n")
            return cls(lines[:-1] if lines[-1] == "" else lines)
        except ValueError as error:
            raise DataError(
                f"{file} is no WordPiece vocabulary, one piece a line from id 0: {error}"
            ) from error

    def __len__(self) -> int:
        return len(self.pieces)

    @property
    def vocab_size(self) -> int:
        """Number of pieces, the special ones too."""
        return len(self.pieces)

    def split_word(self, word: str) -> list[str]:
        """The pieces of one word, or ``[UNK]`` alone."""
        if len(word) > LONGEST_WORD:
            return [UNK]
        pieces, start = [], 0
        while start < len(word):
            prefix = CONTINUES if start else ""
            end = min(len(word), start + self._longest)
            while end > start and prefix + word[start:end] not in self.vocab:
                end -= 1
            if end == start:
                return [UNK]
            pieces.append(prefix + word[start:end])
            start = end
        return pieces

    def tokens(self, text: str, allowed_special: Collection[str] | str = ()) -> list[str]:
        """The pieces of a text, without ``[CLS]`` and ``[SEP]``."""
        allowed = require_allowed(allowed_special, self.special)
        require_one_text(text)
        utf8(text)
        out: list[str] = []
        for i, part in enumerate(split_special(text, allowed)):
            if i % 2:
                out.append(part)
            else:
                out += (piece for word in bert_words(part) for piece in self.split_word(word))
        return out

    def encode(
        self,
        text: str,
        pair: str | None = None,
        *,
        special: bool = True,
        allowed_special: Collection[str] | str = (),
    ) -> list[int]:
        """Ids of ``[CLS] text [SEP]``, or of ``[CLS] text [SEP] pair [SEP]``; never cut.

        Args:
            text: Any text, empty too.
            pair: A second text; `encode_pair` also says which token is of which.
            special: Whether to add ``[CLS]`` and ``[SEP]``.
            allowed_special: Special tokens to read in the text, such as ``["[MASK]"]``, or
                "all". The others are ordinary text.

        Raises:
            InputTypeError: If a text is not a str.
            InputError: If a text holds a lone surrogate, or no special token is called so.
        """
        if pair is not None:
            return self.encode_pair(
                text, pair, special=special, allowed_special=allowed_special
            )[0]
        ids = [self.vocab[piece] for piece in self.tokens(text, allowed_special)]
        return [self.vocab[CLS], *ids, self.vocab[SEP]] if special else ids

    def encode_pair(
        self,
        text: str,
        pair: str,
        *,
        special: bool = True,
        allowed_special: Collection[str] | str = (),
    ) -> tuple[list[int], list[int]]:
        """Ids of two texts, and the segment of each token: 0 to the first ``[SEP]``, then 1."""
        first = self.encode(text, special=special, allowed_special=allowed_special)
        second = self.encode(pair, special=special, allowed_special=allowed_special)
        second = second[1:] if special else second  # one [CLS], at the beginning
        return first + second, [0] * len(first) + [1] * len(second)

    def batch(
        self, texts: Sequence[str], max_length: int, *, truncate: bool = False
    ) -> TokenBatch:
        """Texts as one array, padded with ``[PAD]`` on the right to the longest of them.

        Args:
            texts: At least one text.
            max_length: Most tokens that a row may have, ``[CLS]`` and ``[SEP]`` included.
            truncate: Whether a longer text is cut, to its first ``max_length - 2`` tokens
                between ``[CLS]`` and ``[SEP]``. If not, it is an error.

        Returns:
            ids, and mask: True on tokens, False on padding.

        Raises:
            InputError: If there is no text, ``max_length`` is below 2, or a text is longer and
                ``truncate`` is False.
            InputTypeError: If ``texts`` is one str and not a sequence of them.
        """
        if isinstance(texts, str):
            raise InputTypeError(f"texts must be a sequence of str, got one: {texts!r:.60}")
        texts = require_texts(texts)
        if not texts or max_length < 2:
            raise InputError(
                f"got {len(texts)} texts and max_length={max_length}; need at least one text "
                f"and room for {CLS} and {SEP}, 2 tokens"
            )
        return self(texts, max_length=max_length, truncate=truncate)

    @property
    def pad_id(self) -> int:
        """Id of ``[PAD]``."""
        return self.vocab[PAD]

    def _cut(self, row: list[int], max_length: int) -> list[int]:
        """The beginning, with ``[SEP]`` at its end where the text had it."""
        end = row[-1:] if row[-1] == self.vocab[SEP] else []
        return row[: max_length - len(end)] + end

    def decode(self, ids: Iterable[Any], skip_special: bool = False) -> str:
        """The text of the ids: pieces joined, one space between words.

        Case, accents, and the white space of the original are lost, and so is every word that
        is ``[UNK]``: decode(encode(text)) is rarely the text.

        Raises:
            InputError: If an id is not in the vocabulary; the message has its position.
            InputTypeError: If ``ids`` is no list of ids but one id, or text.
        """
        if isinstance(ids, str | bytes) or not isinstance(ids, Iterable):
            raise InputTypeError(f"ids must be a list of integers, got {type(ids).__name__}")
        text = ""
        for position, token in enumerate(ids):
            piece = self._piece(token, position)
            if skip_special and piece in self.special:
                continue
            if text and piece.startswith(CONTINUES):
                text += piece.removeprefix(CONTINUES)
            else:
                text += piece if not text or piece in CLOSING else f" {piece}"
        return text

    def _piece(self, token: Any, position: int) -> str:
        try:
            index = -1 if isinstance(token, bool) else operator.index(token)
        except TypeError:
            index = -1
        if not 0 <= index < len(self):
            raise InputError(
                f"id {token!r} at position {position} is no token; ids are integers in "
                f"0..{len(self) - 1}"
            )
        return self.pieces[index]
