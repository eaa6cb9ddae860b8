"""Which documents are prose worth reading: published rules of thumb, each with its measure.

References:
    Rae et al. (2021), arXiv:2112.11446, appendix A.1 and table A1 (Gopher, MassiveText).
    Raffel et al. (2020), arXiv:1910.10683, section 2.2 (C4; numbers of the journal's version).
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from ...errors import ConfigError, InputTypeError

STOP_WORDS = frozenset(["the", "be", "to", "of", "and", "that", "have", "with"])
BULLETS = ("•", "‣", "●", "-", "*")
LETTER = re.compile(r"[^\W\d_]")
SENTENCE_END = re.compile(r"[.!?][\"'”’)]*(?=\s|\Z)")


@dataclass(frozen=True, kw_only=True)
class QualityRule:
    """One rule of thumb: a measure of a text, and the range it must be in.

    Args:
        name: What it is about, in words.
        measure: From a text to a number.
        least: Smallest number that passes.
        most: Largest number that passes.

    Raises:
        ConfigError: If no number would pass.

    Example:
        >>> rule = QualityRule(name="words", measure=lambda text: len(text.split()), least=3)
        >>> rule.passes("To be or not"), rule.passes("Exit Ghost")
        (True, False)
    """

    name: str
    measure: Callable[[str], float]
    least: float | int = -math.inf
    most: float | int = math.inf

    def __post_init__(self) -> None:
        if not self.least <= self.most:
            raise ConfigError(f"{self.name}: least={self.least} is above most={self.most}")

    def passes(self, text: str) -> bool:
        """Whether the text is inside the range."""
        return self.least <= self.measure(text) <= self.most


def word_count(text: str) -> float:
    """Words between white space."""
    return float(len(text.split()))


def mean_word_length(text: str) -> float:
    """Characters of a word on average; 0 for no words."""
    words = text.split()
    return sum(map(len, words)) / len(words) if words else 0.0


def symbols_per_word(text: str) -> float:
    """Hash signs and ellipses for each word; 0 for no words."""
    symbols = text.count("#") + text.count("...") + text.count("…")
    return symbols / len(text.split()) if text.split() else 0.0


def bullet_share(text: str) -> float:
    """Share of the lines that begin with a bullet."""
    return _share(_lines(text), lambda line: line.lstrip().startswith(BULLETS))


def ellipsis_share(text: str) -> float:
    """Share of the lines that end with an ellipsis."""
    return _share(_lines(text), lambda line: line.rstrip().endswith(("...", "…")))


def alphabetic_share(text: str) -> float:
    """Share of the words that hold a letter."""
    return _share(text.split(), lambda word: bool(LETTER.search(word)))


def stop_words(text: str) -> float:
    """How many different ones of eight common English words the text has."""
    return float(len(STOP_WORDS.intersection(re.findall(r"[a-z]+", text.lower()))))


def repeated_share(parts: Sequence[str]) -> float:
    """Share of the parts that stood in the text before; 0 for none."""
    return 1 - len(set(parts)) / len(parts) if parts else 0.0


def repeated_characters(parts: Sequence[str]) -> float:
    """Share of the characters that are in parts that stood in the text before."""
    total = sum(map(len, parts))
    return 1 - sum(map(len, set(parts))) / total if total else 0.0


def top_gram_share(text: str, n: int) -> float:
    """Share of the characters of all words that are in the most frequent run of n words.

    0 if no run occurs twice; of runs that are equally frequent the first in the alphabet.
    """
    words = text.lower().split()
    counts = Counter(_grams(words, n))
    top, count = min(counts.items(), key=lambda item: (-item[1], item[0]), default=((), 0))
    return _covered(words, n, lambda gram: gram == top) if count > 1 else 0.0


def repeated_gram_share(text: str, n: int) -> float:
    """Share of the characters of all words that are in runs of n words that occur twice."""
    words = text.lower().split()
    counts = Counter(_grams(words, n))
    return _covered(words, n, lambda gram: counts[gram] > 1)


def sentence_count(text: str) -> float:
    """How often a sentence ends."""
    return float(len(SENTENCE_END.findall(text)))


def curly_brackets(text: str) -> float:
    """How often "{" occurs, a sign of program code."""
    return float(text.count("{"))


def lorem_ipsum(text: str) -> float:
    """How often "lorem ipsum" occurs, the text that stands for a text."""
    return float(text.lower().count("lorem ipsum"))


def _lines(text: str) -> list[str]:
    """The lines that hold more than white space."""
    return [line.strip() for line in text.split("\n") if line.strip()]


def _share(items: Sequence[str], holds: Callable[[str], bool]) -> float:
    """Share of the items for which it holds; 0 for none."""
    return sum(map(holds, items)) / len(items) if items else 0.0


def _paragraphs(text: str) -> list[str]:
    """What stands between empty lines."""
    return [part.strip() for part in re.split(r"\n\s*\n", text) if part.strip()]


def _grams(words: list[str], n: int) -> Iterator[tuple[str, ...]]:
    """Each run of n words."""
    return zip(*(words[i:] for i in range(n)), strict=False)


def _covered(words: list[str], n: int, counts: Callable[[tuple[str, ...]], bool]) -> float:
    """Share of the characters in runs that count; one that is in several is one character."""
    starts = [i for i, gram in enumerate(_grams(words, n)) if counts(gram)]
    inside = {i + j for i in starts for j in range(n)}
    return sum(len(words[i]) for i in inside) / sum(map(len, words)) if inside else 0.0


def _of(measure: Callable[[Sequence[str]], float], cut: Callable) -> Callable[[str], float]:
    """The measure of a text's parts."""
    return lambda text: measure(cut(text))


PARTS = {"lines": _lines, "paragraphs": _paragraphs}
GOPHER_RULES = (
    QualityRule(name="number of words", measure=word_count, least=50, most=100_000),
    QualityRule(name="mean word length", measure=mean_word_length, least=3, most=10),
    QualityRule(name="symbols for each word", measure=symbols_per_word, most=0.1),
    QualityRule(name="lines with a bullet", measure=bullet_share, most=0.9),
    QualityRule(name="lines with an ellipsis", measure=ellipsis_share, most=0.3),
    QualityRule(name="words with a letter", measure=alphabetic_share, least=0.8),
    QualityRule(name="stop words", measure=stop_words, least=2),
    *(
        QualityRule(name=f"repeated {name}", measure=_of(repeated_share, cut), most=0.3)
        for name, cut in PARTS.items()
    ),
    *(
        QualityRule(
            name=f"characters in repeated {name}",
            measure=_of(repeated_characters, cut),
            most=0.2,
        )
        for name, cut in PARTS.items()
    ),
    *(
        QualityRule(name=f"top {n}-gram", measure=partial(top_gram_share, n=n), most=most)
        for n, most in zip(range(2, 5), (0.20, 0.18, 0.16), strict=True)
    ),
    *(
        QualityRule(
            name=f"repeated {n}-grams", measure=partial(repeated_gram_share, n=n), most=most
        )
        for n, most in zip(range(5, 11), (0.15, 0.14, 0.13, 0.12, 0.11, 0.10), strict=True)
    ),
)
C4_RULES = (
    QualityRule(name="sentences", measure=sentence_count, least=3),
    QualityRule(name="curly brackets", measure=curly_brackets, most=0),
    QualityRule(name="lorem ipsum", measure=lorem_ipsum, most=0),
)


def broken_rules(text: str, rules: Sequence[QualityRule] = GOPHER_RULES) -> list[str]:
    """Names of the rules that a text breaks, in their order.

    The rules were made for pages of the English web. What they say of other texts, of verse, a
    dictionary or another language, is a measurement of the rules.

    Args:
        text: A document.
        rules: :data:`GOPHER_RULES`, :data:`C4_RULES`, or your own.

    Raises:
        InputTypeError: If the text is not a str.

    Example:
        >>> broken_rules("to be")[0]
        'number of words'
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a document must be a str, got {type(text).__name__}")
    return [rule.name for rule in rules if not rule.passes(text)]


def filter_quality(
    documents: Iterable[str], rules: Sequence[QualityRule] = GOPHER_RULES
) -> tuple[list[int], dict[str, int]]:
    """Which documents break no rule, and how many each rule would drop.

    Args:
        documents: The texts.
        rules: As in :func:`broken_rules`.

    Returns:
        Numbers of the documents that pass all rules, and the number of documents that break
        each rule; a document that breaks two is counted twice.

    Raises:
        InputTypeError: If ``documents`` is one str, or a document is not a str.

    Example:
        >>> long = QualityRule(name="words", measure=lambda text: len(text.split()), least=3)
        >>> filter_quality(["To be or not", "Exit Ghost"], [long])
        ([0], {'words': 1})
    """
    if isinstance(documents, str | bytes):
        kind = type(documents).__name__
        raise InputTypeError(f"documents is one {kind}, expected several; write [text]")
    kept, counts = [], {rule.name: 0 for rule in rules}
    for number, text in enumerate(documents):
        broken = broken_rules(text, rules)
        for name in broken:
            counts[name] += 1
        if not broken:
            kept.append(number)
    return kept, counts
