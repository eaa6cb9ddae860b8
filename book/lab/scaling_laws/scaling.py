"""Losses of GPTs of many sizes after many numbers of tokens, to fit scaling laws to.

    cd book
    python -m lab.scaling_laws.scaling --setting live
    python -m lab.scaling_laws.scaling --setting recorded --record scaling.json

Each size has the rate that is best for it, by a rule that recipes.scaling_rates found. Runs
that the record already holds are not repeated; sizes and seeds may be added to it.
"""

import argparse
import json
import logging
import sys
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
        held_out: Bytes that every run is judged by.
        rate: Factor and exponent of the rate: factor · parameters^exponent.
    """

    widths: Sequence[int]
    steps: Sequence[int]
    repeated: Sequence[int] = ()
    held_out: int = HELD_OUT
    rate: tuple[float, float] = RATE

    def lr(self, parameters: float | int) -> float:
        """The rate of models with so many parameters in their blocks."""
        return self.rate[0] * parameters ** self.rate[1]


SETTINGS = {
    "live": SweepConfig(widths=(8, 24), steps=(64, 91), held_out=16_384),
    "recorded": SweepConfig(
        widths=(8, 16, 24, 32, 40, 48, 64, 96),
        steps=(64, 91, 128, 181, 256, 362, 512, 724, 1024, 1448, 2048),
        repeated=(8, 16, 24, 32, 40, 48),
    ),
}


def run(config: SweepConfig, width: int, seed: int) -> list[Row]:
    """Train one size; one row for each number of tokens."""
    size, data = sizes(width), windows(texts()[0], seed)
    lr, measure = config.lr(size["parameters"]), held_out_loss(config.held_out)
    found = read_off(start(width, seed), data, measure, config.steps, lr)
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


def begun(config: SweepConfig, record: Path | None) -> list[Row]:
    """Rows of the runs that a record holds; it may lack some, and may hold no other."""
    if record is None or not record.is_file():
        return []
    before, wanted = json.loads(record.read_text()), describe(config)
    alike = all(before["config"].get(k) == wanted[k] for k in ("steps", "held_out", "rate"))
    if not alike or not {(r["width"], r["seed"]) for r in before["runs"]} <= {*asked(config)}:
        raise ConfigError(f"{record} holds another sweep: {before['config']}")
    return before["runs"]


def sweep(config: SweepConfig, record: Path | None = None) -> list[Row]:
    """Train every size and seed, the small ones first; returns all rows."""
    rows = begun(config, record)
    done = {(row["width"], row["seed"]) for row in rows}
    for width, seed in asked(config):
        if (width, seed) not in done:
            rows += run(config, width, seed)
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
