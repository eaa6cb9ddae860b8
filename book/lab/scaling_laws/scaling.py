"""Losses of GPTs of many sizes after many numbers of tokens, to fit scaling laws to.

    cd book
    python -m lab.scaling_laws.scaling --setting live
    python -m lab.scaling_laws.scaling --setting recorded --record scaling.json

Each size has the rate that is best for it, by a rule that ``scaling_rates`` found. Runs that
the record already holds are not repeated. Sizes and seeds may be added to it, and a run that
is asked for further steps is trained anew and takes the place of the shorter one.
"""

import argparse
import json
import logging
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mathlm.errors import ConfigError
from mathlm.scaling import six_nd
from mathlm.train.record import describe, record_on_cpu

from .scaling_runs import HELD_OUT, STEP, held_out_loss, read_off, sizes, start, texts, windows

log = logging.getLogger(__name__)
Row = dict[str, Any]
RATE = (1.0, -0.45)  # near what scaling_rates finds after 512 steps; rounded


@dataclass(frozen=True, kw_only=True)
class SweepConfig:
    """Which sizes are trained on how much.

    Args:
        widths: Of the models.
        steps: Numbers of steps at which each run is read off, in increasing order.
        repeated: Widths that are trained from a second seed too.
        longer: Widths whose runs go on, so that small models reach large budgets.
        further: Numbers of steps at which those are read off as well.
        held_out: Bytes that every run is judged by.
        rate: Factor and exponent of the rate: factor · parameters^exponent.
    """

    widths: Sequence[int]
    steps: Sequence[int]
    repeated: Sequence[int] = ()
    longer: Sequence[int] = ()
    further: Sequence[int] = ()
    held_out: int = HELD_OUT
    rate: tuple[float, float] = RATE

    def lr(self, parameters: float | int) -> float:
        """The rate of models with so many parameters in their blocks."""
        return self.rate[0] * parameters ** self.rate[1]

    def reads(self, width: int) -> tuple[int, ...]:
        """Numbers of steps at which runs of that width are read off."""
        return (*self.steps, *(self.further if width in self.longer else ()))


SETTINGS = {
    "live": SweepConfig(widths=(8, 24), steps=(64, 91), held_out=16_384),
    "recorded": SweepConfig(
        widths=(8, 16, 24, 32, 40, 48, 64, 96),
        steps=(64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448, 2048),
        repeated=(8, 16, 24, 32, 40, 48, 64, 96),
        longer=(16, 24),
        further=(2896, 4096),
    ),
}


def run(config: SweepConfig, width: int, seed: int) -> list[Row]:
    """Train one size; one row for each number of tokens."""
    size, data = sizes(width), windows(texts()[0], seed)
    lr, measure = config.lr(size["parameters"]), held_out_loss(config.held_out)
    found = read_off(start(width, seed), data, measure, config.reads(width), lr)
    fixed = {"width": width, "seed": seed, "lr": lr, **size}
    return [fixed | row | cost(size, row["tokens"]) for row in found]


def cost(size: dict[str, Any], tokens: float | int) -> dict[str, Any]:
    """Compute of a training: all products, and by the rule of thumb for the blocks [FLOP]."""
    return {
        "flop": size["flop_token"] * tokens,
        "six_nd": six_nd(size["parameters"], tokens),
    }


def asked(config: SweepConfig) -> list[tuple[int, int]]:
    """Width and seed of each run."""
    return [(width, 0) for width in config.widths] + [(w, 1) for w in config.repeated]


def whole(config: SweepConfig, rows: Sequence[Row]) -> set[tuple[int, int]]:
    """Width and seed of each run that was read off as often as is asked for."""
    read = Counter((row["width"], row["seed"]) for row in rows)
    return {run for run, number in read.items() if number == len(config.reads(run[0]))}


def begun(config: SweepConfig, record: Path | None) -> list[Row]:
    """Rows of the runs that a record holds; it may lack some, and may hold no other.

    Raises:
        ConfigError: If the record is of other steps, held-out bytes or rates, or holds a run or
            a reading that is not asked for.
    """
    if record is None or not record.is_file():
        return []
    before, wanted = json.loads(record.read_text()), describe(config)
    alike = all(before["config"].get(k) == wanted[k] for k in ("steps", "held_out", "rate"))
    read = Counter((row["width"], row["seed"]) for row in before["runs"])
    fits = read.keys() <= {*asked(config)}
    if not (alike and fits and all(n <= len(config.reads(w)) for (w, _), n in read.items())):
        raise ConfigError(f"{record} holds another sweep: {before['config']}")
    return before["runs"]


def sweep(config: SweepConfig, record: Path | None = None) -> list[Row]:
    """Train every size and seed that is not there yet; returns all rows."""
    rows = begun(config, record)
    done = whole(config, rows)
    for width, seed in asked(config):
        if (width, seed) not in done:
            new = run(config, width, seed)
            rows = [r for r in rows if (r["width"], r["seed"]) != (width, seed)] + new
            log.info("width %d, seed %d: %.4f nats", width, seed, rows[-1]["loss"])
            record_on_cpu(record, config=config, runs=rows, bytes_per_step=STEP)
    return rows


def main(argv: Sequence[str] | None = None) -> list[Row]:
    """Train the sizes of a setting; returns, and may record, the readings."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--setting", choices=SETTINGS, default="live")
    parser.add_argument("--record", type=Path)
    args = parser.parse_args(argv)
    return sweep(SETTINGS[args.setting], args.record)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    main()
