"""Pretrain a byte-level GPT, measured in bits per byte; run by python -m or torchrun -m."""

import argparse
import logging
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import torch

from ..errors import DataNotFoundError, MathLMError
from ..models import GPT, GPTConfig
from ..optim import AdamW, warmup_cosine
from ..text import corpus
from ..train import TokenWindows, Trainer, TrainerConfig, next_token
from ..train.distributed import process_group, rank
from ..train.record import device_name, write_record

SIZES: dict[str, dict[str, Any]] = {
    "nano": {"d_model": 32, "n_layers": 1, "n_heads": 2},
    "tiny": {"d_model": 64, "n_layers": 2, "n_heads": 4},
    "small": {"d_model": 128, "n_layers": 4, "n_heads": 4},
    "medium": {"d_model": 192, "n_layers": 4, "n_heads": 6},
    "base": {"d_model": 384, "n_layers": 6, "n_heads": 6},
}


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=defaults)
    add = parser.add_argument
    add("--corpus", default="shakespeare", choices=corpus.available(), help="installed text")
    add("--data", type=Path, help="text file in place of a corpus; its last tenth is held out")
    add("--size", default="tiny", choices=SIZES, help="width, layers and heads")
    add("--steps", type=int, default=500, help="optimizer steps")
    add("--batch-size", type=int, default=16, help="windows in a step, over all processes")
    add("--micro-batches", type=int, default=1, help="parts that a process cuts its share into")
    add("--context", type=int, default=128, help="window length [bytes]")
    add("--lr", type=float, default=3e-3, help="largest step size")
    add("--warmup", type=int, default=20, help="steps until the largest step size")
    add("--weight-decay", type=float, default=0.1, help="decay of all weights")
    add("--clip", type=float, default=1.0, help="largest norm of the gradient")
    add("--dropout", type=float, default=0.0, help="probability of dropping a unit")
    add("--seed", type=int, default=0, help="seed of weights, order and dropout")
    add("--device", default="auto", choices=["cpu", "cuda", "auto"], help="where to run")
    add("--dtype", default="float32", choices=["float32", "float64"], help="of the weights")
    add("--log-every", type=int, default=10, help="steps between log lines")
    add("--eval-every", type=int, help="steps between evaluations; the last is evaluated")
    add("--save-every", type=int, default=100, help="steps between checkpoints")
    add("--keep", type=int, help="newest checkpoints that stay; all if not given")
    add("--out", type=Path, help="folder of the checkpoints; a run found there is resumed")
    add("--allow-change", action="store_true", help="resume although the options differ")
    add("--record", type=Path, help="JSON file for options, history and result")
    add("--timeout", type=float, default=60.0, help="longest wait for a process [seconds]")
    return parser.parse_args(argv)


def texts(args: argparse.Namespace) -> tuple[bytes, bytes]:
    """Bytes to train on and bytes held out."""
    if args.data is None:
        training, held_out = corpus.split(args.corpus)
        return training.encode(), held_out.encode()
    if not args.data.is_file():
        raise DataNotFoundError(f"--data {args.data} is not a file")
    content = args.data.read_bytes()
    cut = len(content) - len(content) // 10
    return content[:cut], content[cut:]


def windows(text: bytes, args: argparse.Namespace) -> TokenWindows:
    """Windows over the bytes of ``text``."""
    ids, sizes = np.frombuffer(text, np.uint8), {"context": args.context, "vocab_size": 256}
    return TokenWindows(ids, batch_size=args.batch_size, seed=args.seed, **sizes)


def build(args: argparse.Namespace) -> Trainer:
    """Model, data, optimizer and trainer of a run."""
    training, held_out = (windows(text, args) for text in texts(args))
    torch.manual_seed(args.seed)
    sizes = SIZES[args.size] | {"context": args.context, "dropout": args.dropout}
    shape = GPTConfig(
        vocab_size=256, norm="rms", activation="swiglu", position="rope", bias=False, **sizes
    )
    model = GPT(shape).to(getattr(torch, args.dtype))
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=args.weight_decay)
    options = {f.name: getattr(args, f.name) for f in fields(TrainerConfig) if f.name in args}
    schedule = warmup_cosine(args.lr, args.warmup, args.steps, final=args.lr / 10)
    config = TrainerConfig(**options, schedule=schedule, folder=args.out)
    return Trainer(model, next_token, training, optimizer, config, held_out=held_out)


def main(argv: Sequence[str] | None = None) -> dict[str, float]:
    """Train, evaluate and record; returns the results."""
    args = parse(argv)
    with process_group(args.device, timeout=args.timeout):
        trainer, start = build(args), time.perf_counter()
        trainer.resume(allow_change=args.allow_change)
        loss = trainer.fit()[-1]["held_out_loss"]
        results = {"held_out_loss": loss, "bits_per_byte": loss / math.log(2)}
        results["parameters"] = sum(p.numel() for p in trainer.model.parameters())
        results["seconds"] = time.perf_counter() - start
        if args.record and rank() == 0:
            parts = {"options": vars(args), "history": trainer.history, "results": results}
            parts |= {"config": trainer.describe(), "device": device_name(trainer.device)}
            write_record(args.record, **parts)
        return results


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        logging.info("%s", main())
    except MathLMError as error:
        sys.exit(f"error: {error}")
