"""Which architecture learns which question when, over several seeds.

    cd book
    python -m lab.architectures.architecture_study --record architectures.json

The runs of :mod:`architectures`, longer, with holes of any size and as the papers have them.
"""

import argparse
import itertools
import time
from collections.abc import Sequence
from pathlib import Path

from mathlm.train.record import record_on_cpu

from .architectures import train
from .one_body import ArchitectureConfig, Kind

RUNS: list[tuple[Kind, bool]] = [
    ("gpt", False),
    ("bert", False),
    ("bert", True),
    ("encoder-decoder", False),
    ("encoder-decoder", True),
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
    """Train every kind with every seed; returns, and may record, what each can answer."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("steps", 800), ("seeds", 3), ("every", 50)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args, results = parser.parse_args(argv), []
    for (kind, published), seed in itertools.product(RUNS, range(args.seeds)):
        config = ArchitectureConfig(kind=kind, published=published, steps=args.steps, seed=seed)
        results.append(run(config, args.every))
        print(
            kind, "as published" if published else "any hole", seed, results[-1]["answers"][-1]
        )
        record_on_cpu(args.record, config=vars(args), results=results)
    return results


if __name__ == "__main__":
    main()
