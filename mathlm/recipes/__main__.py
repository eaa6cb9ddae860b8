"""``mathlm COMMAND ...``, the one console script; each command is a module of this package."""

import sys
from collections.abc import Sequence
from importlib import import_module

import mathlm

from .command import execute

COMMANDS = {
    "prepare": "clean raw text, remove duplicates, learn a tokenizer, write tokens",
    "pretrain": "train a GPT on text",
    "sft": "fine-tune a model on conversations (LoRA, adapters, prefixes or all weights)",
    "reward": "train a reward model on preferences",
    "dpo": "fine-tune a model on preferences (DPO, IPO, KTO, ORPO, SimPO)",
    "ppo": "train a policy on a reward by PPO",
    "grpo": "train a policy on a reward by GRPO or RLOO",
    "score": "score a completion by a reward",
    "generate": "continue a text",
    "chat": "talk with a model",
    "evaluate": "ask one or two models questions with several answers",
    "judge": "score the checkpoints of a run on held-out text",
    "plot": "draw the loss, the step size and the norms of a run",
    "diagnose": "say what looks wrong in a run",
    "scaling_fit": "fit a scaling law to training runs in a CSV file",
    "merge": "make an adapter part of its base: a folder that needs no other",
    "export": "write a checkpoint as a Hugging Face folder or a GGUF file",
    "whole_stack": "all of it: from raw text to a chat",
}
USAGE = "\n".join(
    [
        "usage: mathlm COMMAND [OPTIONS]",
        "",
        *(f"  {name:<12} {what}" for name, what in COMMANDS.items()),
        "",
        "mathlm COMMAND --help lists the options of one, with an example. For example:",
        "  mathlm sft --data my.jsonl --model smollm2 --lora-rank 16 --out runs/mine",
        "  mathlm chat --model runs/mine",
    ]
)


def dispatch(argv: Sequence[str] | None = None) -> None:
    """Hand the words after the first to the command that the first names."""
    name, *words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    if name in ("--help", "-h"):
        print(USAGE)
    elif name == "--version":
        print(mathlm.__version__)
    elif (module := name.replace("-", "_")) in COMMANDS:
        import_module(f"mathlm.recipes.{module}").main(words)
    else:
        print(f"error: {name} is no command\n{USAGE}", file=sys.stderr)
        raise SystemExit(2)


def main(argv: Sequence[str] | None = None) -> None:
    """The console script."""
    execute(dispatch, argv)


if __name__ == "__main__":
    main()
