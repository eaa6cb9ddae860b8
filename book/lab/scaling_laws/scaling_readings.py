"""Readings of a sweep: which are fitted and which held out, and what their seeds agree on.

    python -m lab.scaling_laws.scaling_readings book/results/scaling.json

Prints how many readings are fitted and held out, and the best size at some budgets.
"""

import argparse
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.scaling import envelope, isoflop_points

Row = Mapping[str, Any]
SAME = 0.999  # a run that has met the end of the text has read some bytes fewer
OF_ONE_RUN = {"seed", "training_loss", "cpu_seconds"}


def fitted_and_held(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Rows to fit, and those of the largest size or the longest runs, which are not fitted."""
    every = list(rows)
    size, length = (max(row[name] for row in every) for name in ("parameters", "tokens"))
    held = [row["parameters"] == size or row["tokens"] > SAME * length for row in every]
    fitted = [row for row, out in zip(every, held, strict=True) if not out]
    return fitted, [row for row, out in zip(every, held, strict=True) if out]


def seeds_averaged(rows: Iterable[Row]) -> list[Row]:
    """One row for each size and place in a run, with the geometric mean of the seeds' losses.

    Each seed's rows must stand in the order of reading. What belongs to one run alone is
    dropped: its seed, training loss and seconds.
    """
    alike: dict[tuple[int, int], list[Row]] = {}
    read = Counter[tuple[int, int]]()
    for row in rows:
        run = row["parameters"], row["seed"]
        alike.setdefault((row["parameters"], read[run]), []).append(row)
        read[run] += 1
    return [
        {key: value for key, value in same[0].items() if key not in OF_ONE_RUN}
        | {"loss": float(np.exp(np.mean([np.log(row["loss"]) for row in same])))}
        for same in alike.values()
    ]


def main(argv: Sequence[str] | None = None) -> None:
    """Print what a record holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("record", type=Path)
    rows = json.loads(parser.parse_args(argv).record.read_text())["runs"]
    print("{} readings fitted, {} held out".format(*map(len, fitted_and_held(rows))))
    mean = seeds_averaged(rows)
    flop, n, loss = ([row[name] for row in mean] for name in ("flop", "parameters", "loss"))
    budgets = np.geomspace(4 * min(flop), max(flop) / 4, 6)
    best = envelope(*isoflop_points(flop, n, loss, budgets))
    for budget, size, least in zip(best.compute, best.n, best.loss, strict=True):
        print(f"{budget:.2g} FLOP: {size:,.0f} parameters in the blocks, {least:.3f} nats")


if __name__ == "__main__":
    main()
