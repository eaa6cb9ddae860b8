"""Train a reward on preferences; run by python -m or torchrun -m.

    python -m mathlm.recipes.reward --data my.jsonl --lora-rank 16 --out runs/mine
    python -m mathlm.recipes.reward_folder runs/mine --prompt "Hi" --answer "Hello!"

A line of the data is {"prompt": ..., "chosen": ..., "rejected": ...} or another form of
mathlm.text.preferences. The same command resumes a run that was interrupted. The folder that it
writes can be the --reward of recipes.ppo and recipes.grpo.
"""

import argparse
import logging
import sys
import time
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from torch import Tensor

from ..align import BradleyTerry, RewardModel
from ..chat.folder import FILE
from ..chat.model import Chatting
from ..errors import MathLMError
from ..optim import AdamW, warmup_cosine
from ..train import Trainer, TrainerConfig, distribute, resolve_device
from ..train.activation_checkpointing import checkpoint_activations
from ..train.distributed import process_group, rank
from .reward_data import Pairs, pairs
from .reward_judging import centre, compare_with_length, judged
from .reward_options import parse
from .run_record import record_run
from .sft import Tuning, groups
from .sft_method_options import OWN, step_size
from .sft_methods import prepared
from .sft_result import written

log = logging.getLogger(__name__)


def build(
    args: argparse.Namespace, model: RewardModel, first: Tensor | None, data: Pairs
) -> Trainer:
    """Trainer of a run; fills in the options that depend on the data."""
    args.steps = args.steps or args.epochs * data.training.steps_per_epoch
    if args.lr is None:
        args.lr = step_size(args.method, model.body.config.d_model)
    if data.held_out is not None:
        args.eval_every = args.eval_every or max(1, args.steps // 10)
    if args.recompute:
        checkpoint_activations(model.body)
    names = ("method", "quantize", "marks", *OWN[args.method])
    method = {name: getattr(args, name) for name in names} | {"model": Path(args.model)}
    objective = Tuning(BradleyTerry(margin=args.margin, centring=args.centring), method)
    spread = distribute(model, args.parallel, resolve_device(args.device))
    head = {"params": [model.head.weight], "weight_decay": args.weight_decay}
    optimizer = AdamW([*groups(args, model.body, first), head])
    options = {f.name: getattr(args, f.name) for f in fields(TrainerConfig) if f.name in args}
    warmup = args.steps // 20 if args.warmup is None else args.warmup
    schedule = warmup_cosine(args.lr, warmup, args.steps, final=args.lr / 10)
    config = TrainerConfig(**options, schedule=schedule, folder=args.out / "checkpoints")
    return Trainer(spread, objective, data.training, optimizer, config, data.held_out)


def prepared_reward(args: argparse.Namespace) -> tuple[Chatting, Tensor | None, RewardModel]:
    """The model of the options with a head for rewards, which is trained beside it."""
    chatting, first = prepared(args)
    if not chatting.model.config.tie_embeddings:
        chatting.model.head.requires_grad_(False)  # no reward depends on it
    return chatting, first, RewardModel(chatting.model)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train, judge, write and record; returns the results."""
    args = parse(argv)
    with process_group(args.device, timeout=args.timeout):
        chatting, first, model = prepared_reward(args)
        data, start = pairs(args, chatting), time.perf_counter()
        trainer = build(args, model, first, data)
        before = judged(model, data, "before")
        trainer.resume(allow_change=args.allow_change)
        trainer.fit()
        centre(model, data)
        after = judged(model, data, "after")
        found: dict[str, Any] = {"step": trainer.step, "dropped": data.encoded.dropped}
        found |= {"before": before, "after": after}
        found |= {"more_than_length": compare_with_length(after)}
        found |= {"seconds": time.perf_counter() - start}
        if rank() == 0:
            (args.out / FILE).unlink(missing_ok=True)
            model.save_head(args.out)
            place = written(args, chatting, first)
            log.info("a reward for --reward: %s", place)
            if args.record:
                record_run(args, trainer, found)
        return found


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        logging.info("%s", main())
    except MathLMError as error:
        sys.exit(f"error: {error}")
