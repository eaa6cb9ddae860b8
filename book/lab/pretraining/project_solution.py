"""One way to solve the project: a tokenizer, windows, bits per byte, and a run with them.

    cd book
    python -m lab.pretraining.project_solution --record results/pretraining-project.json

Twenty minutes on one core.
"""

import argparse
import logging
import math
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy import ndarray

from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import ByteBPE, corpus
from mathlm.train import Trainer, TrainerConfig, next_token
from mathlm.train.record import record_on_cpu

NOTHING = -100  # the target where there is nothing to predict


def tokenizer_from(texts: Sequence[str], vocab_size: int) -> ByteBPE:
    """Merges of bytes, learned from these texts alone."""
    return ByteBPE.train(texts, vocab_size)


def windows(ids: Sequence[int], context: int) -> tuple[ndarray, ndarray]:
    """Windows that tile the text: each id but the first is a target once."""
    count = math.ceil((len(ids) - 1) / context)
    inputs, targets = np.zeros((2, count * context), np.int64)
    inputs[: len(ids) - 1], targets[: len(ids) - 1] = ids[:-1], ids[1:]
    targets[len(ids) - 1 :] = NOTHING
    return inputs.reshape(count, context), targets.reshape(count, context)


def bits(logits_of: Callable[[ndarray], Any], tokenizer: Any, text: str, context: int) -> float:
    """Bits per byte of a text: all nats of all its tokens, over its bytes."""
    inputs, targets = windows(tokenizer.encode(text), context)
    nats = 0.0
    for x, y in zip(np.array_split(inputs, len(inputs)), targets, strict=True):
        logits = torch.as_tensor(logits_of(x)).double()[0]  # (T, V)
        y = torch.from_numpy(y)
        nats += float(torch.nn.functional.cross_entropy(logits, y, reduction="sum"))
    return nats / len(text.encode()) / math.log(2)


class Batches:
    """Windows of a text in an order that is new in each epoch; a function of the step."""

    def __init__(self, ids: Sequence[int], context: int, batch_size: int) -> None:
        self.inputs, self.targets = map(torch.from_numpy, windows(ids, context))
        self.batch_size, self.each = batch_size, len(self.inputs) // batch_size

    def __call__(self, step: int) -> dict[str, torch.Tensor]:
        """Inputs and targets of a step, (B, T) each."""
        epoch, place = divmod(step, self.each)
        order = np.random.default_rng(epoch).permutation(len(self.inputs))
        rows = order[place * self.batch_size : (place + 1) * self.batch_size]
        return {"ids": self.inputs[rows], "targets": self.targets[rows]}


def run(
    steps: int, vocab_size: int = 1024, width: int = 192, layers: int = 4, judged: int = 0
) -> dict[str, Any]:
    """Train with a tokenizer of the training plays, and charge the held-out ones.

    Args:
        steps: Of 8 windows of 256 tokens.
        vocab_size: Tokens.
        width: Of the model.
        layers: Of the model.
        judged: Held-out bytes that are charged; 0 for all.

    Returns:
        ``bits`` per byte, ``tokens`` per byte, parameters and seconds.
    """
    start = time.process_time()
    training, held_out = corpus.split("shakespeare")
    held_out = held_out.encode()[: judged or None].decode()
    tokenizer = tokenizer_from([training], vocab_size)
    ids = tokenizer.encode(training)
    torch.manual_seed(0)
    sizes = {"vocab_size": vocab_size, "context": 256, "d_model": width, "n_layers": layers}
    parts = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
    model = GPT(GPTConfig(**sizes, n_heads=width // 32, **parts))  # type: ignore[arg-type]
    schedule = warmup_cosine(3e-3, steps // 20, steps, final=3e-4)
    optimizer = AdamW(model.parameters(), betas=(0.9, 0.95), weight_decay=0.1)
    config = TrainerConfig(steps=steps, schedule=schedule, log_every=max(1, steps // 20))
    Trainer(model, next_token, Batches(ids, 256, 8), optimizer, config).fit()
    model.eval()
    with torch.inference_mode():
        cost = bits(lambda x: model(torch.from_numpy(x)), tokenizer, held_out, 256)
    return {
        "bits": cost,
        "held_out_bytes": len(held_out.encode()),
        "tokens_per_byte": len(ids) / len(training.encode()),
        "parameters": sum(p.numel() for p in model.parameters()),
        "cpu_seconds": round(time.process_time() - start),
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """One run; returns, and may record, what it costs."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path, help="JSON file of the result")
    parser.add_argument("--steps", type=int, default=1500, help="optimizer steps")
    parser.add_argument("--vocab-size", type=int, default=1024, help="tokens")
    args = parser.parse_args(argv)
    found = run(args.steps, args.vocab_size)
    record_on_cpu(
        args.record, options={"steps": args.steps, "vocab_size": args.vocab_size}, results=found
    )
    return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    logging.info("%s", main())
