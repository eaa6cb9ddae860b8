"""Full tuning and LoRA compared at equal gain, with the turn markers trained in every arm.

    cd book
    python -m lab.fine_tuning.equal_gain --record results/fine-tuning-gain.json

Every run is written as it ends, and a run that the record holds is not done again.
"""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from mathlm.train.record import describe, record_on_cpu

from .fine_tuning_run import run
from .fine_tuning_tasks import plays

ARMS = {
    "full": (3e-4, 1e-3, 3e-3),
    "LoRA 4, markers": (3e-3, 1e-2, 3e-2),
    "LoRA 16, markers": (1e-3, 3e-3, 1e-2),
    "LoRA 64, markers": (1e-3, 3e-3, 1e-2),
}
SEEDS = (0, 1, 2)
STEPS = 100
AT = (5, 10, 15, 20, 30, 40, 50, 60, 80, 100)
Runs = Sequence[Mapping[str, Any]]


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Run what the record lacks, seed by seed, until nothing or no time is left."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--arms", nargs="*", choices=list(ARMS), default=list(ARMS))
    parser.add_argument("--seeds", nargs="*", type=int, default=list(SEEDS))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--runs", type=int, help="stop after so many new ones")
    args = parser.parse_args(argv)
    task = plays()
    config = {"steps": args.steps, "arms": ARMS, **task.describe()}
    found: dict[str, Any] = {"config": config, "base": task.measures(task.base), "runs": []}
    if args.record is not None and args.record.is_file():
        earlier = json.loads(args.record.read_text(encoding="utf-8"))
        found["runs"] = earlier["runs"] if earlier["config"] == describe(config) else []
    done = {(r["arm"], r["step_size"], r["seed"]) for r in found["runs"]}
    wanted = [(a, lr, seed) for seed in args.seeds for a in args.arms for lr in ARMS[a]]
    at = sorted({max(1, s * args.steps // STEPS) for s in AT})
    for arm, lr, seed in [key for key in wanted if key not in done][: args.runs]:
        result = run(task, arm, lr, args.steps, at, seed)[1]
        found["runs"].append({"arm": arm, **result})
        record_on_cpu(args.record, **found)
    return found


def ended(runs: Runs, arm: str, measure: str) -> dict[float, list[float]]:
    """A measure at the end of each run of an arm, by step size; one value for each seed."""
    ends: dict[float, list[float]] = {}
    for r in runs:
        if r["arm"] == arm:
            ends.setdefault(r["step_size"], []).append(r["curve"][-1][measure])
    return ends


def chosen(runs: Runs, arm: str) -> float:
    """The step size of an arm whose answers that choose are best, as a mean over the seeds."""
    ends = ended(runs, arm, "choice")
    return min(ends, key=lambda lr: mean(ends[lr]))


def at_gain(
    base: Mapping[str, float],
    runs: Runs,
    arm: str,
    gain: float,
    of: str = "text",
    lost: str = "kl",
) -> list[float | None]:
    """What an arm has lost when it first has gained so much, for each seed.

    Computes, along a run of measurements (gᵢ, fᵢ) that begins with (0, 0)::

        f(g) = fᵢ + (g - gᵢ) / (gᵢ₊₁ - gᵢ) · (fᵢ₊₁ - fᵢ),   gᵢ < g <= gᵢ₊₁ for the first time

    and takes the least over the step sizes of the arm.

    Args:
        base: Measures of the base.
        runs: Runs of the record.
        arm: Which.
        gain: Wanted [nats/token].
        of: Measure that gains.
        lost: Measure that loses.

    Returns:
        In order of the seeds; None where no run of the seed has gained so much.
    """
    found: dict[int, list[float]] = {}
    for r in runs:
        if r["arm"] == arm:
            least = found.setdefault(r["seed"], [])
            points = [(base[of] - row[of], row[lost] - base[lost]) for row in r["curve"]]
            for (g, f), (g_next, f_next) in zip([(0.0, 0.0), *points], points, strict=False):
                if g < gain <= g_next:
                    least.append(f + (gain - g) / (g_next - g) * (f_next - f))
                    break
    return [min(values) if values else None for _, values in sorted(found.items())]


def spread(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation of a sample."""
    return mean(values), stdev(values)


if __name__ == "__main__":
    main()
