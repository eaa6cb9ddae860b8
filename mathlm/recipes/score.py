"""Score a completion by a reward: ``mathlm score``; what ppo and grpo would reward."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import tyro

from ..align import judged
from ..errors import ConfigError
from ..train.distributed import DeviceName
from ..train.log_line import number
from .columns import with_columns
from .command import execute, parse
from .policy import Rewarding
from .result import places, say

KEY = tyro.conf.arg(metavar="NAME=VALUE")


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is judged."""

    completion: str
    """The completion, or the answer."""
    prompt: str = ""
    """What was asked."""
    key: Annotated[tuple[str, ...], tyro.conf.UseAppendAction, KEY] = ()
    """Another key of the prompt's line that a reward of your own reads, such as answer=12, its
    value as JSON or as text; may be repeated."""

    @property
    def row(self) -> dict[str, Any]:
        """The keys by name.

        Raises:
            ConfigError: If one has no name or no value.
        """
        found: dict[str, Any] = {}
        for pair in self.key:
            name, equals, value = pair.partition("=")
            if not name or not equals:
                raise ConfigError(f"--key {pair} must be NAME=VALUE, such as answer=12")
            try:
                found[name] = json.loads(value)
            except ValueError:  # a text without quotes
                found[name] = value
        return found


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(Rewarding):
    """Score a completion by a reward: built in, learned, or a function of your own.

    It is what mathlm ppo and mathlm grpo would give: the way to try a reward.

        mathlm score --reward sentiment --completion "What a lovely day!"
        mathlm score --reward runs/mine --prompt "What is rain?" --completion "Water."
        mathlm score --reward my_module:right --prompt "5+7=" --key answer=12 --completion 12
    """

    answer: Answer
    device: DeviceName = "auto"
    """Where a learned reward runs."""


def run(config: ScoreConfig) -> float:
    """The reward of the completion, in a table as well."""
    prompt, completion, start = config.answer.prompt, config.answer.completion, time.time()
    function, given = config.function(config.device), "the options --key NAME=VALUE give"
    reward = with_columns(function, [prompt], [config.answer.row], given)
    found = float(judged(reward, [prompt], [completion])[0])
    rows = [("reward function", config.reward), ("reward", number(found))]
    say(rows, places(time.time() - start))
    return found


def main(argv: Sequence[str] | None = None) -> float:
    """Run by the options of the command line."""
    return run(parse(ScoreConfig, argv, prog="mathlm score"))


if __name__ == "__main__":
    execute(main)
