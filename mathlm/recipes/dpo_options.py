"""Options of tuning on preferences.

    python -m mathlm.recipes.dpo_options --data pairs.jsonl --loss ipo --lora-rank 16

Prints the options that a command has, those not given filled in.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError, MathLMError
from .dpo_losses import add_losses, fill_loss
from .pretrain_options import add_machine
from .reward_options import add_pairs
from .sft_method_options import add_method
from .sft_options import add_run, filled


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line; those of the method and of the loss filled in.

    Raises:
        ConfigError: If two of them contradict each other.
    """
    defaults = argparse.ArgumentDefaultsHelpFormatter
    description = "Tune a model on preferences; recipes.chat talks with the result."
    parser = argparse.ArgumentParser(description=description, formatter_class=defaults)
    for add in (add_pairs, add_losses, add_samples, add_method, add_run, add_machine):
        add(parser)
    parser.set_defaults(replay=None, replay_share=None, packed=False)
    args = parser.parse_args(argv)
    fill_loss(args)
    if args.towards_start is not None:
        raise ConfigError("--towards-start is for recipes.sft: take a larger --beta")
    if args.lora_dropout:
        raise ConfigError(
            "--lora-dropout: a policy is compared with its reference without dropout"
        )
    if args.samples < 0 or args.max_new_tokens < 1:
        raise ConfigError(
            f"--samples {args.samples} must not be negative, --max-new-tokens "
            f"{args.max_new_tokens} be positive"
        )
    if args.out is None:
        names = Path(args.data).stem, Path(args.model).stem, args.loss
        args.out = Path("runs") / "-".join(names)
    return filled(args)


def add_samples(parser: argparse.ArgumentParser) -> None:
    """What the model writes before and after."""
    add = parser.add_argument
    add("--samples", type=int, default=16, help="prompts that it answers, before and after")
    add("--max-new-tokens", type=int, default=64, help="tokens of such an answer, at most")


if __name__ == "__main__":
    try:
        for name, value in vars(parse()).items():
            print(f"{name}: {value}")
    except MathLMError as error:
        sys.exit(f"error: {error}")
