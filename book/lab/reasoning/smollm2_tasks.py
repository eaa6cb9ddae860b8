"""Sums for SmolLM2 in three wordings, and two verifiers of its answers."""

import re
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

SHOWN = ((23, 45), (71, 19))  # sums that stand solved in front of a question
SOLVED = "".join(f"{a} + {b} = {a + b}\n" for a, b in SHOWN)
OTHER = ("three terms", "chat")  # sets that no training question is like


class Question(NamedTuple):
    """A sum.

    Args:
        text: What the model reads; of a chat, what the user says.
        result: The right answer.
    """

    text: str
    result: int


def sum_question(a: int, b: int) -> Question:
    """A sum of two numbers, behind two solved ones.

    Example:
        >>> print(sum_question(30, 11).text)
        23 + 45 = 68
        71 + 19 = 90
        30 + 11 =
    """
    return Question(SOLVED + f"{a} + {b} =", a + b)


def three_terms(a: int, b: int, c: int) -> Question:
    """A sum of three numbers behind two solved sums of two."""
    return Question(SOLVED + f"{a} + {b} + {c} =", a + b + c)


def chat_question(a: int, b: int) -> Question:
    """A sum as a user asks for it, with none solved; the answer begins with "The answer is"."""
    return Question(f"What is {a} + {b}?", a + b)


BEGUN = "The answer is"  # what stands already in an answer to a chat question


def split(held_out: int) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Pairs of two-digit numbers to learn from, and others to be tested on.

    A pair and its reverse are one, and stand on the same side in one of the two orders; those
    that are shown solved stand on none.

    Args:
        held_out: Pairs to be tested on.
    """
    shown = {tuple(sorted(pair)) for pair in SHOWN}
    pairs = [(a, b) for a in range(10, 100) for b in range(a, 100) if (a, b) not in shown]
    rng = np.random.default_rng(0)
    mixed = [pairs[i] for i in rng.permutation(len(pairs))]
    turned = rng.random(len(pairs)) < 0.5
    mixed = [(b, a) if turn else (a, b) for (a, b), turn in zip(mixed, turned, strict=True)]
    return mixed[held_out:], mixed[:held_out]


def other_sets(
    pairs: list[tuple[int, int]], number: int
) -> Iterator[tuple[str, list[Question]]]:
    """Each set of ``OTHER``, of the first pairs, or of digits drawn for three terms."""
    digits = np.random.default_rng(1).integers(1, 10, (number, 3)).tolist()
    yield OTHER[0], [three_terms(*row) for row in digits]
    yield OTHER[1], [chat_question(*pair) for pair in pairs[:number]]


def whole_answer(answer: str) -> int | None:
    r"""The number that an answer is, if it is nothing else: what the reward looks at.

    Example:
        >>> whole_answer(" 68\n"), whole_answer(" 68 apples"), whole_answer("68.")
        (68, None, None)
    """
    found = re.fullmatch(r"\s*(0|[1-9][0-9]*)\s*", answer)
    return int(found[1]) if found else None


def first_number(answer: str) -> int | None:
    """The first whole number of an answer, whatever else it says.

    Example:
        >>> first_number(" not 68, but 70"), first_number("6.8"), first_number("many")
        (68, None, None)
    """
    found = re.search(r"[0-9]+(?:[.,][0-9]+)*", answer)
    return int(found[0]) if found and found[0].isdecimal() else None


def reward(question: Question, answer: str) -> float:
    """1 if the answer is the result and nothing else, otherwise 0."""
    return float(whole_answer(answer) == question.result)


def carries(text: str) -> int:
    """How often a 1 is carried when the two numbers of a question are added in columns.

    Example:
        >>> [carries(text) for text in ("30 + 11 =", "38 + 13 =", "41 + 86 =", "99 + 75 =")]
        [0, 1, 1, 2]
    """
    a, b = (int(x) for x in re.findall(r"[0-9]+", text))
    return int(a % 10 + b % 10 >= 10) + int(a + b >= 100)


def three_terms_kind(text: str, answer: str) -> str:
    r"""What an answer to a sum of three numbers is: right, the sum of two of them, or other.

    Example:
        >>> [three_terms_kind("5 + 5 + 7 =", y) for y in (" 17\n", " 12\n", " 11\n", " five")]
        ['right', 'two terms', 'other', 'other']
    """
    numbers = [int(x) for x in re.findall(r"[0-9]+", text)]
    said, total = whole_answer(answer), sum(numbers)
    if said == total:
        return "right"
    return "two terms" if said in {total - x for x in numbers} else "other"
