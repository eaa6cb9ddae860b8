"""Options of the pretraining script.

    python -m mathlm.recipes.pretrain_options --size small

Prints the options that a command has, those not given filled in.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any, get_args

from ..text import corpus
from ..train.parallel import KINDS
from ..train.precision import Precision

SIZES: dict[str, dict[str, Any]] = {
    "nano": {"d_model": 32, "n_layers": 1, "n_heads": 2},
    "tiny": {"d_model": 64, "n_layers": 2, "n_heads": 4},
    "small": {"d_model": 128, "n_layers": 4, "n_heads": 4},
    "medium": {"d_model": 192, "n_layers": 4, "n_heads": 6},
    "base": {"d_model": 384, "n_layers": 6, "n_heads": 6},
    "gpt2": {"d_model": 768, "n_layers": 12, "n_heads": 12},
}


def parse(argv: Sequence[str] | None, description: str) -> argparse.Namespace:
    """Options from the command line."""
    defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=description, formatter_class=defaults)
    add = parser.add_argument
    add_data(parser)
    add("--size", default="tiny", choices=SIZES, help="width, layers and heads")
    add("--steps", type=int, default=500, help="optimizer steps")
    add("--batch-size", type=int, default=16, help="windows in a step, over all processes")
    add("--micro-batches", type=int, default=1, help="parts that a process cuts its share into")
    add("--context", type=int, default=128, help="window length [tokens]")
    add("--lr", type=float, default=3e-3, help="largest step size")
    add("--warmup", type=int, default=20, help="steps until the largest step size")
    add("--weight-decay", type=float, default=0.1, help="decay of all weights")
    add("--clip", type=float, default=1.0, help="largest norm of the gradient")
    add("--dropout", type=float, default=0.0, help="probability of dropping a unit")
    add("--ema", type=float, help="decay of a running mean of the weights, judged beside them")
    add("--seed", type=int, default=0, help="seed of weights, order and dropout")
    add_machine(parser)
    add("--log-every", type=int, default=10, help="steps between log lines")
    add("--eval-every", type=int, help="steps between evaluations; the last is evaluated")
    add("--save-every", type=int, default=100, help="steps between checkpoints")
    add("--keep", type=int, help="newest checkpoints that stay; all if not given")
    add("--out", type=Path, help="folder of the checkpoints; a run found there is resumed")
    add("--allow-change", action="store_true", help="resume although the options differ")
    add("--record", type=Path, help="JSON file for options, history and result")
    return parser.parse_args(argv)


def add_data(parser: argparse.ArgumentParser) -> None:
    """What is read, and as which tokens."""
    add = parser.add_argument
    add("--corpus", default="shakespeare", choices=corpus.available(), help="installed text")
    add(
        "--data",
        type=Path,
        help="text in place of a corpus: a file (.txt, .md, .jsonl), a folder of them, or "
        "tokens that write_tokens wrote; the last tenth is held out",
    )
    add(
        "--tokenizer",
        default="bytes",
        help="bytes, a file of ByteBPE.save, or a folder with GPT-2's vocab.bpe",
    )
    add("--held-out", type=int, help="held-out tokens that are scored; all if not given")


def add_machine(parser: argparse.ArgumentParser) -> None:
    """Where the run computes, and in which numbers."""
    add = parser.add_argument
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to run")
    add("--dtype", default="float32", choices=["float32", "float64"], help="of the weights")
    add("--precision", default="full", choices=get_args(Precision), help="of the products")
    add("--compile", action="store_true", help="compile the model by torch.compile")
    add("--recompute", action="store_true", help="forget activations, compute them again")
    add("--parallel", default="sum", choices=KINDS, help="how processes share the work")
    add("--timeout", type=float, default=60.0, help="longest wait for a process [seconds]")


if __name__ == "__main__":
    for name, value in vars(parse(None, "Print the options of a pretraining run.")).items():
        print(f"{name}: {value}")
