"""A small GPT trained with products or weights of 16 bits, against one of 32.

cd book
python -m lab.low_precision.sixteen_bits_study --steps 1000 --record sixteen-bits.json
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mathlm.train.record import record_on_cpu

from .sixteen_bits import SHAPE
from .sixteen_bits_training import ARMS, PEAK, SPREAD, train


def thinned(values: Sequence[float], width: int = 20) -> list[float]:
    """Means of ``width`` values in a row."""
    return [
        sum(values[i : i + width]) / width
        for i in range(0, len(values) // width * width, width)
    ]


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Train every arm from several seeds; returns and records what came out."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    arms: dict[str, Any] = {}
    for name in ARMS:
        runs = [train(name, args.steps, seed) for seed in range(args.seeds)]
        arms[name] = {
            "curves": [thinned(run["losses"]) for run in runs],
            **{key: [run[key] for run in runs] for key in ("held_out", "skipped", "stuck")},
        }
    result = {"steps": args.steps, "spread": SPREAD, "peak": PEAK, "arms": arms}
    record_on_cpu(args.record, config={"model": SHAPE, "arms": ARMS}, **result)
    return result


if __name__ == "__main__":
    main()
