"""Tune a model on conversations; run by python -m or torchrun -m.

    python -m mathlm.recipes.sft --data my.jsonl --model smollm2 --lora-rank 16
    python -m mathlm.recipes.sft --data chatterbot --model my-folder --method full
    python -m mathlm.recipes.chat --model runs/my-smollm2-lora

A line of the data is {"prompt": ..., "response": ...}, {"instruction": ..., "output": ...} or
{"messages": [...]}; the answers alone are learned. The same command resumes a run that was
interrupted. The result holds an adapter or a model, the tokenizer and the form of the turns.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ..adapt import TowardsStart, trainable
from ..chat.model import Chatting
from ..errors import MathLMError
from ..models import GPT
from ..optim import AdamW, warmup_cosine
from ..train import Trainer, TrainerConfig, distribute, next_token, resolve_device
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from ..train.objectives import Batch, Objective
from .run_record import record_run
from .sft_data import Conversations, conversations
from .sft_method_options import OWN, step_size
from .sft_methods import prepared
from .sft_options import parse
from .sft_result import results, written


@dataclass(frozen=True)
class Tuning:
    """An objective that says which method it tunes with: a run is resumed with the same."""

    objective: Objective
    method: dict[str, Any]

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats], summed over targets, and their number."""
        return self.objective(model, batch)


def build(
    args: argparse.Namespace, chatting: Chatting, first: Tensor | None, data: Conversations
) -> Trainer:
    """Trainer of a run; fills in the options that depend on the data."""
    args.steps = args.steps or args.epochs * data.steps_per_epoch
    if args.lr is None:
        args.lr = step_size(args.method, chatting.model.config.d_model)
    if data.held_out is not None:
        args.eval_every = args.eval_every or max(1, args.steps // 10)
    if args.recompute:
        checkpoint_activations(chatting.model)
    objective: Objective = next_token
    if args.towards_start is not None:
        objective = TowardsStart(next_token, chatting.model, args.towards_start)
    names = ("method", "quantize", "marks", *OWN[args.method])
    method = {name: getattr(args, name) for name in names} | {"model": Path(args.model)}
    tuning = Tuning(objective, method)
    model = distribute(chatting.model, args.parallel, resolve_device(args.device))
    optimizer = AdamW(groups(args, chatting.model, first))
    options = {f.name: getattr(args, f.name) for f in fields(TrainerConfig) if f.name in args}
    warmup = args.steps // 20 if args.warmup is None else args.warmup
    schedule = warmup_cosine(args.lr, warmup, args.steps, final=args.lr / 10)
    config = TrainerConfig(**options, schedule=schedule, folder=args.out / "checkpoints")
    return Trainer(model, tuning, data.training, optimizer, config, held_out=data.held_out)


def groups(args: argparse.Namespace, model: GPT, first: Tensor | None) -> list[dict[str, Any]]:
    """What is trained; an embedding of which a few rows are trained does not decay."""
    rows = [] if first is None else [model.token_embedding.weight]
    rest = [p for p in trainable(model).values() if all(p is not row for row in rows)]
    decay = [{"params": rest, "weight_decay": args.weight_decay}]
    return decay + ([{"params": rows, "weight_decay": 0.0}] if rows else [])


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Tune, judge, write and record; returns the results."""
    args = parse(argv)
    with process_group(args.device, timeout=args.timeout):
        chatting, first = prepared(args)
        data, start = conversations(args, chatting), time.perf_counter()
        trainer = build(args, chatting, first, data)
        before = None if data.held_out is None else trainer.evaluate()
        trainer.resume(allow_change=args.allow_change)
        trainer.fit()
        found = results(trainer, data, before) | {"seconds": time.perf_counter() - start}
        if rank() == 0:
            if args.record:
                record_run(args, trainer, found)
            place = written(args, chatting, first)
            logging.info("talk with it: python -m mathlm.recipes.chat --model %s", place)
        return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        logging.info("%s", main())
    except MathLMError as error:
        sys.exit(f"error: {error}")
