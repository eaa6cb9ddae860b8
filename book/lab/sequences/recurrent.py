"""Train an RNN, a GRU and an LSTM of about equally many weights on the same bytes.

cd book
python -m lab.sequences.recurrent --size small --steps 1000 --record recurrent.json
"""

import argparse
import logging
import math
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import numpy as np
import torch

from mathlm.functional import token_cross_entropy
from mathlm.generate import generate
from mathlm.models import Recurrent, gradient_reach
from mathlm.optim import AdamW, warmup_cosine
from mathlm.text import bits_per_byte, corpus
from mathlm.train import TokenWindows, Trainer, TrainerConfig, next_token
from mathlm.train.record import record_on_cpu

from .carried import carried_loss

WIDTHS = {  # of state and embedding, by size and kind
    "nano": {"rnn": 48, "gru": 32, "lstm": 28},
    "tiny": {"rnn": 192, "gru": 128, "lstm": 112},
    "small": {"rnn": 384, "gru": 256, "lstm": 224},
}
PROMPT = b"KING HENRY IV:\n"


def parse(argv: Sequence[str] | None = None) -> argparse.Namespace:
    """Options from the command line."""
    defaults = argparse.ArgumentDefaultsHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=defaults)
    add = parser.add_argument
    add("--kinds", nargs="+", default=["rnn", "gru", "lstm"], choices=["rnn", "gru", "lstm"])
    add("--size", default="tiny", choices=WIDTHS, help="widths of the three kinds")
    add("--steps", type=int, default=200, help="optimizer steps")
    add("--batch-size", type=int, default=32, help="windows in a step")
    add("--context", type=int, default=128, help="window length [bytes]")
    add("--lr", type=float, nargs="+", default=[4e-3], help="largest step sizes, each tried")
    add(
        "--forget-bias", type=float, default=1.0, help="of the LSTM's forget gates at the start"
    )
    add("--clip", type=float, default=1.0, help="largest norm of the gradient")
    add("--evaluations", type=int, default=10, help="points at which held-out text is read")
    add("--seed", type=int, default=0, help="of weights and order")
    add("--record", type=Path, help="JSON file for options and results")
    return parser.parse_args(argv)


def build(kind: str, lr: float, training: bytes, args: argparse.Namespace) -> Trainer:
    """Model, data, optimizer and trainer of one kind at one step size."""
    torch.manual_seed(args.seed)
    bias = args.forget_bias if kind == "lstm" else None
    model = Recurrent(kind=kind, d_model=WIDTHS[args.size][kind], forget_bias=bias)
    ids, sizes = np.frombuffer(training, np.uint8), {"vocab_size": 256, "seed": args.seed}
    data = TokenWindows(ids, context=args.context, batch_size=args.batch_size, **sizes)
    schedule = warmup_cosine(lr, min(50, args.steps // 4), args.steps, final=lr / 20)
    config = TrainerConfig(steps=args.steps, schedule=schedule, clip=args.clip, device="cpu")
    optimizer = AdamW(model.parameters(), weight_decay=0.01)
    return Trainer(model, next_token, data, optimizer, config)


def bits_carried(model: Recurrent, text: bytes) -> float:
    """Cost of a text with the state carried along [bits/byte]."""
    return bits_per_byte(*carried_loss(model, np.frombuffer(text, np.uint8)))


def run(kind: str, lr: float, text: bytes, held_out: bytes, args: argparse.Namespace) -> dict:
    """Train one kind; its evaluations, losses, gradient norms, reach and a sample."""
    trainer, start, points = build(kind, lr, text, args), time.process_time(), []
    model, every = cast(Recurrent, trainer.model), max(1, args.steps // args.evaluations)
    rows = torch.tensor(list(held_out[: 64 * 129])).view(64, 129)
    found: dict[str, Any] = {"reach_before": gradient_reach(model, rows)}
    steps = []
    while trainer.step < args.steps:
        steps.append(trainer.train_step())
        if trainer.step % every == 0 or trainer.step == args.steps:
            last = trainer.step == args.steps
            bits = bits_carried(model, held_out if last else held_out[:60_000])
            points.append({"step": trainer.step, "bits_per_byte": bits})
            logging.info("%s %s", kind, points[-1])
    drawn = generate(model, torch.tensor([list(PROMPT)]), 300, 0.8, seed=0)[0]
    found |= {"sample": bytes(drawn.tolist()).decode(errors="replace"), "kind": kind, "lr": lr}
    found |= {"evaluations": points, "config": model.config, "bits_per_byte": bits}
    found |= {"losses": [loss for loss, _ in steps], "grad_norms": [norm for _, norm in steps]}
    found |= {"parameters": sum(p.numel() for p in model.parameters())}
    found |= {"bytes_read": args.steps * args.batch_size * args.context}
    found |= {
        "reach": gradient_reach(model, rows),
        "bits_by_position": by_position(model, rows),
    }
    return found | {"cpu_seconds": time.process_time() - start}


@torch.inference_mode()
def by_position(model: Recurrent, rows: torch.Tensor) -> list[float]:
    """Mean cost of the bytes predicted from 1, 2, 3 ... others [bits]."""
    return (
        token_cross_entropy(model(rows[:, :-1]), rows[:, 1:]).mean(0) / math.log(2)
    ).tolist()


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train all kinds; returns, and may record, what each gave."""
    args = parse(argv)
    training, held_out = (text.encode() for text in corpus.split("shakespeare"))
    runs = [run(kind, lr, training, held_out, args) for kind in args.kinds for lr in args.lr]
    parts = {"options": vars(args), "runs": runs, "held_out_bytes": len(held_out)}
    record_on_cpu(args.record, **parts)
    return runs


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    main()
