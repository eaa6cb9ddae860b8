"""Rewards by name: built in, learned by recipes.reward, or a function of your own.

    python -m mathlm.recipes.policy_rewards sentiment --completion "What a lovely day!"

Prints what a completion is worth.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from ..align import (
    ArithmeticReward,
    FormatReward,
    LengthReward,
    RewardFunction,
    SentimentReward,
    judged,
)
from ..errors import ConfigError, MathLMError
from .reward_folder import load_reward

BUILT_IN = ("sentiment", "length", "arithmetic", "format")


def find_reward(args: argparse.Namespace) -> RewardFunction:
    """The reward of the options ``reward``, ``target``, ``pattern`` and ``device``.

    Raises:
        ConfigError: If there is none of that name, or it lacks its option.
    """
    name = args.reward
    if name == "format":
        if args.pattern is None:
            raise ConfigError("--reward format needs --pattern, a regular expression")
        return FormatReward(args.pattern)
    built_in: dict[str, RewardFunction] = {
        "sentiment": SentimentReward(),
        "length": LengthReward(args.target),
        "arithmetic": ArithmeticReward(),
    }
    if name in built_in:
        return built_in[name]
    if Path(name).is_dir():
        return load_reward(name, args.device)
    return own_function(name)


def own_function(name: str) -> RewardFunction:
    """The function ``name`` of a module that Python can import: "module:function".

    Raises:
        ConfigError: If there is none.
    """
    module, _, attribute = name.partition(":")
    if not attribute:
        raise ConfigError(
            f"--reward {name} is none of {', '.join(BUILT_IN)}, no folder of recipes.reward, "
            "and no module:function"
        )
    try:
        found = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise ConfigError(f"--reward {name} cannot be imported: {error}") from error
    if not callable(found):
        raise ConfigError(f"--reward {name} is a {type(found).__name__}, not a function")
    return found


def add_reward(parser: argparse.ArgumentParser) -> None:
    """What is rewarded."""
    add = parser.add_argument
    words = (
        "sentiment, length, arithmetic, format, a folder of recipes.reward or module:function"
    )
    add("--reward", required=True, help=words)
    add("--target", type=int, default=100, help="of length: characters")
    add("--pattern", help="of format: regular expression that a whole completion matches")


def main(argv: Sequence[str] | None = None) -> float:
    """Judge one completion."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("name", help="of the reward")
    parser.add_argument("--prompt", default="", help="what was asked")
    parser.add_argument("--completion", required=True, help="what is judged")
    parser.add_argument("--target", type=int, default=100)
    parser.add_argument("--pattern")
    parser.add_argument("--device", default="auto", choices=["cpu", "cuda", "auto"])
    args = parser.parse_args(argv)
    args.reward = args.name
    found = float(judged(find_reward(args), [args.prompt], [args.completion])[0])
    logging.info("%.4f", found)
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
