"""What does the size of the vocabulary do to a small GPT that may spend a fixed compute?

cd book
python -m lab.tokenization.vocabulary_size --record vocabulary-size.json
"""

import argparse
import logging
import time
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from mathlm.errors import ConfigError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import ByteBPE, bits_per_byte, corpus
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.record import record_on_cpu


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    add("--sizes", type=int, nargs="+", default=[256, 512, 1024, 2048, 4096, 8192])
    add("--compute", type=float, nargs="+", default=[1e12], help="of each run [FLOP]")
    add("--d-model", type=int, default=64, help="width; each head has 32 of it")
    add("--layers", type=int, default=2, help="blocks")
    add("--context", type=int, default=128, help="window length [tokens], the same for all")
    add("--batch-size", type=int, default=8, help="windows in a step, the same for all")
    add("--lr", type=float, nargs="+", default=[4e-3], help="largest step sizes, each tried")
    add("--seeds", type=int, nargs="+", default=[0], help="of weights and order, each run")
    add("--training", type=int, help="bytes of training plays that are read; default: all")
    add("--held-out", type=int, help="bytes of held-out plays that are read; default: all")
    add("--record", type=Path, help="JSON file for options and results")
    args = parser.parse_args(argv)
    if args.d_model % 32 or min(args.context, args.batch_size) < 1:
        parser.error("--d-model must be a multiple of 32, --context and --batch-size positive")
    return args


def flops_per_token(model: GPT) -> int:
    """Compute of one token, forward and backward [FLOP/token].

    Computes::

        6 N + 12 L T D

    N counts the matrices, with the V D of the head; the second term is attention to all T.
    """
    N = sum(p.numel() for p in model.parameters() if p.ndim == 2)
    return 6 * N + 12 * model.config.n_layers * model.config.context * model.config.d_model


def windows(ids: np.ndarray, size: int, seed: int, args: argparse.Namespace) -> TokenWindows:
    """Windows of as many tokens for every vocabulary."""
    sizes = {"context": args.context, "batch_size": args.batch_size, "vocab_size": size}
    return TokenWindows(ids, **sizes, seed=seed)


def build(size: int, ids: np.ndarray, case: dict, args: argparse.Namespace) -> Trainer:
    """Trainer of a GPT that stops when the compute is spent."""
    torch.manual_seed(case["seed"])
    model = GPT(GPTConfig(
        vocab_size=size, d_model=args.d_model, n_layers=args.layers, n_heads=args.d_model // 32,
        context=args.context, norm="rms", activation="swiglu", position="rope", bias=False,
    ))  # fmt: skip
    step_flops = flops_per_token(model) * args.batch_size * args.context
    if not 2 * step_flops <= case["compute"] < np.inf:
        raise ConfigError(f"compute={case['compute']} must pay 2 steps of {step_flops} FLOP")
    steps = round(case["compute"] / step_flops)
    schedule = warmup_cosine(case["lr"], max(1, steps // 20), steps, final=case["lr"] / 10)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    config = TrainerConfig(steps=steps, schedule=schedule, log_every=max(1, steps // 50))
    return Trainer(model, next_token, windows(ids, size, case["seed"], args), optimizer, config)


def run(case: dict, ids: np.ndarray, held_out: np.ndarray, bpe: ByteBPE, args: Any) -> dict:
    """Train on one vocabulary; what held-out plays cost per token and per byte."""
    size, start = bpe.vocab_size, time.process_time()
    trainer = build(size, ids, case, args)
    losses = [[point["step"], point["loss"]] for point in trainer.fit()]
    model, read = cast(GPT, trainer.model.eval()), trainer.step * args.batch_size * args.context
    with torch.inference_mode():
        batches = windows(held_out, size, 0, args)
        nats = sum(float(next_token(model, batch)[0]) for batch in batches)
    targets, n_bytes = len(held_out) - 1, len(bpe.decode_bytes(held_out[1:].tolist()))
    per_token = flops_per_token(model)
    return case | {
        "vocab_size": size, "bits_per_byte": bits_per_byte(nats, n_bytes),
        "nats_per_token": nats / targets, "bytes_per_token": n_bytes / targets,
        "flops_per_token": per_token, "flops": per_token * read, "tokens_read": read,
        "steps": trainer.step, "epochs": read / len(ids), "losses": losses,
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": time.process_time() - start,
    }  # fmt: skip


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run all; returns, and may record, what each gave."""
    args, runs = parse(argv), list[dict]()
    limits = zip(corpus.split("shakespeare"), (args.training, args.held_out), strict=True)
    texts = [text.encode()[:limit].decode(errors="ignore") for text, limit in limits]
    for size in args.sizes:
        bpe = ByteBPE.train(texts[:1], size)
        training, held_out = (np.array(bpe.encode(text), np.int32) for text in texts)
        for values in product(args.compute, args.lr, args.seeds):
            case = dict(zip(("compute", "lr", "seed"), values, strict=True))
            runs.append(run(case, training, held_out, bpe, args))
            logging.info("%s", {k: v for k, v in runs[-1].items() if k != "losses"})
    record_on_cpu(args.record, options=vars(args), runs=runs)
    return runs


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
