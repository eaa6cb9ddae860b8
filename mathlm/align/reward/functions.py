"""Reward functions: what is asked of one, rated words, answers that can be verified."""

import math
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from contextlib import ExitStack
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from threading import Thread
from typing import Any, Protocol, runtime_checkable

import torch

from ...errors import ConfigError, InputError
from ...shapes import Float
from ...text import sentiment

SHOWN = 80  # characters of a text in a message


@runtime_checkable
class RewardFunction(Protocol):
    """From prompts and completions to one finite number each: the larger, the better.

    Texts are strings where whoever calls it can decode, else 1-D tensors of ids; the end is
    none of a decoded completion, and is the last of its ids.
    """

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any]) -> Sequence[float]:
        """The reward of each completion."""


@dataclass(frozen=True)
class TimedReward:
    """A reward that must answer within a time: one that hangs would hang the whole run.

    It is called in a thread of its own, with the caller's gradient mode and autocast. A call
    that takes too long is an error for whoever asked; the thread itself cannot be stopped, and
    ends with the process at the latest.

    Args:
        reward: What is asked.
        seconds: Longest time for one call, of any number of completions; above 0.

    Raises:
        ConfigError: If the time is not positive and finite.

    Example:
        >>> def length(prompts, completions):
        ...     return [float(len(text)) for text in completions]
        >>> TimedReward(length, seconds=60)(["How many?"], ["four"])
        [4.0]
    """

    reward: RewardFunction
    seconds: float | int

    def __post_init__(self) -> None:
        if not 0 < self.seconds < math.inf:
            raise ConfigError(f"seconds={self.seconds} must be positive and finite")

    def __call__(self, prompts: Sequence[Any], completions: Sequence[Any]) -> list[float]:
        """The rewards, in time.

        Raises:
            TimeoutError: If there is no answer within the time.
        """
        answer: Future[list[float]] = Future()
        recorded = torch.is_grad_enabled()  # a thread does not know what its caller asked for
        kinds = [kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)]
        halves = [torch.autocast(kind, torch.get_autocast_dtype(kind)) for kind in kinds]

        def ask() -> None:
            try:
                with torch.set_grad_enabled(recorded), ExitStack() as stack:
                    for half in halves:
                        stack.enter_context(half)
                    answer.set_result(list(self.reward(prompts, completions)))
            except BaseException as error:
                answer.set_exception(error)

        Thread(target=ask, daemon=True).start()
        done, _ = wait([answer], self.seconds)
        if not done:
            raise TimeoutError(f"no answer within {self.seconds} s")
        return answer.result()


def judged(
    reward: RewardFunction,
    prompts: Sequence[Any],
    completions: Sequence[Any],
    first: int = 0,
) -> Float[torch.Tensor, " B"]:
    """The rewards of completions, once each is known to be a finite number.

    A reward that cannot be had is an error: in its place a 0 would teach something, and a NaN
    would spread to its whole group.

    Args:
        reward: Judges all of them in one call.
        prompts: One for each completion.
        completions: What was written.
        first: Number of the first, for messages.

    Returns:
        (B,), float64.

    Raises:
        InputError: If it raises an exception, as a :class:`TimedReward` does that is late, or
            gives another number of rewards, None, text, NaN or an infinity; it names the
            function, the sample and its texts.

    Example:
        >>> def length(prompts, completions):
        ...     return [len(text) for text in completions]
        >>> judged(length, ["How many?"], ["four"]).tolist()
        [4.0]
    """
    try:
        given = list(reward(prompts, completions))
    except Exception as error:
        i, why = _culprit(reward, prompts, completions, error)
        raise InputError(
            f"the reward {name_of(reward)} raised {type(why).__name__}: {why}; "
            f"{_sample(i, first, prompts, completions)}"
        ) from error
    if len(given) != len(completions):
        raise InputError(
            f"the reward {name_of(reward)} gave {len(given)} rewards for {len(completions)} "
            "completions: it must give one for each, in their order"
        )
    for i, value in enumerate(given):
        if not _is_finite(value):
            raise InputError(
                f"the reward {name_of(reward)} gave {value!r}, not a finite number; "
                f"{_sample(i, first, prompts, completions)}"
            )
    return torch.tensor([float(value) for value in given], dtype=torch.float64)


def name_of(reward: Any) -> str:
    """The name of a reward for messages and records; that of the class for an object."""
    if isinstance(reward, TimedReward):
        return name_of(reward.reward)
    return str(getattr(reward, "__qualname__", type(reward).__qualname__))


def _is_finite(value: Any) -> bool:
    if isinstance(value, torch.Tensor) and value.numel() == 1:
        value = value.item()
    return isinstance(value, Real) and math.isfinite(value)


def _culprit(
    reward: RewardFunction, prompts: Sequence[Any], completions: Sequence[Any], error: Exception
) -> tuple[int | None, Exception]:
    """The first sample that raises alone, and what it raises; None if none does."""
    for i in range(len(completions)):
        try:
            list(reward(prompts[i : i + 1], completions[i : i + 1]))
        except Exception as alone:
            return i, alone
    return None, error


def _sample(
    i: int | None, first: int, prompts: Sequence[Any], completions: Sequence[Any]
) -> str:
    if i is None:
        return f"in the call with all {len(completions)} samples, with none of them alone"
    texts = _shown(prompts[i]), _shown(completions[i])
    return f"sample {first + i}: prompt {texts[0]}, completion {texts[1]}"


def _shown(text: Any) -> str:
    plain = text.tolist() if isinstance(text, torch.Tensor) else text
    words = repr(plain)
    return words if len(words) <= SHOWN else words[:SHOWN] + "…"


WHOLE, NUMBER = r"[-−]?\d+", r"[-−]?\d+(?:[.,]\d+)*"  # 1,000 is one number, not two
TASK = re.compile(rf"({WHOLE})\s*([-+*x×−])\s*({WHOLE})")
CHAIN = re.compile(rf"(?<![\d.]){NUMBER}(?:[()\s]*[-+*x×−/÷^][-+*x×−/÷^()\s]*{NUMBER})+")
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

    Example:
        >>> LengthReward(target=3)(["", ""], ["abc", "abcd"])[0] == 0
        True
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

    Example:
        >>> ArithmeticReward()(["2 + 3 =", "2 + 3 ="], ["5", "6"])
        [1.0, 0.0]
    """

    wrong: float | int = 0.0

    def __call__(self, prompts: Sequence[Prompt], completions: Sequence[str]) -> list[float]:
        """1 for a right answer.

        Raises:
            InputError: If a prompt holds no task, several, or a longer one.
        """
        return [self._one(x, y) for x, y in zip(prompts, completions, strict=True)]

    def _one(self, prompt: Prompt, completion: str) -> float:
        found = re.search(rf"{WHOLE}(?:\.\d+)?", completion)
        if found is None:
            return 0.0
        number = Decimal(found[0].replace("−", "-"))
        return 1.0 if number == result(asked_text(prompt)) else float(self.wrong)


@dataclass(frozen=True)
class FormatReward:
    """Whether a completion, whole, matches a regular expression.

    Args:
        pattern: In Python's syntax; "." also stands for line breaks.

    Raises:
        ConfigError: If it is none.

    Example:
        >>> FormatReward("[0-9]+")(["How many?", "How many?"], ["12", "a dozen"])
        [1.0, 0.0]
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
        InputError: If there is none, there are several, or it is longer, such as 2 + 3 + 4.

    Example:
        >>> result("What is 12 - 30?")
        -18
    """
    chains = CHAIN.findall(task)
    match = TASK.fullmatch(chains[0]) if len(chains) == 1 else None
    if match is None:
        raise InputError(
            f"{task!r:.80} holds {' and '.join(map(repr, chains)) or 'no task'}; expected one "
            "task such as 23 + 4, of two whole numbers with + - * or ×"
        )
    a, b = (int(number.replace("−", "-")) for number in match.group(1, 3))
    return SIGNS.get(match[2], int.__sub__)(a, b)


def asked_text(prompt: Prompt) -> str:
    """What a prompt asks: itself, or what the user said last in a list of messages."""
    if isinstance(prompt, str):
        return prompt
    for message in reversed(list(prompt)):
        fields = message if isinstance(message, Mapping) else vars(message)
        if fields.get("role") == "user":
            return str(fields["content"])
    raise InputError("the prompt has no message of a user")
