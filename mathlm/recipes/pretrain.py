"""Pretrain a GPT on a text of any size; run by python -m or torchrun -m.

    python -m mathlm.recipes.pretrain --data my-texts --size small --out runs/mine
    torchrun --nproc_per_node 2 -m mathlm.recipes.pretrain --parallel fsdp --out runs/both

The result is in bits per byte, which does not depend on the tokenizer. Text is encoded into a
file at the start, by every process for itself; a large one is better encoded once, by
recipes.prepare or write_tokens, and given as that file.
"""

import argparse
import logging
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import fields

import torch

from ..errors import MathLMError
from ..models import GPT, GPTConfig
from ..optim import AdamW, warmup_cosine
from ..train import Trainer, TrainerConfig, distribute, next_token, resolve_device
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from ..train.record import device_name, write_record
from .pretrain_data import bytes_per_target, windows
from .pretrain_options import SIZES, parse


def build(args: argparse.Namespace) -> tuple[Trainer, float]:
    """Trainer of a run, and the bytes that a held-out target stands for."""
    training, held_out = windows(args)
    torch.manual_seed(args.seed)
    sizes = SIZES[args.size] | {"context": args.context, "dropout": args.dropout}
    sizes["vocab_size"] = training.vocab_size
    shape = GPTConfig(norm="rms", activation="swiglu", position="rope", bias=False, **sizes)
    one = GPT(shape).to(getattr(torch, args.dtype))
    if args.recompute:
        checkpoint_activations(one)
    model = distribute(one, args.parallel, resolve_device(args.device))
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=args.weight_decay)
    options = {f.name: getattr(args, f.name) for f in fields(TrainerConfig) if f.name in args}
    schedule = warmup_cosine(args.lr, args.warmup, args.steps, final=args.lr / 10)
    config = TrainerConfig(**options, schedule=schedule, folder=args.out)
    trainer = Trainer(model, next_token, training, optimizer, config, held_out=held_out)
    return trainer, bytes_per_target(held_out)


def results(trainer: Trainer, size: float) -> dict[str, float]:
    """What the last evaluation found, in nats per token and in bits per byte."""
    last, bits = trainer.history[-1], size * math.log(2)
    found = {name: x for name, x in last.items() if name.startswith("held_out_loss")}
    found["bits_per_byte"] = last["held_out_loss"] / bits
    if "held_out_loss_ema" in last:
        found["bits_per_byte_ema"] = last["held_out_loss_ema"] / bits
    found["parameters"] = sum(p.numel() for p in trainer.model.parameters())
    return found


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, evaluate and record; returns the results."""
    args = parse(argv, (__doc__ or "").split("\n")[0])
    with process_group(args.device, timeout=args.timeout):
        (trainer, size), start = build(args), time.perf_counter()
        trainer.resume(allow_change=args.allow_change)
        trainer.fit()
        found = results(trainer, size) | {"seconds": time.perf_counter() - start}
        if args.record and rank() == 0:
            parts = {"options": vars(args), "history": trainer.history, "results": found}
            parts |= {"config": trainer.describe(), "device": device_name(trainer.device)}
            write_record(args.record, **parts)
        return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        logging.info("%s", main())
    except MathLMError as error:
        sys.exit(f"error: {error}")
