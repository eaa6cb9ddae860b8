"""What a few steps of tuning gain and forget of SmolLM2, and the spectra of the full update.

    cd book
    python -m lab.fine_tuning.fine_tuning_smollm2 --record fine-tuning-smollm2.json

A step takes seconds, so there are few steps, one or two step sizes of a method and one seed.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .fine_tuning_line import spectra
from .fine_tuning_run import Task, run, samples
from .fine_tuning_search import Piece, kept
from .fine_tuning_tasks import smollm2

STEPS = 24
STEP_SIZES = {
    "full": (3e-5, 1e-4),
    "LoRA 16": (1e-3, 3e-3),
    "bottleneck 16": (1e-3,),
    "prompt 16": (1e-2,),
    "gated prefix 16": (1e-1,),
}
OPENING = "A harbor is"


def once(task: Task, name: str, step_size: float, steps: int) -> Piece:
    """One run, with samples; of full tuning also the spectra of the update."""
    model, found = run(task, name, step_size, steps, (steps // 3, steps))
    found["samples"] = samples(model, task, OPENING, 24)
    return found | ({"spectra": spectra(task.base, model)} if name == "full" else {})


def method(task: Task, folder: Path, name: str, steps: int) -> Piece:
    """The runs of a method; the best by the answers that choose comes last."""
    runs = [
        kept(
            folder,
            f"smollm2 {name} {step_size:g}",
            lambda step_size=step_size: once(task, name, step_size, steps),
        )
        for step_size in STEP_SIZES[name]
    ]
    best = min(runs, key=lambda r: r["curve"][-1]["choice"])
    return {"step_size": best["step_size"], "search": runs, "final": best["curve"][-1]}


def main(argv: Sequence[str] | None = None) -> Piece:
    """Run what is missing; with all methods there, write the record."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--pieces", type=Path, default=Path("pieces"))
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    task = smollm2()
    before = {**task.measures(task.base), "samples": samples(task.base, task, OPENING, 24)}
    base = kept(args.pieces, "smollm2 base", lambda: before)
    methods = {name: method(task, args.pieces, name, args.steps) for name in STEP_SIZES}
    config = {"steps": args.steps, "opening": OPENING, **task.describe()}
    record_on_cpu(args.record, config=config, base=base, methods=methods)
    return methods


if __name__ == "__main__":
    main()
