"""Rewards of one's own that read the other keys of a prompt's line, such as its true answer."""

import functools
import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..align.reward.functions import name_of
from ..errors import ConfigError, DataError

Columns = Mapping[str, Any]


def with_columns(
    reward: Callable[..., Any],
    prompts: Sequence[Any],
    rows: Sequence[Columns],
    given: str = "the lines of --prompts have",
) -> Callable[..., Any]:
    """The reward, called with a list for each column that it has a parameter for.

    A function ``f(prompts, completions, answer)`` gets ``answer=[...]``, one for each
    completion; one with ``**columns`` gets all. A line that lacks a key gives None.

    Args:
        reward: From prompts, completions and columns to rewards.
        prompts: What is asked, as the reward is given it.
        rows: The other keys of the line of each.
        given: Where these come from, as an error says it.

    Raises:
        ConfigError: If it needs a column that no line has.
        DataError: If a prompt stands in two lines with different columns that it reads.
    """
    names = asked_of(reward, {name for row in rows for name in row}, given)
    if not names:
        return reward
    known: dict[str, dict[str, Any]] = {}
    for prompt, row in zip(prompts, rows, strict=True):
        own = {name: row.get(name) for name in names}
        if known.setdefault(key_of(prompt), own) != own:
            raise DataError(
                f"the prompt {prompt!r:.80} stands in two lines with different "
                f"{', '.join(names)}, of which --reward {name_of(reward)} could not tell which "
                "holds: keep one"
            )

    @functools.wraps(reward)
    def called(prompts: Sequence[Any], completions: Sequence[Any]) -> Any:
        found = [known[key_of(prompt)] for prompt in prompts]
        columns = {name: [row[name] for row in found] for name in names}
        return reward(prompts, completions, **columns)

    called.__qualname__ = name_of(reward)
    return called


def asked_of(reward: Callable[..., Any], known: set[str], given: str) -> list[str]:
    """The columns that a reward has parameters for, behind prompts and completions."""
    try:
        parameters = list(inspect.signature(reward).parameters.values())
    except ValueError:  # a function that is written in C
        return []
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [p for p in parameters if p.kind in kinds][2:]
    missing = [p.name for p in named if p.default is p.empty and p.name not in known]
    if missing:
        raise ConfigError(
            f"--reward {name_of(reward)} asks for {', '.join(missing)}, and {given} "
            f"{', '.join(sorted(known)) or 'nothing but the prompt'}"
        )
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return sorted(known - {p.name for p in parameters[:2]})
    return [p.name for p in named if p.name in known]


def key_of(prompt: Any) -> str:
    """A prompt, a text or a list of messages, as a key."""
    return json.dumps(prompt, sort_keys=True)
