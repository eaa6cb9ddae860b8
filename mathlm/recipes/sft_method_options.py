"""Options of what is trained: each method has its own, and refuses those of others.

    python -m mathlm.recipes.sft_method_options

Prints the options of each method, with what they are if not given.
"""

import argparse
from typing import Any

from ..errors import ConfigError

OWN: dict[str, dict[str, Any]] = {  # what a method alone understands, and what it then has
    "full": {},
    "freeze": {"train": None},
    "lora": {"lora_rank": 16, "lora_alpha": None, "lora_dropout": 0.0}
    | {"lora_targets": ["all-linear"], "rslora": False},
    "adapters": {"width": 16},
    "prefix": {"length": 16},
    "prompt": {"length": 16},
}
STEP_SIZES = {  # of a model of width 576
    "full": 1e-4,
    "freeze": 3e-4,
    "lora": 1e-3,
    "adapters": 1e-3,
    "prefix": 1e-2,
    "prompt": 1e-2,
}
MARKS = "train the embeddings of the marks between turns; auto: if the model never saw them"


def add_method(parser: argparse.ArgumentParser) -> None:
    """What is trained."""
    add = parser.add_argument
    add("--method", choices=OWN, default="lora", help="what is trained")
    add("--lora-rank", type=int, help="rank of the updates; 16")
    add("--lora-alpha", type=float, help="scale of the updates: alpha/rank; the rank")
    add("--lora-dropout", type=float, help="dropped inputs of the updates; 0")
    add("--lora-targets", nargs="+", metavar="MAP", help="such as W_q W_v; all-linear")
    add("--rslora", action="store_true", default=None, help="scale alpha/sqrt(rank)")
    add("--width", type=int, help="of the bottlenecks; 16")
    add("--length", type=int, help="of the prefix or the prompt; 16")
    add("--train", nargs="+", metavar="PART", help="of freeze: such as blocks.3 final_norm")
    add("--marks", choices=["auto", "train", "keep"], default="auto", help=MARKS)
    add("--merge", action="store_true", help="write a whole model in place of an adapter")
    add("--quantize", type=int, choices=[4, 8], help="bits of the frozen weights")
    add("--towards-start", type=float, help="pull towards the first weights [nats/target]")


def fill(args: argparse.Namespace) -> None:
    """Give the options of the method their values.

    Raises:
        ConfigError: If an option of another method was given.
    """
    own = OWN[args.method]
    for name in sorted({name for names in OWN.values() for name in names} - set(own)):
        if getattr(args, name) is not None:
            raise ConfigError(f"{flag(name)} is no option of --method {args.method}")
    for name, value in own.items():
        setattr(args, name, value if getattr(args, name) is None else getattr(args, name))


def step_size(method: str, width: int) -> float:
    """Where to begin: a wider model sums more changes, and each is to be smaller."""
    return STEP_SIZES[method] * 576 / width


def whole_result(args: argparse.Namespace) -> bool:
    """Whether a whole model is written, not an adapter."""
    return args.method in ("full", "freeze") or args.merge


def flag(name: str) -> str:
    """An option as it is typed."""
    return "--" + name.replace("_", "-")


if __name__ == "__main__":
    for method, names in OWN.items():
        print(method, " ".join(f"{flag(name)} {value}" for name, value in names.items()))
