"""Readings of a sweep, sorted for a fit and compared at equal compute.

    python -m mathlm.recipes.scaling_readings book/results/scaling.json

Prints how many readings are fitted and held out, and the best size at some budgets.
"""

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

Row = Mapping[str, Any]


def fitted_and_held(rows: Iterable[Row]) -> tuple[list[Row], list[Row]]:
    """Rows to fit, and those of the largest size or the longest run, which are not fitted."""
    every = list(rows)
    size, length = (max(row[name] for row in every) for name in ("parameters", "tokens"))
    held = [row["parameters"] == size or row["tokens"] == length for row in every]
    fitted = [row for row, out in zip(every, held, strict=True) if not out]
    return fitted, [row for row, out in zip(every, held, strict=True) if out]


def by_run(rows: Iterable[Row]) -> list[list[Row]]:
    """Readings of each run, which a width and a seed name."""
    runs: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        runs.setdefault((row["width"], row["seed"]), []).append(row)
    return [runs[name] for name in sorted(runs)]


def at_budgets(
    rows: Iterable[Row], budgets: Sequence[float | int], cost: str = "flop"
) -> list[dict[str, Any]]:
    """What each run had reached when it had spent a budget, read between its readings.

    Args:
        rows: Readings of a sweep.
        budgets: Amounts of compute [FLOP].
        cost: What is spent: "flop" counts all products, "six_nd" those of the rule of thumb.

    Returns:
        One row for each budget and run that reached it, with straight lines between the
        logarithms: ``compute``, ``parameters``, ``tokens``, ``loss``, ``width`` and ``seed``.
    """
    found = []
    for budget in budgets:
        for run in by_run(rows):
            spent, tokens, losses = (
                np.log([row[name] for row in run]) for name in (cost, "tokens", "loss")
            )
            at = np.log(budget)
            if spent[0] <= at <= spent[-1]:
                row = {name: run[0][name] for name in ("width", "seed", "parameters")}
                row |= {"tokens": float(np.exp(np.interp(at, spent, tokens)))}
                row |= {"loss": float(np.exp(np.interp(at, spent, losses)))}
                found.append({"compute": float(budget)} | row)
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print what a record holds."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("record", type=Path)
    rows = json.loads(parser.parse_args(argv).record.read_text())["runs"]
    print("{} readings fitted, {} held out".format(*map(len, fitted_and_held(rows))))
    spent = [row["flop"] for row in rows]
    for budget in np.geomspace(4 * min(spent), max(spent) / 4, 6):
        best = min(at_budgets(rows, [budget]), key=lambda row: row["loss"])
        print(
            f"{budget:.2g} FLOP: {best['parameters']:,} parameters in the blocks, "
            f"{best['tokens']:,.0f} bytes, {best['loss']:.3f} nats"
        )


if __name__ == "__main__":
    main()
