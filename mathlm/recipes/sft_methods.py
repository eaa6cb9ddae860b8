"""What of a model is trained.

    python -m mathlm.recipes.sft_methods --data my.jsonl --lora-rank 16

Prints how many numbers a command would train.
"""

import argparse
import logging
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from torch import Tensor

from .. import adapt
from ..chat.folder import load, read
from ..chat.model import ChatModel
from ..chat.special_tokens import train_special_tokens
from ..errors import ConfigError, MathLMError
from ..generate import quantize
from ..models import GPT
from .sft_options import parse

log = logging.getLogger(__name__)
Method = Callable[[GPT, argparse.Namespace], object]


def lora(model: GPT, args: argparse.Namespace) -> None:
    """Low-rank updates."""
    targets = args.lora_targets
    adapt.add_lora(
        model,
        args.lora_rank,
        args.lora_alpha,
        "all-linear" if targets == ["all-linear"] else targets,
        dropout=args.lora_dropout,
        rank_stabilized=args.rslora,
        seed=args.seed,
    )


METHODS: dict[str, Method] = {
    "full": lambda model, args: model.requires_grad_(True),
    "freeze": lambda model, args: adapt.freeze(model, but=args.train),
    "lora": lora,
    "adapters": lambda model, args: adapt.add_adapters(model, args.width, seed=args.seed),
    "prefix": lambda model, args: adapt.add_prefix(model, args.length, seed=args.seed),
    "prompt": lambda model, args: adapt.add_prompt(model, args.length, seed=args.seed),
}


def prepared(args: argparse.Namespace) -> tuple[ChatModel, Tensor | None]:
    """The model of the options, with gradients where it is trained; first rows of its marks."""
    require_places(args)
    form = args.template or args.format
    base = load(args.model, tokenizer=args.tokenizer, form=form, device="cpu")
    model = base.model if args.quantize is None else quantize(base.model, args.quantize)
    model = model.to(getattr(torch, args.dtype))
    METHODS[args.method](model, args)
    chat_model = ChatModel(model=model, tokenizer=base.tokenizer, format=base.format)
    first = train_special_tokens(chat_model, args.marks)
    trained, every = adapt.count_trainable(model)
    trained -= 0 if first is None else model.token_embedding.weight.numel() - first.numel()
    log.info("training %d of %d numbers (%.2f %%)", trained, every, 100 * trained / every)
    return chat_model, first


def require_places(args: argparse.Namespace) -> None:
    """Refuse a base that is an adapter, and a result in the place of another model."""
    if (read(Path(args.model)) or {}).get("kind") == "adapter":
        raise ConfigError(
            f"--model {args.model} is an adapter: give its base, or tune with --merge "
            "and begin with what this writes"
        )
    if args.out.resolve() == Path(args.model).resolve():
        raise ConfigError(f"--out {args.out} is the model itself: give another folder")
    theirs = ("config.json", "adapter_config.json")
    if any((args.out / name).exists() for name in theirs) and read(args.out) is None:
        raise ConfigError(f"--out {args.out} holds another model: give another folder")


def main(argv: Sequence[str] | None = None) -> None:
    """Prepare a model and say what is trained."""
    prepared(parse(argv))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
