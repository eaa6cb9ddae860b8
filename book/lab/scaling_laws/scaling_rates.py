"""Which constant rate is best for which size: what a sweep needs before it begins.

    cd book
    python -m lab.scaling_laws.scaling_rates --record scaling-rates.json

A law measured with one rate for all sizes is the law of that rate.
"""

import argparse
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.errors import InputError
from mathlm.scaling import PowerLaw, fit_power_law
from mathlm.train.record import record_on_cpu

from .scaling_runs import held_out_loss, read_off, sizes, start, texts, windows

log = logging.getLogger(__name__)
WIDTHS = (8, 24, 64)
RATES = tuple(0.001 * 2**k for k in range(1, 7))
STEPS = (128, 256, 512)
HELD_OUT = 32_768  # bytes


def runs(widths: Sequence[int], rates: Sequence[float], steps: Sequence[int]) -> list[dict]:
    """Every size with every rate; one row for each reading."""
    data, measure, rows = windows(texts()[0]), held_out_loss(HELD_OUT), []
    for width in widths:
        for lr in rates:
            fixed = {"width": width, "lr": lr, "parameters": sizes(width)["parameters"]}
            found = read_off(start(width, 0), data, measure, steps, lr)
            rows += [fixed | row for row in found]
            log.info("width %d, rate %g: %.4f nats", width, lr, rows[-1]["loss"])
    return rows


def best_rate(rates: Sequence[float], losses: Sequence[float]) -> float:
    """Lowest point of the parabola through the best rate and its neighbours.

    Raises:
        InputError: If the best rate is the smallest or the largest that was tried.
    """
    order = np.argsort(rates)
    x, y = np.log(np.asarray(rates)[order]), np.asarray(losses)[order]
    i = int(y.argmin())
    if not 0 < i < len(x) - 1:
        raise InputError(
            f"the best rate, {np.exp(x[i]):.3g}, is at the end of those that were tried, "
            f"{np.exp(x[0]):.3g} to {np.exp(x[-1]):.3g}: try more beyond it"
        )
    a, b, _ = np.polyfit(x[i - 1 : i + 2] - x[i], y[i - 1 : i + 2], 2)
    return float(np.exp(x[i] - b / (2 * a)))


def best_rates(rows: Iterable[Mapping[str, Any]], tokens: float | int) -> dict[int, float]:
    """Best rate of each number of parameters after so many tokens."""
    tried: dict[int, dict[float, float]] = {}
    for row in rows:
        if row["tokens"] == tokens:
            tried.setdefault(row["parameters"], {})[row["lr"]] = row["loss"]
    return {n: best_rate(list(t), list(t.values())) for n, t in sorted(tried.items())}


def rule(rows: Iterable[Mapping[str, Any]], tokens: float | int) -> PowerLaw:
    """The best rate as a power of the parameters."""
    best = best_rates(rows, tokens)
    return fit_power_law(list(best), list(best.values()))


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Try every rate on every size; returns, and may record, the readings and the rules."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--record", type=Path)
    parser.add_argument("--widths", type=int, nargs="+", default=WIDTHS)
    parser.add_argument("--rates", type=float, nargs="+", default=RATES)
    parser.add_argument("--steps", type=int, nargs="+", default=STEPS)
    args = parser.parse_args(argv)
    rows = runs(args.widths, args.rates, args.steps)
    record_on_cpu(args.record, config=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    main()
