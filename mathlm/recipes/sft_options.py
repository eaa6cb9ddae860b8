"""Options of tuning on conversations.

    python -m mathlm.recipes.sft_options --data my.jsonl --lora-rank 16

Prints the options that a command has, those not given filled in.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from ..errors import ConfigError, MathLMError
from .pretrain_options import add_machine
from .sft_method_options import add_method, fill, flag, whole_result


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line; those of the method filled in.

    Raises:
        ConfigError: If two of them contradict each other.
    """
    defaults = argparse.ArgumentDefaultsHelpFormatter
    description = "Tune a model on conversations; recipes.chat talks with the result."
    parser = argparse.ArgumentParser(description=description, formatter_class=defaults)
    for add in (add_data, add_method, add_run, add_machine):
        add(parser)
    return filled(parser.parse_args(argv))


def add_data(parser: argparse.ArgumentParser) -> None:
    """What is read, and how it is written."""
    add = parser.add_argument
    add("--data", required=True, help="JSON lines, or an installed set: chatterbot, chitchat")
    add("--model", default="smollm2", help="'smollm2', a GGUF file, or a folder")
    add("--tokenizer", help="'bytes', a file of ByteBPE.save or a folder; default: the model's")
    add("--format", default="auto", help="of the turns: chatml, named; auto = by the tokenizer")
    add("--template", help="JSON file with the arguments of ChatFormat, in place of --format")
    add("--context", type=int, help="longest conversation [tokens]; default: at most 512")
    add("--packed", action="store_true", help="several conversations in a row of --context")
    add(
        "--held-out", type=float, default=0.1, help="share of the prompts that judges; 0 = none"
    )
    add("--replay", help="old text among the rows: a file, a folder or an installed corpus")
    add("--replay-share", type=float, help="share of the rows that is old; 0.1 with --replay")


def add_run(parser: argparse.ArgumentParser) -> None:
    """How long and how fast, and where to."""
    add = parser.add_argument
    add("--steps", type=int, help="optimizer steps, in place of --epochs")
    add("--epochs", type=int, default=3, help="passes over the conversations")
    add("--batch-size", type=int, default=8, help="rows in a step, over all processes")
    add("--micro-batches", type=int, default=1, help="parts that a process cuts its share into")
    add("--lr", type=float, help="largest step size; default: by method and width")
    add("--warmup", type=int, help="steps until the largest step size; a twentieth of all")
    add("--weight-decay", type=float, default=0.0, help="decay of what is trained")
    add("--clip", type=float, default=1.0, help="largest norm of the gradient")
    add("--ema", type=float, help="decay of a running mean of the weights, judged beside them")
    add("--seed", type=int, default=0, help="seed of the split, the order and what is drawn")
    add("--patience", type=int, help="evaluations without a new best that end the run")
    add("--log-every", type=int, default=10, help="steps between log lines")
    add("--eval-every", type=int, help="steps between evaluations; a tenth of the run")
    add("--save-every", type=int, help="steps between checkpoints; default: the last only")
    add("--keep", type=int, default=2, help="newest checkpoints that stay")
    add("--out", type=Path, help="folder of the result; default: runs/DATA-MODEL-METHOD")
    add("--allow-change", action="store_true", help="resume although the options differ")
    add("--record", type=Path, help="JSON file for options, history and result")


def filled(args: argparse.Namespace) -> argparse.Namespace:
    """The options, once they are known to fit each other."""
    fill(args)
    require(args)
    if args.replay is not None and args.replay_share is None:
        args.replay_share = 0.1
    if args.out is None:
        names = Path(args.data).stem, Path(args.model).stem, args.method
        args.out = Path("runs") / "-".join(names)
    return args


def require(args: argparse.Namespace) -> None:
    """Refuse options that contradict each other."""
    for sentence, holds in contradictions(args).items():
        if holds:
            raise ConfigError(sentence)
    for name in ("epochs", "steps", "eval_every"):
        if (value := getattr(args, name)) is not None and value < 1:
            raise ConfigError(f"{flag(name)} {value} must be positive")
    if not 0 <= args.held_out < 1:
        raise ConfigError(f"--held-out {args.held_out} must be at least 0 and below 1")


def contradictions(args: argparse.Namespace) -> dict[str, bool]:
    """What can be wrong, and whether it is."""
    return {
        "--method freeze needs --train: the names of what is trained": args.method == "freeze"
        and not args.train,
        "--merge is for --method lora": args.merge and args.method != "lora",
        "--quantize is for adapters: codes are neither trained nor merged": whole_result(args)
        and args.quantize is not None,
        "--replay-share needs --replay": args.replay is None and args.replay_share is not None,
        "--format or --template, not both": args.format != "auto" and args.template is not None,
        "--patience needs --held-out": args.held_out == 0 and args.patience is not None,
        "--parallel fsdp leaves a part of the weights on each rank, and one writes the result: "
        "take sum or ddp": args.parallel == "fsdp",
    }


if __name__ == "__main__":
    try:
        for name, value in vars(parse()).items():
            print(f"{name}: {value}")
    except MathLMError as error:
        sys.exit(f"error: {error}")
