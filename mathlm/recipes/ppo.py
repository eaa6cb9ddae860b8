"""Train a policy on a reward, with values of every token; run by python -m or torchrun -m.

    python -m mathlm.recipes.ppo --prompts my.jsonl --model smollm2 --reward runs/my-reward
    python -m mathlm.recipes.ppo --prompts my.jsonl --reward sentiment --plain --epochs 4

A line of the prompts is {"prompt": "..."} or {"prompt": [messages]}. The price of the
divergence is paid in the reward, token by token. The same command resumes a run that was
interrupted, within an iteration too. The values are part of its checkpoints, not of the result.
"""

import argparse
import logging
import sys
from collections.abc import Sequence
from typing import Any

from ..align import PPO, TokenCredit
from ..errors import MathLMError
from .grpo import cut_of
from .policy_options import parse
from .policy_setup import Plan
from .policy_training import run


def add_values(parser: argparse.ArgumentParser) -> None:
    """How the values are learned and used."""
    add = parser.add_argument
    add("--values", choices=["own", "shared"], default="own", help="weights of the value model")
    add("--value-weight", type=float, default=0.5, help="of the values' loss")
    add("--value-clip", type=float, help="how far values may move; default: anywhere")
    add("--entropy-bonus", type=float, default=0.0, help="reward of undecided tokens [1/nat]")
    add("--gamma", type=float, default=1.0, help="what a reward keeps for each token before it")
    add("--lam", type=float, default=0.95, help="trust in rewards rather than values")
    add("--whiten", action="store_true", help="advantages with mean 0 and spread 1")


def plan_of(args: argparse.Namespace) -> Plan:
    """Objective and credit."""
    credit = TokenCredit(
        gamma=args.gamma,
        lam=args.lam,
        beta=args.beta,
        whiten=args.whiten,
        cut=cut_of(args.cut),
    )
    objective = PPO(
        clip=args.clip_ratio,
        value_weight=args.value_weight,
        value_clip=args.value_clip,
        entropy_bonus=args.entropy_bonus,
    )
    return Plan(objective, credit, args.values)


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train; returns the results."""
    args = parse(argv, add_values, "ppo")
    return run(args, plan_of(args))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    try:
        main()
    except MathLMError as error:
        sys.exit(f"error: {error}")
