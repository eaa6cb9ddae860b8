"""Public tests of word vectors: analogy questions, and pairs that people have rated.

They are read from the test data of the installed package ``gensim``, which is never imported.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from ...shapes import Float, Int
from .installed import data_file

PACKAGE = "gensim"
INSTALL = "pip install --no-deps gensim==4.4.0"
FOLDER = "test/test_data"

Question = tuple[str, str, str, str]
RatedPair = tuple[str, str, float]


@dataclass(frozen=True, kw_only=True)
class WordTest:
    """Where a test of word vectors comes from.

    Args:
        file: Name of the file in the test data of gensim.
        sha256: Its hash.
        scale: Lowest and highest rating; None for questions, which have one right answer.
        source: Who made it.
    """

    file: str
    sha256: str
    scale: tuple[int, int] | None
    source: str


WORD_TESTS = {
    "analogies": WordTest(
        file="questions-words.txt",
        sha256="8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
        scale=None,
        source="Mikolov et al. (2013), arXiv:1301.3781",
    ),
    "simlex999": WordTest(
        file="simlex999.txt",
        sha256="d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
        scale=(0, 10),
        source="Hill, Reichart and Korhonen (2015), Computational Linguistics 41 (4)",
    ),
    "wordsim353": WordTest(
        file="wordsim353.tsv",
        sha256="f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
        scale=(0, 10),
        source="Finkelstein et al. (2002), ACM Transactions on Information Systems 20 (1)",
    ),
}


def analogies() -> dict[str, list[Question]]:
    """Google's 19,544 analogy questions: a is to b as c is to d, in 14 sections.

    The words are spelled as in the file: names have a capital.

    Returns:
        For each section, in the order of the file, its questions (a, b, c, d).

    Raises:
        DataNotFoundError: If gensim is not installed; the message has the command.
        HashMismatchError: If its file is not the one that the book was written with.

    References:
        Mikolov, Chen, Corrado and Dean (2013), arXiv:1301.3781.
    """
    sections: dict[str, list[Question]] = {}
    for line in _lines("analogies"):
        if line.startswith(":"):
            questions = sections[line[1:].strip()] = []
        else:
            a, b, c, d = line.split()
            questions.append((a, b, c, d))
    return sections


def similarities(name: str) -> list[RatedPair]:
    """Pairs of words with the mean rating of how similar people find them.

    In ``"wordsim353"`` people rated how much two words have to do with each other (coffee and
    cup are near); in ``"simlex999"`` how alike the two things are (coffee and cup are not).

    Args:
        name: ``"wordsim353"`` or ``"simlex999"``.

    Returns:
        (word, other word, rating 0 ... 10), in the order of the file.

    Raises:
        InputError: If there is no such test.
        DataNotFoundError, HashMismatchError: As :func:`analogies`.
    """
    rated = sorted(name for name, test in WORD_TESTS.items() if test.scale)
    if name not in rated:
        raise InputError(f"no rated pairs are called {name!r}; there are {rated}")
    rows = (line.split("\t") for line in _lines(name) if not line.startswith("#"))
    return [(first, second, float(rating)) for first, second, rating in rows]


def analogy_rows(index: Mapping[str, int]) -> dict[str, Int[ndarray, "_ 4"]]:
    """The questions whose four words all have a vector, as numbers of rows.

    A word is looked up as it is spelled, and in lower case if that is not there.

    Args:
        index: Row of each word.

    Returns:
        For each section, rows of a, b, c and d. The others are left out: compare the lengths
        with those of :func:`analogies`, and say how many were asked.

    Raises:
        InputError: If no question is left.
        DataNotFoundError, HashMismatchError: As :func:`analogies`.
    """
    sections = {name: _rows(questions, index) for name, questions in analogies().items()}
    if not any(len(rows) for rows, _ in sections.values()):
        raise InputError(f"no question has all its words among the {len(index)} of the index")
    return {name: rows for name, (rows, _) in sections.items()}


def similarity_rows(
    name: str, index: Mapping[str, int]
) -> tuple[Int[ndarray, "P 2"], Float[ndarray, " P"]]:
    """The rated pairs whose two words have a vector, as numbers of rows, and the ratings.

    Args:
        name: As in :func:`similarities`.
        index: Row of each word; looked up as by :func:`analogy_rows`.

    Returns:
        Rows of both words, and how people rate the pair.

    Raises:
        InputError: If there is no such test, or no pair is left.
        DataNotFoundError, HashMismatchError: As :func:`analogies`.
    """
    pairs = similarities(name)
    rows, kept = _rows([pair[:2] for pair in pairs], index, width=2)
    if not kept:
        raise InputError(f"no pair of {name} has both its words among the {len(index)} given")
    return rows, np.array([pairs[i][2] for i in kept])


def _rows(
    items: list, index: Mapping[str, int], width: int = 4
) -> tuple[Int[ndarray, "N width"], list[int]]:
    """Rows of the words of each item that has them all, and which items these are."""
    if not isinstance(index, Mapping):
        raise InputTypeError(f"index must map words to rows, got {type(index).__name__}")
    for word, row in index.items():
        if not isinstance(row, int | np.integer) or row < 0:
            raise InputError(f"the row of {word!r} is {row!r}, expected an integer from 0")
    found = [
        [index[w] if w in index else index.get(w.lower(), -1) for w in item] for item in items
    ]
    kept = [i for i, rows in enumerate(found) if min(rows) >= 0]
    return np.array([found[i] for i in kept], dtype=np.int64).reshape(-1, width), kept


def _lines(name: str) -> list[str]:
    """Lines of a test that are not empty."""
    test = WORD_TESTS[name]
    path = data_file(PACKAGE, f"{FOLDER}/{test.file}", sha256=test.sha256, install=INSTALL)
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


__all__ = [
    "WORD_TESTS",
    "WordTest",
    "analogies",
    "analogy_rows",
    "similarities",
    "similarity_rows",
]
