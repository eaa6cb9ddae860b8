"""A run of policy training, once its objective and credit are known.

Used by recipes.grpo and recipes.ppo.
"""

import argparse
import logging
import time
from typing import Any

from ..align import PolicyBatches, completions_of, rollout_record
from ..train.distributed import process_group, rank
from .policy_setup import Plan, build
from .run_record import record_run
from .sft_methods import prepared
from .sft_result import written

log = logging.getLogger(__name__)
JUDGED = 1_000_003  # seed of what is judged before and after


def run(args: argparse.Namespace, plan: Plan) -> dict[str, Any]:
    """Train, judge, write and record; returns the results."""
    with process_group(args.device, timeout=args.timeout):
        chat_model, first = prepared(args)
        data, trainer = build(args, plan, chat_model, first)
        before, start = judge(args, data), time.perf_counter()
        trainer.resume(allow_change=args.allow_change)
        trainer.fit()
        data.look_back()
        after = judge(args, data)
        found = {"iterations": args.iterations, "dropped": data.dropped, "before": before}
        found |= {"after": after, "seconds": time.perf_counter() - start}
        if rank() == 0:
            log.info("reward %s before, %s after", before.get("reward"), after.get("reward"))
            if args.record:
                record_run(args, trainer, found, rollouts=data.history)
            place = written(args, chat_model, first)
            log.info("talk with it: python -m mathlm.recipes.chat --model %s", place)
        return found


def judge(args: argparse.Namespace, data: PolicyBatches) -> dict[str, Any]:
    """Reward, divergence and texts of the first prompts, drawn with the same numbers."""
    chosen = data.kept[: args.judge]
    if not chosen:
        return {}
    asked = [data.given[i] for i in chosen]
    batch = data.writer.write(asked, JUDGED)
    texts = data.writer.texts(asked), data.writer.texts(completions_of(batch))
    rewards = batch["rewards"].tolist()
    samples = [
        {"prompt": x, "completion": y, "reward": r}
        for x, y, r in zip(*texts, rewards, strict=True)
    ]
    return rollout_record(batch) | {"samples": samples}
