"""``mathlm COMMAND ...``, the one console script; each command is a module of this package."""

import sys
from collections.abc import Sequence
from importlib import import_module

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
    "judge": "score a model on held-out text",
    "export": "write a checkpoint as a Hugging Face folder",
    "whole_stack": "all of it: from raw text to a chat",
}


def main(argv: Sequence[str] | None = None) -> None:
    """Hand the words after the first to the command that the first names."""
    name, *words = (sys.argv[1:] if argv is None else argv) or ["--help"]
    name = name.replace("-", "_")
    if name not in COMMANDS:
        lines = [f"  {command:<12} {what}" for command, what in COMMANDS.items()]
        asked = name in ("__help", "_h")
        said = "" if asked else f"error: {name} is no command\n"
        text = "usage: mathlm COMMAND [OPTIONS]\n\n" + "\n".join(lines)
        text += "\n\nmathlm COMMAND --help lists the options of one."
        print(said + text, file=sys.stdout if asked else sys.stderr)
        raise SystemExit(0 if asked else 2)
    execute(import_module(f"mathlm.recipes.{name}").main, words)


if __name__ == "__main__":
    main()
