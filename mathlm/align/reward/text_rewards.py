"""Rewards that need no model: a list of rated words, and answers that can be checked."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import ConfigError, InputError
from ...text import sentiment

NUMBER = r"-?\d+"
SUM = re.compile(rf"(?<![\d.])({NUMBER})\s*([-+*x×−])\s*({NUMBER})(?![\d.])")
SIGNS = {"+": int.__add__, "*": int.__mul__, "x": int.__mul__, "×": int.__mul__}
Prompt = str | Sequence[Any]


@dataclass(frozen=True)
class SentimentReward:
    """How glad a completion sounds: :meth:`mathlm.text.corpora.sentiment.Lexicon.score`.

    Args:
        sign: 1 for glad texts, -1 for sad ones.
    """

    sign: float | int = 1

    def __call__(self, prompts: Sequence[Any], completions: Sequence[str]) -> list[float]:
        """From -1 to 1 for each completion; what the prompt sounds like does not count."""
        lexicon = sentiment.load()
        return [self.sign * lexicon.score(text) for text in completions]


@dataclass(frozen=True)
class LengthReward:
    """How near a completion is to a length.

    Computes::

        -|characters - target| / target

    Args:
        target: Characters, above 0.
    """

    target: int = 100

    def __post_init__(self) -> None:
        if self.target < 1:
            raise ConfigError(f"target={self.target} characters must be positive")

    def __call__(self, prompts: Sequence[Any], completions: Sequence[str]) -> list[float]:
        """At most 0."""
        return [-abs(len(text) - self.target) / self.target for text in completions]


@dataclass(frozen=True)
class ArithmeticReward:
    """Whether the first number of a completion is the result that the prompt asks for.

    The prompt holds one task such as "23 + 4", of whole numbers and one of + - * × x, anywhere
    in it.

    Args:
        wrong: What another number is worth; a completion without a number is worth 0.
    """

    wrong: float | int = 0.0

    def __call__(self, prompts: Sequence[Prompt], completions: Sequence[str]) -> list[float]:
        """1 for a right answer.

        Raises:
            InputError: If a prompt holds no task, or several.
        """
        return [self._one(x, y) for x, y in zip(prompts, completions, strict=True)]

    def _one(self, prompt: Prompt, completion: str) -> float:
        found = re.search(NUMBER, completion)
        if found is None:
            return 0.0
        return 1.0 if int(found[0]) == result(asked_text(prompt)) else float(self.wrong)


@dataclass(frozen=True)
class FormatReward:
    """Whether a completion, whole, matches a regular expression.

    Args:
        pattern: In Python's syntax; "." also stands for line breaks.

    Raises:
        ConfigError: If it is none.
    """

    pattern: str

    def __post_init__(self) -> None:
        try:
            re.compile(self.pattern)
        except re.error as error:
            raise ConfigError(f"{self.pattern!r} is no regular expression: {error}") from error

    def __call__(self, prompts: Sequence[Any], completions: Sequence[str]) -> list[float]:
        """1 where it matches, else 0."""
        matches = (re.fullmatch(self.pattern, text, re.DOTALL) for text in completions)
        return [float(match is not None) for match in matches]


def result(task: str) -> int:
    """The result of the one task in a text.

    Raises:
        InputError: If there is none, or there are several.

    Example:
        >>> result("What is 12 - 30?")
        -18
    """
    tasks = SUM.findall(task)
    if len(tasks) != 1:
        raise InputError(
            f"{task!r:.80} holds {len(tasks)} tasks such as 23 + 4; expected one, of whole "
            "numbers with + - * or ×"
        )
    a, sign, b = tasks[0]
    return SIGNS.get(sign, int.__sub__)(int(a), int(b))


def asked_text(prompt: Prompt) -> str:
    """What a prompt asks: itself, or what the user said last in a list of messages."""
    if isinstance(prompt, str):
        return prompt
    for message in reversed(list(prompt)):
        fields = message if isinstance(message, Mapping) else vars(message)
        if fields.get("role") == "user":
            return str(fields["content"])
    raise InputError("the prompt has no message of a user")
