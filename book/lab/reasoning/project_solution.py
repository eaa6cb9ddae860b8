"""Reference solution of the project: a verifier and a reward for differences."""

import re

ANSWER = re.compile(r"<answer>(.*?)</answer>", re.DOTALL)
NUMBER = re.compile(r"(-?)0*([0-9]{1,18})")


def written(text: str) -> int | None:
    """The one number between the one pair of tags, or None."""
    if text.count("<answer>") != 1 or text.count("</answer>") != 1:
        return None
    found = ANSWER.search(text)
    number = NUMBER.fullmatch(found[1].strip()) if found else None
    return int(number[1] + number[2]) if number else None


def verify(question: tuple[int, int], text: str) -> bool:
    """Whether the text answers a - b."""
    return written(text) == question[0] - question[1]


def reward(question: tuple[int, int], text: str) -> float:
    """1 for a right answer, a tenth for one number in the tags, else 0."""
    if verify(question, text):
        return 1.0
    return 0.1 if written(text) is not None else 0.0
