"""Readings of a sweep: which are fitted and which held out.

    python -m mathlm.recipes.scaling_readings book/results/scaling.json

Prints how many readings are fitted and held out, and the best size at some budgets.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..scaling import envelope, isoflop_points

Row = Mapping[str, Any]


def fitted_and_held(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Rows to fit, and those of the largest size or the longest run, which are not fitted."""
    every = list(rows)
    size, length = (max(row[name] for row in every) for name in ("parameters", "tokens"))
    held = [row["parameters"] == size or row["tokens"] == length for row in every]
    fitted = [row for row, out in zip(every, held, strict=True) if not out]
    return fitted, [row for row, out in zip(every, held, strict=True) if out]


def main(argv: Sequence[str] | None = None) -> None:
    """Print what a record holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("record", type=Path)
    rows = json.loads(parser.parse_args(argv).record.read_text())["runs"]
    print("{} readings fitted, {} held out".format(*map(len, fitted_and_held(rows))))
    first = [row for row in rows if row["seed"] == 0]
    flop, n, loss = ([row[name] for row in first] for name in ("flop", "parameters", "loss"))
    budgets = np.geomspace(4 * min(flop), max(flop) / 4, 6)
    best = envelope(*isoflop_points(flop, n, loss, budgets))
    for budget, size, least in zip(best.compute, best.n, best.loss, strict=True):
        print(f"{budget:.2g} FLOP: {size:,.0f} parameters in the blocks, {least:.3f} nats")


if __name__ == "__main__":
    main()
