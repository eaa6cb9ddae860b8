"""Train a policy on a reward by groups of answers; run by python -m or torchrun -m.

    python -m mathlm.recipes.grpo --prompts my.jsonl --model smollm2 --reward arithmetic
    python -m mathlm.recipes.grpo --prompts my.jsonl --reward my_module:my_reward --loss dr

A line of the prompts is {"prompt": "..."} or {"prompt": [messages]}. The same command resumes a
run that was interrupted, within an iteration too. The reference is the model as it was; with
--method lora it costs no memory.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any

from ..align import (
    GRPO,
    CorrectedGRPO,
    DrGRPO,
    GroupCredit,
    Reinforce,
    centred_advantages,
    group_advantages,
)
from ..errors import ConfigError, MathLMError
from .policy_options import parse
from .policy_setup import Plan
from .policy_training import run

LOSSES = ("corrected", "published", "dr", "rloo")


def add_loss(parser: argparse.ArgumentParser) -> None:
    """What is minimized."""
    words = "corrected: no spread, k2 of texts; dr: fixed length; rloo: REINFORCE; or published"
    parser.add_argument("--loss", choices=LOSSES, default="corrected", help=words)


def plan_of(args: argparse.Namespace) -> Plan:
    """Objective and credit of ``--loss``; the divergence stands in one of them."""
    cut = cut_of(args.cut)
    clip: dict[str, Any] = {"clip": args.clip_ratio}
    if args.loss == "published":
        credit = GroupCredit(baseline=group_advantages, cut=cut)
        return Plan(GRPO(beta=args.beta, **clip), credit)
    if args.loss == "corrected":
        return Plan(CorrectedGRPO(beta=args.beta, **clip), GroupCredit(cut=cut))
    if args.loss == "dr":
        credit = GroupCredit(baseline=centred_advantages, beta=args.beta, cut=cut)
        return Plan(DrGRPO(length=args.max_new_tokens, **clip), credit)
    if args.epochs * args.minibatches > 1:
        raise ConfigError(
            "--loss rloo has no ratio to the policy that wrote: one epoch, one minibatch"
        )
    return Plan(Reinforce(), GroupCredit(beta=args.beta, cut=cut))


def cut_of(cut: str) -> Any:
    """``--cut`` as the credits take it: a word, or a number."""
    try:
        return float(cut)
    except ValueError:
        return cut


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train; returns the results."""
    args = parse(argv, add_loss, "grpo")
    return run(args, plan_of(args))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
