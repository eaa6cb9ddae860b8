"""Tune a model on preferences; run by python -m or torchrun -m.

    python -m mathlm.recipes.dpo --data pairs.jsonl --model smollm2 --loss dpo --beta 0.1
    python -m mathlm.recipes.dpo --data judged.jsonl --loss kto --lora-rank 16

A line of the data is {"prompt": ..., "chosen": ..., "rejected": ...} or another form of
mathlm.text.preferences; of --loss kto it is {"prompt": ..., "completion": ..., "label": true}.
The reference is the model as it was; with --method lora it costs no memory, and it is asked
once. The same command resumes a run that was interrupted.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import Tensor, nn

from ..align import Reference
from ..chat.model import Chatting
from ..errors import MathLMError
from ..optim import AdamW, warmup_cosine
from ..train import TrainerConfig, distribute, resolve_device
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from .dpo_data import Preferred, preferred
from .dpo_judging import BETA, PreferenceTrainer, judge
from .dpo_losses import objective
from .dpo_options import parse
from .run_record import record_run
from .sft import Tuning, groups
from .sft_method_options import OWN, step_size
from .sft_methods import prepared
from .sft_result import written


def build(
    args: argparse.Namespace,
    chatting: Chatting,
    model: nn.Module,
    first: Tensor | None,
    data: Preferred,
) -> PreferenceTrainer:
    """Trainer of a run; fills in the options that depend on the data."""
    args.steps = args.steps or args.epochs * data.training.steps_per_epoch
    if args.lr is None:
        args.lr = step_size(args.method, chatting.model.config.d_model) / 10
    if data.held_out is not None:
        args.eval_every = args.eval_every or max(1, args.steps // 10)
    names = ("method", "quantize", "marks", *OWN[args.method])
    method = {name: getattr(args, name) for name in names} | {"model": Path(args.model)}
    options = {f.name: getattr(args, f.name) for f in fields(TrainerConfig) if f.name in args}
    warmup = args.steps // 20 if args.warmup is None else args.warmup
    schedule = warmup_cosine(args.lr, warmup, args.steps, final=args.lr / 10)
    config = TrainerConfig(**options, schedule=schedule, folder=args.out / "checkpoints")
    tuning, optimizer = (
        Tuning(objective(args), method),
        AdamW(groups(args, chatting.model, first)),
    )
    trainer = PreferenceTrainer(model, tuning, data.training, optimizer, config, data.held_out)
    trainer.beta = args.beta or BETA
    return trainer


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Tune, judge, write and record; returns the results."""
    args = parse(argv)
    with process_group(args.device, timeout=args.timeout):
        chatting, first = prepared(args)
        data = preferred(args, chatting)
        if args.recompute:
            checkpoint_activations(chatting.model)
        model = distribute(chatting.model, args.parallel, resolve_device(args.device))
        reference = Reference.of(chatting.model)
        data = data.with_reference(reference, args.loss)
        trainer, start = build(args, chatting, model, first, data), time.perf_counter()
        before = judge(args, chatting, data, reference, "before")
        trainer.resume(allow_change=args.allow_change)
        trainer.fit()
        after = judge(args, chatting, data, reference, "after")
        found = {"step": trainer.step, "dropped": data.dropped, "before": before}
        found |= {"after": after, "reference_sha256": reference.sha256}
        found |= {"seconds": time.perf_counter() - start}
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
