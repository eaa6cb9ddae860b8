"""What every way of tuning gains and forgets at the same steps on the same examples.

    cd book
    python -m lab.fine_tuning.fine_tuning_study --pieces pieces --record fine-tuning.json

Each method's step size is searched on a ladder until its neighbors are worse on held-out
answers; others are reported. Pieces that are there are not run again.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .fine_tuning_line import line, second_order, spectra
from .fine_tuning_methods import METHODS
from .fine_tuning_run import Task, run, samples
from .fine_tuning_search import PATIENCE, Piece, kept, over_seeds, search, stopped
from .fine_tuning_tasks import plays

STEPS, LONG = 100, 500
AT, OFTEN = (10, 30, 100), (5, 10, 20, 30, 50, 70, 100)
SEEDS = (0, 1, 2)
OPENING = "\n\nROMEO:\n"


def method(task: Task, folder: Path, name: str, steps: int = STEPS) -> Piece:
    """All runs of a method: one for each step size, and further seeds of the best."""

    def once(step_size: float, seed: int = 0, at: Sequence[int] = AT) -> Piece:
        def make() -> Piece:
            model, result = run(
                task, name, step_size, steps, [s * steps // STEPS for s in at], seed
            )
            return result | ({"samples": samples(model, task, OPENING)} if seed else {})

        return kept(folder, f"{name} {step_size:g} {seed}", make)

    best, runs = search(once, METHODS[name].step_size)
    more = [once(best, seed, OFTEN) for seed in SEEDS[1:]]
    same = [next(r for r in runs if r["step_size"] == best), *more]
    return {"step_size": best, "search": runs, "seeds": same, "final": over_seeds(same)}


def long_run(task: Task, folder: Path, step_size: float, steps: int = LONG) -> Piece:
    """Full tuning for several epochs, and where it stops with some patience."""
    every = range(steps // 10, steps + 1, steps // 10)
    found = kept(folder, "long", lambda: run(task, "full", step_size, steps, every)[1])
    return found | {
        "patience": PATIENCE,
        "stopped": stopped([r["choice"] for r in found["curve"]]),
    }


def from_start_to_end(task: Task, step_size: float, steps: int) -> Piece:
    """The line to the fully tuned model, slopes and curvatures, and spectra of the change."""
    tuned = run(task, "full", step_size, steps, ())[0]
    bends = {
        "old": second_order(task.base, tuned, task.measures.old[:1]),
        "answers": second_order(task.base, tuned, task.measures.report[:1]),
    }
    spectrum = spectra(task.base, tuned)
    return {"line": line(task.base, tuned, task.measures), "bends": bends, "spectra": spectrum}


def main(argv: Sequence[str] | None = None) -> Piece:
    """Run what is missing of some methods; with all of them, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pieces", type=Path, default=Path("pieces"))
    parser.add_argument("--methods", nargs="*", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--long", type=int, default=LONG)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    task = plays()
    found = {name: method(task, args.pieces, name, args.steps) for name in args.methods}
    if args.record is None:
        return found
    best = found["full"]["step_size"]
    path = kept(args.pieces, "line", lambda: from_start_to_end(task, best, args.steps))
    tenth = kept(args.pieces, "tenth", lambda: run(task, "full", best / 10, args.steps, AT)[1])
    parts = {
        "methods": found,
        "tenth": tenth,
        "long": long_run(task, args.pieces, best, args.long),
        **path,
    }
    base = task.measures(task.base) | {"samples": samples(task.base, task, OPENING)}
    config = {"steps": args.steps, "seeds": SEEDS, "opening": OPENING, **task.describe()}
    record_on_cpu(args.record, config=config, base=base, **parts)
    return parts


if __name__ == "__main__":
    main()
