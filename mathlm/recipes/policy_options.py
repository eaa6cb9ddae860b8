"""Options of policy training, shared by recipes.grpo and recipes.ppo.

    python -m mathlm.recipes.policy_options --prompts my.jsonl --reward length

Prints the options that both have, those not given filled in.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import ConfigError, MathLMError
from .policy_rewards import add_reward
from .pretrain_options import add_machine
from .sft_method_options import add_method, flag
from .sft_options import filled

Adder = Callable[[argparse.ArgumentParser], None]


def parse(
    argv: Sequence[str] | None = None, own: Adder | None = None, kind: str = "policy"
) -> argparse.Namespace:
    """Options from the command line; those of the method filled in.

    Args:
        argv: The words; None = those of the command.
        own: Adds what one recipe alone has.
        kind: Name of the recipe.

    Raises:
        ConfigError: If two of them contradict each other.
    """
    defaults = argparse.ArgumentDefaultsHelpFormatter
    description = "Train a policy on a reward; recipes.chat talks with the result."
    parser = argparse.ArgumentParser(description=description, formatter_class=defaults)
    for add in (add_prompts, add_reward, add_rollouts, own, add_method, add_run, add_machine):
        if add is not None:
            add(parser)
    unused = {"replay": None, "replay_share": None, "packed": False, "held_out": 0.0}
    parser.set_defaults(**unused, patience=None, eval_every=None, steps=None, clip=1.0)
    args = parser.parse_args(argv)
    if args.towards_start is not None:
        raise ConfigError("--towards-start is for recipes.sft: take a larger --beta")
    if args.plain and (args.format != "auto" or args.template):
        raise ConfigError("--plain prompts have no turns: leave --format and --template out")
    for name in ("iterations", "group_size", "minibatches", "max_new_tokens"):
        if getattr(args, name) < 1:
            raise ConfigError(f"{flag(name)} {getattr(args, name)} must be positive")
    args.data = args.prompts
    if args.out is None:
        names = Path(args.prompts).stem, Path(args.model).stem, kind
        args.out = Path("runs") / "-".join(names)
    return filled(args)


def add_prompts(parser: argparse.ArgumentParser) -> None:
    """What is asked, and of whom."""
    add = parser.add_argument
    add("--prompts", required=True, help="JSON lines with a prompt each")
    add("--model", default="smollm2", help="'smollm2', a GGUF file, or a folder")
    add("--tokenizer", help="'bytes', a file of ByteBPE.save or a folder; default: the model's")
    add("--format", default="auto", help="of the turns: chatml, named; auto = by the tokenizer")
    add("--template", help="JSON file with the arguments of ChatFormat, in place of --format")
    add("--plain", action="store_true", help="prompts are text to continue, without turns")
    add("--stop", action="append", default=[], help="end at this text too; may be repeated")


def add_rollouts(parser: argparse.ArgumentParser) -> None:
    """What is written in an iteration."""
    add = parser.add_argument
    add("--max-new-tokens", type=int, default=64, help="tokens of a completion, at most")
    add("--temperature", type=float, default=1.0, help="divides the logits of every draw")
    add("--group-size", type=int, default=8, help="completions of each prompt")
    add("--prompts-per-iteration", type=int, default=8, help="prompts of an iteration")
    add("--epochs", type=int, default=1, help="passes over the rollouts of an iteration")
    add("--minibatches", type=int, default=1, help="steps in a pass")
    add("--clip-ratio", type=float, default=0.2, help="how far a ratio may go from 1")
    add("--beta", type=float, default=0.05, help="price of the divergence [reward/nat]")
    add("--cut", default="score", help="worth of a text without an end: score, or a number")
    add("--at-once", type=int, help="rows written and read together; default: all")
    add("--judge", type=int, default=16, help="prompts to judge by, before and after")


def add_run(parser: argparse.ArgumentParser) -> None:
    """How long and how fast, and where to."""
    add = parser.add_argument
    add("--iterations", type=int, default=100, help="times that the policy writes")
    add("--micro-batches", type=int, default=1, help="parts that a process cuts its share into")
    add("--lr", type=float, help="largest step size; default: a tenth of that of recipes.sft")
    add("--warmup", type=int, help="steps until the largest step size; a twentieth of all")
    add("--weight-decay", type=float, default=0.0, help="decay of what is trained")
    add("--ema", type=float, help="decay of a running mean of the weights")
    add("--seed", type=int, default=0, help="seed of the prompts' order and what is drawn")
    add("--log-every", type=int, default=10, help="steps between log lines of the loss")
    add("--save-every", type=int, help="steps between checkpoints; default: the last only")
    add("--keep", type=int, default=2, help="newest checkpoints that stay")
    add("--out", type=Path, help="folder of the result; default: runs/PROMPTS-MODEL-RECIPE")
    add("--allow-change", action="store_true", help="resume although the options differ")
    add("--record", type=Path, help="JSON file for options, history, samples and result")


if __name__ == "__main__":
    try:
        for name, value in vars(parse()).items():
            print(f"{name}: {value}")
    except MathLMError as error:
        sys.exit(f"error: {error}")
