"""The runs of :mod:`objectives` at their own step sizes, and what each share of a mask does.

    cd book
    python -m lab.objectives.objectives_study tuned --record objectives.json
    python -m lab.objectives.objectives_study masking --record objectives-masking.json
    python -m lab.objectives.objectives_study kinds --steps 1200 --record objectives-longer.json
    python -m lab.objectives.objectives_study span --lr 3e-3 --steps 3000 --seeds 1

``tuned`` trains three objectives at every step size with one seed, and at the best of them with
the others. ``masking`` gives the masked symbols other fates, with every seed. ``kinds`` trains
all objectives at one step size, and ``span`` that one alone, which learns nothing at the step
size that suits the others. Runs that the record holds already are kept.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, get_args

import torch

from mathlm.train.record import describe, record_on_cpu

from .frozen_states import probe
from .hidden_fates import fates
from .objective_bodies import BothWays, Kind, ObjectiveConfig, build
from .objective_probes import examine
from .objectives import train

Rows = list[dict[str, Any]]
TUNED: tuple[Kind, ...] = ("causal", "prefix", "masked")
GRID = (3e-3, 1e-2, 3e-2)
SHARES = ((0.8, 0.1, 0.1), (1, 0, 0), (0, 1, 0), (0, 0, 1), (0.8, 0.2, 0))


def judged(model: torch.nn.Module, config: ObjectiveConfig, count: int) -> dict[str, Any]:
    """What is asked of a model in addition to its own task."""
    found: dict[str, Any] = {"answers": examine(model, config.kind, count)}
    found["probes"] = probe(model, config.kind, 2 * count)
    if isinstance(model, BothWays):
        found["fates"] = fates(model, count)
    return found


def run(config: ObjectiveConfig, count: int) -> dict[str, Any]:
    """One run as a row of the record; the loss as means over ten steps."""
    began = time.process_time()
    model, loss, targets, _ = train(config, 2)
    tens = [sum(loss[i : i + 10]) / len(loss[i : i + 10]) for i in range(0, len(loss), 10)]
    row: dict[str, Any] = {"config": describe(config), "targets": targets, "loss": tens}
    row["parameters"] = sum(p.numel() for p in model.parameters())
    row["read"] = config.steps * config.batch * config.context
    return row | judged(model, config, count) | {"cpu_seconds": time.process_time() - began}


def own_loss(row: dict[str, Any]) -> float:
    """Mean training loss of the last tenth of a run [nats/target]; no text is read twice."""
    last = row["loss"][-max(1, len(row["loss"]) // 10) :]
    return sum(last) / len(last)


def best(rows: Rows, kind: Kind, steps: int) -> float:
    """The step size at which seed 0 ends with the least loss of its own objective."""
    own = [r for r in rows if (r["config"]["kind"], r["config"]["seed"]) == (kind, 0)]
    tried = [r for r in own if r["config"]["steps"] == steps]
    return min(tried, key=own_loss)["config"]["lr"]


def configs(part: str, base: ObjectiveConfig, seeds: int, rows: Rows) -> Iterator:
    """The runs of a part of the study, in order; later ones depend on the rows before."""
    if part == "masking":
        for seed in range(seeds):
            for shares in SHARES:
                yield replace(base, kind="masked", shares=shares, seed=seed)
        return
    if part in ("kinds", "span"):
        kinds = get_args(Kind) if part == "kinds" else ("span",)
        yield from (replace(base, kind=k, seed=s) for s in range(seeds) for k in kinds)
        return
    for kind in TUNED:
        for lr in GRID:
            yield replace(base, kind=kind, lr=lr)
    for seed in range(1, seeds):
        for kind in TUNED:
            yield replace(base, kind=kind, seed=seed, lr=best(rows, kind, base.steps))


def kept(path: Path | None) -> tuple[Rows, Rows]:
    """Runs and untrained models of a record, if there is one."""
    if path is None or not path.exists():
        return [], []
    record = json.loads(path.read_text(encoding="utf-8"))
    return record["results"], record["untrained"]


def untrained(base: ObjectiveConfig, count: int) -> Rows:
    """What the models answer before any training."""
    asked = [replace(base, kind=kind) for kind in TUNED]
    return [{"config": describe(c)} | judged(build(c), c, count) for c in asked]


def main(argv: Sequence[str] | None = None) -> Rows:
    """Train and judge; returns, and may record, a row for each run."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("part", choices=["tuned", "masking", "kinds", "span"])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--lr", type=float, default=ObjectiveConfig.lr)
    for name, default in (("steps", 300), ("batch", 32), ("seeds", 3), ("count", 500)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    base = ObjectiveConfig(steps=args.steps, batch=args.batch, lr=args.lr)
    results, start = kept(args.record)
    if args.part == "tuned" and not start:
        start = untrained(base, args.count)
    for config in configs(args.part, base, args.seeds, results):
        if describe(config) in [row["config"] for row in results]:
            continue
        results.append(run(config, args.count))
        print(config, results[-1]["answers"], results[-1]["probes"], flush=True)
        record_on_cpu(args.record, config=vars(args), results=results, untrained=start)
    return results


if __name__ == "__main__":
    main()
