"""Options of a reward model that is trained on preferences.

    python -m mathlm.recipes.reward_options --data my.jsonl --lora-rank 16

Prints the options that a command has, those not given filled in.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError, MathLMError
from .pretrain_options import add_machine
from .sft_method_options import add_method
from .sft_options import add_run, filled


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line; those of the method filled in.

    Raises:
        ConfigError: If two of them contradict each other.
    """
    defaults = argparse.ArgumentDefaultsHelpFormatter
    description = "Train a reward on preferences; recipes.reward_folder asks it."
    parser = argparse.ArgumentParser(description=description, formatter_class=defaults)
    for add in (add_pairs, add_reward, add_method, add_run, add_machine):
        add(parser)
    parser.set_defaults(replay=None, replay_share=None, packed=False, towards_start=None)
    args = parser.parse_args(argv)
    if args.towards_start is not None:
        raise ConfigError("--towards-start is for recipes.sft: a reward model has a new head")
    if args.out is None:
        args.out = Path("runs") / "-".join(
            (Path(args.data).stem, Path(args.model).stem, "reward")
        )
    return filled(args)


def add_pairs(parser: argparse.ArgumentParser) -> None:
    """What is read, and how it is written."""
    add = parser.add_argument
    add("--data", required=True, help="JSON lines of prompt, chosen and rejected")
    add("--model", default="smollm2", help="'smollm2', a GGUF file, or a folder")
    add("--tokenizer", help="'bytes', a file of ByteBPE.save or a folder; default: the model's")
    add("--format", default="auto", help="of the turns: chatml, named; auto = by the tokenizer")
    add("--template", help="JSON file with the arguments of ChatFormat, in place of --format")
    add("--context", type=int, help="longest conversation [tokens]; default: at most 512")
    add(
        "--held-out", type=float, default=0.1, help="share of the prompts that judges; 0 = none"
    )


def add_reward(parser: argparse.ArgumentParser) -> None:
    """What is asked of the rewards."""
    add = parser.add_argument
    add("--margin", type=float, default=0.0, help="difference that is asked for [nats]")
    add("--centring", type=float, default=0.01, help="pull of rewards towards 0; 0 = none")


if __name__ == "__main__":
    try:
        for name, value in vars(parse()).items():
            print(f"{name}: {value}")
    except MathLMError as error:
        sys.exit(f"error: {error}")
