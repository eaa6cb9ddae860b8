"""The runs of :mod:`objectives`, longer, and what each choice of a masked objective does.

    cd book
    python -m lab.objectives.objectives_study kinds --record objectives.json
    python -m lab.objectives.objectives_study masking --record objectives-masking.json
    python -m lab.objectives.objectives_study span --lr 3e-3 --steps 3000 --seeds 1

``kinds`` trains every objective with every seed; ``masking`` hides other shares of the text,
gives the hidden symbols other fates, and judges other pairs of lines; ``span`` is that kind
alone, which learns nothing at the step size that suits the others.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import torch

from mathlm.train.record import record_on_cpu

from .frozen_states import probe
from .hidden_fates import NEGATIVES, fates, follows
from .objective_bodies import BothWays, Kind, ObjectiveConfig, build
from .objective_probes import examine
from .objectives import train

RATES = (0.05, 0.3, 0.5, 0.8)  # beside 0.15
SHARES = ((1, 0, 0), (0, 1, 0), (0, 0, 1), (0.8, 0.2, 0))  # beside 80/10/10


def judged(model: torch.nn.Module, config: ObjectiveConfig, count: int) -> dict[str, Any]:
    """What is asked of a model beside its own task."""
    told: dict[str, Any] = {"probes": probe(model, config.kind, 2 * count)}
    if isinstance(model, BothWays):
        told["fates"] = fates(model, count)
        if model.follows is not None:
            told["follows"] = follows(model, 2 * count)
    return told


def run(config: ObjectiveConfig, count: int) -> dict[str, Any]:
    """One run as a row of the record; the loss as means over ten steps."""
    began = time.process_time()
    model, loss, targets, answers = train(config, count)
    tens = [sum(loss[i : i + 10]) / len(loss[i : i + 10]) for i in range(0, len(loss), 10)]
    row: dict[str, Any] = {"config": config, "targets": targets, "loss": tens}
    row["answers"] = answers
    row["parameters"] = sum(p.numel() for p in model.parameters())
    row["read"] = config.steps * config.batch * config.context
    return row | judged(model, config, count) | {"cpu_seconds": time.process_time() - began}


def configs(part: str, base: ObjectiveConfig, seeds: int) -> list[ObjectiveConfig]:
    """The runs of a part of the study."""
    if part in ("kinds", "span"):
        kinds = get_args(Kind) if part == "kinds" else ("span",)
        return [replace(base, kind=k, seed=s) for s in range(seeds) for k in kinds]
    masked, paired = replace(base, kind="masked"), replace(base, kind="masked + pairs")
    return [
        *(replace(masked, shares=shares) for shares in SHARES),
        *(replace(masked, rate=rate) for rate in RATES),
        *(replace(paired, negatives=negatives) for negatives in NEGATIVES[1:]),
    ]


def untrained(base: ObjectiveConfig, count: int) -> list[dict[str, Any]]:
    """What the models answer before any training."""
    asked = [replace(base, kind=kind) for kind in get_args(Kind)]
    models = [(c, build(c)) for c in asked]
    return [
        {"config": c, "answers": examine(m, c.kind, count)} | judged(m, c, count)
        for c, m in models
    ]


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train and judge; returns, and may record, a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["kinds", "masking", "span"])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--lr", type=float, default=ObjectiveConfig.lr)
    for name, default in (("steps", 300), ("batch", 32), ("seeds", 2), ("count", 1000)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    base = ObjectiveConfig(steps=args.steps, batch=args.batch, lr=args.lr)
    start = untrained(base, args.count) if args.part == "kinds" else []
    for config in configs(args.part, base, args.seeds):
        results.append(run(config, args.count))
        print(config, results[-1]["answers"], results[-1]["probes"], flush=True)
        parts = {"config": vars(args), "results": results, "untrained": start}
        record_on_cpu(args.record, **parts)
    return results


if __name__ == "__main__":
    main()
