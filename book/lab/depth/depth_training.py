"""Does a deep GPT train without residuals, without norms, or with the norms elsewhere?

    cd book
    python -m lab.depth.depth_training --depths 8 --lr 0.01 --warmup 0.25 --seeds 0 1 2
        --steps 120 --held-out 4096 --record depth-training.json
    python -m lab.depth.depth_training --kinds pre-norm post-norm --depths 4 --start xavier
        --lr 0.003 0.01 0.03 --seeds 0 1 2 --steps 120 --held-out 4096
        --record warmup-training.json
    python -m lab.depth.depth_training --kinds post-norm no-residual --depths 8 --lr 0.003
        --warmup 0.25 --seeds 0 1 2 --steps 120 --held-out 4096
        --record depth-smaller-step.json

Every run reads the same windows of Shakespeare.
"""

import argparse
import logging
import math
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import torch

from mathlm.errors import NonFiniteLossError
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import corpus
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.record import record_on_cpu

from .block_kinds import BLOCKS, STARTS, block_gradients, build


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    add = parser.add_argument
    add("--kinds", nargs="+", choices=BLOCKS, default=list(BLOCKS))
    add("--depths", type=int, nargs="+", default=[4, 16], help="blocks")
    add("--start", choices=STARTS, default="full", help="variance of the first weights")
    add("--lr", type=float, nargs="+", default=[3e-3, 1e-2], help="largest step sizes")
    add("--warmup", type=float, nargs="+", default=[0.0, 0.25], help="shares of the steps")
    add("--seeds", type=int, nargs="+", default=[0], help="of weights and order")
    add("--steps", type=int, default=200)
    add("--d-model", type=int, default=32, help="width; each head has 16 of it")
    add("--context", type=int, default=64, help="window length [bytes]")
    add("--batch-size", type=int, default=4, help="windows in a step")
    add("--held-out", type=int, default=8192, help="bytes of held-out plays that are read")
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    if args.d_model % 16 or min(*args.depths, args.steps) < 1:
        parser.error("--d-model must be a multiple of 16, --depths and --steps positive")
    return args


def run(case: dict, training: bytes, held_out: bytes, args: argparse.Namespace) -> dict:
    """Train one model; its losses [nats/byte], and the one on plays that it never saw."""
    start, steps = time.process_time(), args.steps
    options = {"start": args.start, "d_model": args.d_model, "context": args.context}
    model = build(case["kind"], case["depth"], case["seed"], **options)
    sizes = {"context": args.context, "batch_size": args.batch_size, "vocab_size": 256}
    read, unread = (
        TokenWindows(np.frombuffer(text, np.uint8), **sizes, seed=case["seed"])
        for text in (training, held_out)
    )
    result = case | {"block_gradients": block_gradients(model, read(0)), "held_out": math.inf}
    schedule = warmup_cosine(case["lr"], round(case["warmup"] * steps), steps)
    config = TrainerConfig(steps=steps, schedule=schedule, log_every=max(1, steps // 50))
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    trainer = Trainer(model, next_token, read, optimizer, config)
    try:
        trainer.fit()
        with torch.inference_mode():
            nats = sum(float(next_token(model.eval(), batch)[0]) for batch in unread)
        result["held_out"] = nats / (len(held_out) - 1)
    except NonFiniteLossError as error:
        logging.warning("%s", error)
    losses = [[point["step"], point["loss"]] for point in trainer.history]
    return result | {"losses": losses, "cpu_seconds": time.process_time() - start}


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run all; returns, and may record, what each gave."""
    args, runs = parse(argv), list[dict]()
    training, held_out = (text.encode() for text in corpus.split("shakespeare"))
    names = ("depth", "kind", "lr", "warmup", "seed")
    for values in product(args.depths, args.kinds, args.lr, args.warmup, args.seeds):
        case = dict(zip(names, values, strict=True))
        runs.append(run(case, training, held_out[: args.held_out], args))
        logging.warning("%s: %.3f nats/byte", case, runs[-1]["held_out"])
    record_on_cpu(args.record, options=vars(args), runs=runs)
    return runs


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    main()
