"""Score a completion by a reward: ``mathlm score``; what ppo and grpo would reward."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass

from ..align import judged
from ..train.distributed import DeviceName
from .command import execute, parse
from .policy import Rewarding

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class Answer:
    """What is judged."""

    completion: str
    """The completion, or the answer."""
    prompt: str = ""
    """What was asked."""


@dataclass(frozen=True, kw_only=True)
class ScoreConfig(Rewarding):
    """Score a completion by a reward: built in, learned, or a function of your own.

    It is what mathlm ppo and mathlm grpo would give: the way to try a reward.

        mathlm score --reward sentiment --completion "What a lovely day!"
        mathlm score --reward runs/mine --prompt "What is rain?" --completion "Water."
    """

    answer: Answer
    device: DeviceName = "auto"
    """Where a learned reward runs."""


def run(config: ScoreConfig) -> float:
    """The reward of the completion, logged as well."""
    prompt, completion = config.answer.prompt, config.answer.completion
    found = float(judged(config.function(config.device), [prompt], [completion])[0])
    log.info("%.4f", found)
    return found


def main(argv: Sequence[str] | None = None) -> float:
    """Run by the options of the command line."""
    return run(parse(ScoreConfig, argv, prog="mathlm score"))


if __name__ == "__main__":
    execute(main)
