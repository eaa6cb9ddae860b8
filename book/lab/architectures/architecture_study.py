"""Which architecture learns which question when, over several seeds.

    cd book
    python -m lab.architectures.architecture_study --record architectures.json

The runs of :mod:`architectures`, longer and at several step sizes, with spans of any size; at
one step size also with spans as the papers have them.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .architectures import train
from .one_body import ArchitectureConfig, Kind

KINDS: tuple[Kind, ...] = ("gpt", "bert", "encoder-decoder")
RATES = (1.25e-3, 2.5e-3, 5e-3, 1e-2)
RUNS: list[tuple[Kind, bool, float]] = [
    *((kind, False, lr) for kind in KINDS for lr in RATES),
    ("bert", True, 5e-3),
    ("encoder-decoder", True, 5e-3),
]


def run(config: ArchitectureConfig, every: int) -> dict:
    """One run as a row of the record; the loss as means over ten steps."""
    began = time.process_time()
    model, loss, targets, answers = train(config, every)
    smooth = [sum(loss[i : i + 10]) / len(loss[i : i + 10]) for i in range(0, len(loss), 10)]
    return {
        "config": config,
        "parameters": sum(p.numel() for p in model.parameters()),
        "targets": sum(targets),
        "loss": smooth,
        "answers": [{"step": step, **ways} for step, ways in answers.items()],
        "cpu_seconds": time.process_time() - began,
    }


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Train every kind at every rate and seed; returns, and may record, what each answers."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 800), ("seeds", 3), ("every", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    for (kind, published, lr), seed in itertools.product(RUNS, range(args.seeds)):
        config = ArchitectureConfig(
            kind=kind, published=published, lr=lr, steps=args.steps, seed=seed
        )
        results.append(run(config, args.every))
        spans = "as published" if published else "any span"
        print(kind, spans, lr, seed, results[-1]["answers"][-1], flush=True)
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


def by_rate(results: Sequence[dict], kind: Kind, probes: Sequence[str]) -> dict[float, list]:
    """For each rate and seed the steps after which an arm is, and stays, right.

    Args:
        results: Rows of a record.
        kind: The arm, with spans of any size.
        probes: What must be answered at least 95 % right, in the arm's own way.

    Returns:
        Rate -> steps for each seed; the length of the run where that never happens.
    """
    found: dict[float, list] = {}
    for row in results:
        config = row["config"]
        if config["kind"] == kind and not config["published"]:
            late = [a["step"] for a in row["answers"] if min(a[kind][p] for p in probes) < 0.95]
            asked = [a["step"] for a in row["answers"]]
            after = [step for step in asked if not late or step > late[-1]]
            found.setdefault(config["lr"], []).append(min([*after, config["steps"]]))
    return found


if __name__ == "__main__":
    main()
