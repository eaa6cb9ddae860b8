"""Fit a scaling law to training runs in a CSV file."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tyro

from ..errors import ConfigError
from ..scaling import (
    ChinchillaLaw,
    chinchilla_intervals,
    fit_chinchilla,
    optimal_allocation,
    read_runs,
)
from ..train.record import write_record
from .command import Maybe, execute, flat, parse
from .result import Row, table

WORDS = {
    "E": "E [nats]",
    "A": "A",
    "B": "B",
    "alpha": "alpha, of parameters",
    "beta": "beta, of tokens",
    "share": "exponent of compute in N",
}


@dataclass(frozen=True, kw_only=True)
class ScalingFitConfig:
    """Fit a scaling law to training runs: loss = E + A / N^alpha + B / D^beta (Chinchilla).

    The file has a header and a line for each run: parameters N, tokens D, loss in nats. The
    table goes to standard output: each constant with the interval of a bootstrap of the runs.

        mathlm scaling_fit runs.csv
        mathlm scaling_fit runs.csv --columns params tokens val_loss --compute 1e21
    """

    runs: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUNS")]
    """CSV file with a header."""
    columns: tuple[str, str, str] = ("N", "D", "loss")
    """Names of the columns of parameters, of tokens and of the loss [nats]."""
    compute: Maybe[float] = None
    """Budget to plan for [FLOP]: the best parameters and tokens are added; None: no plan."""
    level: float = 0.95
    """Level of the intervals."""
    resamples: int = 400
    """Bootstrap: how many times the runs are drawn anew."""
    seed: int = 0
    """Seed of these draws."""
    record: Maybe[Path] = None
    """JSON file for options and results; None: none."""

    def __post_init__(self) -> None:
        if self.compute is not None and not 0 < self.compute < float("inf"):
            raise ConfigError(f"--compute {self.compute:g} must be positive and finite")


def run(config: ScalingFitConfig) -> dict[str, Any]:
    """Read, fit and write the table.

    Returns:
        ``runs``, their number; the constants by name, with ``share``; ``intervals``; the
        largest ``residual`` of the log loss; and with a budget ``n`` and ``d``.
    """
    given = read_runs(config.runs, config.columns)
    law = fit_chinchilla(*given)
    options: dict[str, Any] = {"level": config.level, "resamples": config.resamples}
    intervals = chinchilla_intervals(*given, law, **options, seed=config.seed)
    residuals = np.log(given.loss / law.loss(given.n, given.d))
    found: dict[str, Any] = {"runs": len(given.n), "intervals": intervals}
    found |= {name: getattr(law, name) for name in WORDS if name != "share"}
    found |= {"share": law.beta / (law.alpha + law.beta)}
    found |= {"residual": float(np.abs(residuals).max())}
    if config.compute is not None:
        found["n"], found["d"] = optimal_allocation(config.compute, law)
    sys.stdout.write(table(rows(config, found, law)) + "\n")
    if config.record is not None:
        write_record(config.record, options=flat(config), results=found)
    return found


def rows(config: ScalingFitConfig, found: dict[str, Any], law: ChinchillaLaw) -> list[Row]:
    """The table: constants with their intervals, how well they fit, and the plan."""
    level = f"{100 * config.level:g} %"
    said: list[Row] = [("", "fit", f"{level} from", "to")]
    for name, words in WORDS.items():
        ends = (f"{end:.4g}" for end in found["intervals"][name])
        said.append((words, f"{found[name]:.4g}", *ends))
    said.append(("runs", f"{found['runs']}"))
    said.append(("largest residual", f"{100 * found['residual']:.2g} % of the loss"))
    if config.compute is not None:
        n, d = found["n"], found["d"]
        loss = float(law.loss([n], [d])[0])
        said.append(("best parameters", f"{n:.3g} for {config.compute:.3g} FLOP"))
        said.append(("best tokens", f"{d:.3g}, {d / n:.3g} for each parameter"))
        said.append(("loss expected there", f"{loss:.4g} nats"))
    if config.record is not None:
        said.append(("record", str(config.record)))
    return said


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """The command ``mathlm scaling_fit``."""
    return run(parse(ScalingFitConfig, argv, prog="mathlm scaling_fit"))


if __name__ == "__main__":
    execute(main)
