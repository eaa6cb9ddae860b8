"""How low the rank of an update is, and how low LoRA's may be: spectra, sweeps and merging.

    cd book
    python -m lab.small_updates.low_rank_study --record low-rank.json

What the record of an earlier call with the same options holds is not done again.
"""

import argparse
import json
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from mathlm.models import GPT
from mathlm.train.record import describe, record_on_cpu

from .low_rank_cuts import mean_loss
from .low_rank_data import PLAYS, text
from .low_rank_long import long_runs
from .low_rank_subspace import tune_within
from .low_rank_tuning import ALPHA, ATTENTION, FULL, Way, result
from .update_spectra import RANKS, lowest

SAME_SIZE: dict[str | tuple[str, ...], int] = {
    ("W_q", "W_v"): 19,
    ATTENTION: 10,
    "all-linear": 4,
}  # ranks, ≈ 40,000 numbers
THIRDS = tuple(10 ** (-10 / 3 + i / 3) for i in range(9))  # of a decade, to 0.2
GRID = THIRDS[:6]
STRENGTHS = {1: THIRDS[4:8], 4: THIRDS[3:7], 16: THIRDS[2:6], 64: THIRDS[1:5]}  # α: step sizes
DIRECTIONS = (100, 1_000, 10_000, 100_000)


def sweep(base: GPT, ways: Sequence[Way], args: argparse.Namespace) -> dict[str, Any]:
    """Every way at every step size, and the best of each with another seed too."""
    rows, best = [], []
    for way in ways:
        data = text("chatterbot", args.rows, args.held_rows)
        first = 0 if way.rank_stabilized else 1 if way.rank is None else 2
        lrs = GRID[first : first + 4]
        mine = [result(base, way, data, lr, args.steps) for lr in lrs]
        least = min(mine, key=lambda row: row["loss"])
        other = text("chatterbot", args.rows, args.held_rows, seed=1)
        again = result(base, way, other, least["lr"], args.steps, seed=1)
        fit = lowest(lrs, [row["loss"] for row in mine])
        best.append(least | {"lr_fit": fit, "losses": [least["loss"], again["loss"]]})
        rows += [*mine, again]
    return {"alpha": ALPHA, "steps": args.steps, "lrs": GRID, "rows": rows, "best": best}


def strengths(base: GPT, args: argparse.Namespace, rank: int = 16) -> dict[str, Any]:
    """One rank with several α, each at step sizes around its best."""
    data, rows, best = text("chatterbot", args.rows, args.held_rows), [], []
    for alpha, lrs in STRENGTHS.items():
        way = Way(rank=rank, alpha=alpha)
        mine = [{"alpha": alpha} | result(base, way, data, lr, args.steps) for lr in lrs]
        fit = lowest(lrs, [row["loss"] for row in mine])
        best.append(min(mine, key=lambda row: row["loss"]) | {"lr_fit": fit})
        rows += mine
    return {"rank": rank, "steps": args.steps, "rows": rows, "best": best}


def within(base: GPT, args: argparse.Namespace) -> dict[str, Any]:
    """Tuning along few random directions through all weights."""
    data, rows = text("chatterbot", args.rows, args.held_rows), []
    for size in DIRECTIONS[: len(args.ranks)]:
        for lr in GRID[1:4:2]:
            tuned = tune_within(base, size, data, lr, args.steps)
            rows.append({"size": size, "lr": lr, "loss": mean_loss(tuned, data.held_out)})
    return {"rows": rows, "steps": args.steps, "before": mean_loss(base, data.held_out)}


def parts(base: GPT, args: argparse.Namespace) -> dict[str, Callable[[], dict[str, Any]]]:
    """What is measured, by the name of the part."""
    plain = [Way(rank=r) for r in args.ranks]
    stable = [Way(rank=r, rank_stabilized=True) for r in args.ranks if r in (4, 16, 64)]
    same = [Way(rank=r, alpha=None, targets=t) for t, r in SAME_SIZE.items()]
    return {
        "long": lambda: long_runs(base, args),
        "full": lambda: {"full": sweep(base, [FULL], args)},
        "lora": lambda: {"lora": sweep(base, plain + stable, args)},
        "targets": lambda: {"targets": sweep(base, same, args)},
        "strengths": lambda: {"strengths": strengths(base, args)},
        "subspace": lambda: {"subspace": within(base, args)},
    }


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Measure everything; returns and may record it, part by part."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 4, 16, 64])
    parser.add_argument("--parts", nargs="+", help="the names of some, not all")
    for name, default in (("steps", 60), ("long", 300), ("rows", 2), ("held-rows", 32)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, base = parser.parse_args(argv), GPT.from_pretrained(PLAYS)
    config = {
        name: value for name, value in vars(args).items() if name not in ("record", "parts")
    }
    found: dict[str, Any] = {"done": {}, "config": config}
    if args.record is not None and args.record.exists():
        earlier = json.loads(args.record.read_text())
        found = earlier if earlier["config"] == describe(config) else found
    for name, measure in parts(base, args).items():
        if name not in found["done"] and name in (args.parts or name):
            began = time.process_time()
            found |= measure()
            found["done"][name] = {"cpu_seconds": time.process_time() - began}
            kept = {n: x for n, x in found.items() if n not in ("device", "ranks", "versions")}
            record_on_cpu(args.record, ranks=RANKS, **kept)
    return found


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
