"""Grader of the project of this page: a byte-pair trainer with a heap."""

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from itertools import pairwise
from typing import Any

from lab.grading import Case, FaultError, Report, grade_by
from mathlm.text import learn_merges_naive
from mathlm.text.tokenizers.bpe import count_pairs, merge_pair, token_bytes

Pair = tuple[int, int]
Words = Mapping[bytes, int]
Train = Callable[..., Any]
Split = dict[tuple[int, ...], int]
CORPORA, SLOW_MERGES, MERGES, SHARE = 1000, 10, 300, 0.4


def grade(train: Train) -> Report:
    """Test a byte-pair trainer: small corpora, 1,000 random ones, and its speed.

    What it learns is compared with the naive trainer of the package and with what common
    mistakes learn, so that the report can name the mistake.

    Args:
        train: ``train(words, n_merges)`` gets the bytes of each word with its count and
            returns a list of pairs of ids. Ids 0 to 255 are the bytes, 256 + k is what merge k
            made. Ties go to the pair whose left token comes first in the order of bytes, then
            whose right token does. It ends early when no pair occurs twice.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, train)


def _merges(train: Train, words: Words, n_merges: int) -> list[Pair]:
    """The merges, once their form is right and the argument is untouched."""
    given = dict(words)
    found = train(given, n_merges)
    if given != dict(words):
        raise FaultError("your code changes its argument words in place.")
    if not isinstance(found, list | tuple):
        raise FaultError(f"train must return a list of pairs, it returned {_kind(found)}.")
    for k, pair in enumerate(found):
        if not (_is_pair(pair) and all(isinstance(i, int) for i in pair)):
            raise FaultError(
                f"merge {k} is {pair!r}; a merge is a pair of ids, 0 to 255 for the bytes and "
                "256 + k for what merge k made."
            )
        if not 0 <= min(pair) <= max(pair) < 256 + k:
            raise FaultError(f"merge {k} joins {pair}, but ids 0 to {255 + k} exist before it.")
    if len(found) > n_merges:
        raise FaultError(f"{n_merges} merges were asked for and {len(found)} came back.")
    return [(int(a), int(b)) for a, b in found]


def _is_pair(thing: Any) -> bool:
    return isinstance(thing, list | tuple) and len(thing) == 2


def _kind(thing: Any) -> str:
    return type(thing).__name__


# --- what common mistakes learn -------------------------------------------------------------


def _learn(
    words: Words,
    n_merges: int,
    count: Callable[[Split], Counter[Pair]] = count_pairs,
    join: Callable[[tuple[int, ...], Pair, int], tuple[int, ...]] = merge_pair,
    order: Callable[[Pair, list[bytes], list[Pair]], Any] | None = None,
    least: int = 2,
    keep: Callable[[Pair, int, int], int] | None = None,
) -> list[Pair]:
    """Merges by the definition, with one of its parts exchanged for a mistaken one."""
    split: Split = {tuple(word): n for word, n in words.items()}
    tokens, merges, believed = token_bytes([]), list[Pair](), dict[Pair, int]()
    by = order or (lambda pair, tokens, seen: (tokens[pair[0]], tokens[pair[1]]))
    while len(merges) < n_merges:
        counts = count(split)
        for pair, n in counts.items():
            believed.setdefault(pair, n)
        if keep:
            counts = Counter({p: keep(p, n, believed[p]) for p, n in counts.items()})
        seen = list(counts)
        if not counts or max(counts.values()) < least:
            break
        most = max(counts.values())
        tied = [pair for pair in seen if counts[pair] == most]
        best = min(tied, key=lambda pair: by(pair, tokens, seen))
        new = len(tokens)
        split = _sum((join(word, best, new), n) for word, n in split.items())
        tokens.append(tokens[best[0]] + tokens[best[1]])
        merges.append(best)
    return merges


def _sum(words: Any) -> Split:
    total: Split = {}
    for word, n in words:
        total[word] = total.get(word, 0) + n
    return total


def _each_word_once(split: Split) -> Counter[Pair]:
    return count_pairs(dict.fromkeys(split, 1))


def _no_overlaps(split: Split) -> Counter[Pair]:
    """Runs of one token count every second place only."""
    counts: Counter[Pair] = Counter()
    for word, n in split.items():
        last: tuple[Pair, int] | None = None
        for i, pair in enumerate(pairwise(word)):
            if pair[0] == pair[1] and last == (pair, i - 1):
                last = None
                continue
            counts[pair] += n
            last = (pair, i)
    return counts


def _once_per_word(split: Split) -> Counter[Pair]:
    counts: Counter[Pair] = Counter()
    for word, n in split.items():
        counts.update(dict.fromkeys(pairwise(word), n))
    return counts


def _from_the_right(word: tuple[int, ...], pair: Pair, new: int) -> tuple[int, ...]:
    return merge_pair(word[::-1], (pair[1], pair[0]), new)[::-1]


def _first_place(word: tuple[int, ...], pair: Pair, new: int) -> tuple[int, ...]:
    for i, found in enumerate(pairwise(word)):
        if found == pair:
            return (*word[:i], new, *word[i + 2 :])
    return word


MISTAKES: dict[str, Callable[[Words, int], list[Pair]]] = {
    "each different word is counted once; it counts as often as it occurs.": (
        lambda w, n: _learn(w, n, count=_each_word_once)
    ),
    "in a run, overlapping places are counted once; by the definition aaa holds (a, a) at two "
    "places.": lambda w, n: _learn(w, n, count=_no_overlaps),
    "a pair is counted once in a word that holds it twice.": (
        lambda w, n: _learn(w, n, count=_once_per_word)
    ),
    "in a run the pair is joined from the right; aaa becomes (aa, a).": (
        lambda w, n: _learn(w, n, join=_from_the_right)
    ),
    "only the first place of the pair in each word is joined.": (
        lambda w, n: _learn(w, n, join=_first_place)
    ),
    "ties are broken by the ids of the tokens; compare their bytes. A new token has a large "
    "id, its bytes may come early.": (lambda w, n: _learn(w, n, order=lambda p, t, s: p)),
    "ties go to the last pair in the order of bytes; the first one wins. On a heap the count "
    "is negative, the bytes are as they are.": lambda w, n: learn_merges_naive(
        w, n, "greatest"
    ),
    "ties go to the pair that was seen first; the order of bytes decides, whatever the order "
    "of the words.": lambda w, n: _learn(w, n, order=lambda p, t, s: s.index(p)),
    "ties compare the bytes of the two tokens together; the left token decides, and then the "
    "right one.": lambda w, n: _learn(w, n, order=lambda p, t, s: t[p[0]] + t[p[1]]),
    "a pair that occurs once is merged; stop when no pair occurs twice.": (
        lambda w, n: _learn(w, n, least=1)
    ),
    "a count that fell is believed to be what it was: take the pairs of a changed word off the "
    "counts, and when an entry of the heap comes up, push it again if its count fell.": (
        lambda w, n: _learn(w, n, keep=lambda pair, now, at_first: at_first)
    ),
    "counts are taken once and never again: a merge removes pairs and makes new ones.": (
        lambda w, n: _learn(w, n, keep=lambda pair, now, at_first: at_first * (max(pair) < 256))
    ),
}


def _compare(train: Train, words: Words, n_merges: int) -> None:
    """Say which mistake learns these merges, or where they first go astray."""
    found, right = _merges(train, words, n_merges), learn_merges_naive(words, n_merges)
    if found == right:
        return
    for sentence, learn in MISTAKES.items():
        if found == learn(words, n_merges):
            raise FaultError(sentence)
    raise FaultError(_astray(words, found, right))


def _astray(words: Words, found: list[Pair], right: list[Pair]) -> str:
    """The first merge that is wrong, with the counts of the two pairs at that point."""
    shown = f"on the corpus {dict(words)}"
    k = next((i for i, (a, b) in enumerate(zip(found, right, strict=False)) if a != b), None)
    if k is None and len(found) < len(right):
        return f"{shown} your trainer stops after {len(found)} of {len(right)} merges."
    if k is None:
        return f"{shown} your trainer goes on after merge {len(right)}, when nothing is left."
    split: Split = {tuple(word): n for word, n in words.items()}
    for i, pair in enumerate(right[:k]):
        split = _sum((merge_pair(word, pair, 256 + i), n) for word, n in split.items())
    counts, tokens = count_pairs(split), token_bytes(right)
    mine, best = (
        f"({tokens[a].decode('latin-1')}, {tokens[b].decode('latin-1')})"
        for a, b in (found[k], right[k])
    )
    return (
        f"{shown} merge {k} should be {best}, which occurs {counts[right[k]]} times then; "
        f"yours is {mine}, which occurs {counts[found[k]]} times."
    )


# --- the tests ------------------------------------------------------------------------------


def _on(*cases: tuple[Words, int]) -> Callable[[Train], None]:
    """A test on small corpora."""

    def test(train: Train) -> None:
        for words, n_merges in cases:
            _compare(train, words, n_merges)

    return test


def random_words(seed: int) -> dict[bytes, int]:
    """Up to twelve short words over one to four letters, with runs and many equal counts."""
    rng = random.Random(seed)
    letters = "abcd"[: rng.randint(1, 4)]
    words = {}
    for _ in range(rng.randint(1, 12)):
        runs = (rng.choice(letters) * rng.choice([1, 1, 2, 3, 5]) for _ in range(9))
        words["".join(runs)[: rng.randint(1, 9)].encode()] = rng.randint(1, 4)
    return words


@cache
def _expected(seed: int) -> list[Pair]:
    return learn_merges_naive(random_words(seed), 30)


def _random(train: Train) -> None:
    for seed in range(CORPORA):
        words = random_words(seed)
        if _merges(train, words, 30) != _expected(seed):
            try:
                _compare(train, words, 30)
            except FaultError as fault:
                raise FaultError(f"random corpus {seed} differs: {fault}") from None


@cache
def _many_words() -> dict[bytes, int]:
    rng = random.Random(0)
    draw = ("".join(rng.choices("abcdefghijkl", k=rng.randint(4, 12))) for _ in range(3000))
    return {word.encode(): rng.randint(1, 9) for word in draw}


@cache
def _naive_time() -> float:
    return min(_seconds(learn_merges_naive, SLOW_MERGES) for _ in range(2)) / SLOW_MERGES


def _seconds(train: Train, n_merges: int) -> float:
    words, start = dict(_many_words()), time.process_time()
    train(words, n_merges)
    return time.process_time() - start


def _speed(train: Train) -> None:
    slow, yours = MERGES * _naive_time(), _seconds(train, MERGES)
    if yours > SHARE * slow:
        raise FaultError(
            f"{MERGES} merges on 3,000 words take {yours:.2g} s of processor time, the naive "
            f"trainer needs {slow:.2g} s: a merge must visit the words that hold the pair and "
            "no others, and the best pair must come off a heap."
        )


LOW = {b"low": 5, b"lowest": 2, b"newer": 3, b"wider": 2}
FIRST, TIES, RUNS, TWICE = "one merge", "ties", "runs", "a pair twice in a word"
FALL, END, EQUAL = "counts that fall", "the end", "1,000 random corpora"
TESTS = (
    Case(FIRST, _on((LOW, 1), ({b"ab": 1, b"abc": 1, b"zq": 3}, 1))),
    Case(FALL, _on(({b"abc": 4, b"bc": 3, b"ab": 2, b"de": 3}, 4)), (FIRST,)),
    Case(TWICE, _on(({b"abab": 3, b"cd": 5}, 1), ({b"abab": 3, b"cdcd": 2}, 4)), (FALL,)),
    Case(
        RUNS,
        _on(({b"aaaaa": 2, b"xyxy": 3, b"zq": 4}, 1), ({b"aaab": 4, b"ab": 1}, 2)),
        (FALL,),
    ),
    Case(
        TIES,
        _on(
            ({b"z~": 2, b"~a": 2, b"za": 2, b"yzb": 2, b"yz": 9}, 2),
            ({b"mq": 2, b"ab": 7, b"cd": 9, b"abb": 2, b"acd": 2, b"~b": 2}, 3),
        ),
        (FALL,),
    ),
    Case(
        END, _on(({b"ab": 1, b"cd": 2}, 9), ({b"a": 3}, 5), ({b"ab": 2, b"cd": 2}, 0)), (FIRST,)
    ),
    Case(EQUAL, _random, (TIES, RUNS, TWICE, FALL, END)),
    Case("speed", _speed, (EQUAL,)),
)

__all__ = ["MISTAKES", "TESTS", "grade", "random_words"]
