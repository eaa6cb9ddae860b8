"""Score a completion by a reward: ``mathlm score``; what ppo and grpo would reward."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from ..align import judged
from .command import execute, parse
from .policy import find_reward

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ScoreConfig:
    """Score a completion by a reward: built in, learned, or a function of your own.

    mathlm score --reward sentiment --completion "What a lovely day!"
    mathlm score --reward runs/mine --prompt "What is rain?" --completion "Water."
    """

    reward: str
    """sentiment, length, arithmetic, format, a folder of mathlm reward, or module:function."""
    completion: str
    """What is judged."""
    prompt: str = ""
    """What was asked."""
    target: int = 100
    """Of --reward length: how long an answer is to be [characters]."""
    pattern: str | None = None
    """Of --reward format: regular expression that a whole completion matches."""
    device: Literal["cpu", "cuda", "auto"] = "auto"
    """Where a learned reward runs."""


def run(config: ScoreConfig) -> float:
    """The reward of the completion, logged as well."""
    reward = find_reward(config.reward, config.target, config.pattern, config.device)
    found = float(judged(reward, [config.prompt], [config.completion])[0])
    log.info("%.4f", found)
    return found


def main(argv: Sequence[str] | None = None) -> float:
    """Run by the options of the command line."""
    return run(parse(ScoreConfig, argv, prog="mathlm score"))


if __name__ == "__main__":
    execute(main)
