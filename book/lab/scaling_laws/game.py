"""A game: buy recorded runs of the sweep within a purse, and predict a budget beyond it."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mathlm.errors import InputError
from mathlm.scaling import isoflop_points

from .scaling_readings import Row, seeds_averaged

PURSE, TARGET = 2e11, 5e11  # FLOP
NEAR = 0.01  # share of the loss that another seed changes
LEVEL = 0.95  # of the interval that is asked for


@dataclass(frozen=True)
class Verdict:
    """What became of a prediction.

    Args:
        width: That was named.
        measured: Its loss at the target [nats/byte].
        best: Width of the lowest loss measured there.
        lost: How much of the loss the choice costs against that one, as a share.
        interval: That was predicted [nats/byte].
        score: Width of the interval, and 2 / (1 − level) times the distance by which it misses
            [nats/byte]; the expected score is least for the true 2.5 % and 97.5 % quantiles.
    """

    width: int
    measured: float
    best: int
    lost: float
    interval: tuple[float, float]
    score: float

    @property
    def holds(self) -> bool:
        """Whether the interval holds what was measured."""
        return self.interval[0] <= self.measured <= self.interval[1]

    def __repr__(self) -> str:
        size = (
            f"Width {self.width} was measured at {self.measured:.3f} nats/byte, "
            f"{self.lost:.1%} above the best width, {self.best}: "
            + ("no more than another seed changes." if self.lost <= NEAR else "a worse choice.")
        )
        low, high = self.interval
        where = "holds it" if self.holds else "misses it"
        return (
            f"{size}\nYour interval, {low:.3f} to {high:.3f}, {where}. "
            f"Score {self.score:.3f} nats/byte (lower is better)."
        )


class ScalingGame:
    """Runs of a sweep for sale, and a budget that cannot be bought.

    Args:
        rows: Of the sweep's record.
        purse: What may be spent [FLOP].
        target: The budget that is to be predicted [FLOP].
    """

    def __init__(
        self, rows: Iterable[Row], purse: float | int = PURSE, target: float | int = TARGET
    ) -> None:
        self._rows = list(rows)
        self.purse, self.target = purse, target
        self._bought: dict[tuple[int, int], float] = {}  # run -> compute of its last reading
        there = seeds_averaged(self._rows)
        flop, width, loss = ([row[key] for row in there] for key in ("flop", "width", "loss"))
        found = isoflop_points(flop, width, loss, [target])
        self._measured = dict(zip(found.n.astype(int).tolist(), found.loss, strict=True))

    @property
    def left(self) -> float:
        """What of the purse is not spent [FLOP]."""
        return self.purse - sum(self._bought.values())

    @property
    def candidates(self) -> list[int]:
        """Widths among which a prediction may choose."""
        return list(self._measured)

    @property
    def runs(self) -> list[dict[str, Any]]:
        """The readings that were bought."""
        return [
            dict(row)
            for row in self._rows
            if row["flop"] <= self._bought.get((row["width"], row["seed"]), 0.0)
        ]

    def buy(self, width: int, kilobytes: int, seed: int = 0) -> list[dict[str, Any]]:
        """Pay for a run; what was paid for a shorter part of it counts.

        Args:
            width: Of the model.
            kilobytes: Text that it may read at most (1,024 bytes each).
            seed: Of its weights and batches.

        Returns:
            Its readings up to there: a long run shows the losses of all shorter ones.

        Raises:
            InputError: If there is no such run, or the purse does not hold its price.
        """
        run = [r for r in self._rows if (r["width"], r["seed"]) == (width, seed)]
        part = [row for row in run if row["tokens"] <= 1024 * kilobytes]
        if not part:
            sold = sorted({(r["width"], r["seed"]) for r in self._rows})
            raise InputError(
                f"no reading of width {width}, seed {seed}, within {kilobytes} kilobytes is "
                f"for sale: (width, seed) may be {sold}, from 64 kilobytes on"
            )
        price, paid = part[-1]["flop"], self._bought.get((width, seed), 0.0)
        if price - paid > self.left:
            raise InputError(
                f"width {width} on {kilobytes} kilobytes takes {price - paid:.2e} FLOP more, "
                f"and {self.left:.2e} are left: buy a shorter run"
            )
        self._bought[width, seed] = max(price, paid)
        return [dict(row) for row in part]

    def predict(self, width: int, low: float, high: float) -> Verdict:
        """Name the best width at the target, and an interval of 95 % for its loss.

        Raises:
            InputError: If that width was not measured at the target, or the interval is empty.
        """
        if width not in self._measured or not 0 < low < high:
            raise InputError(
                f"width {width} and the interval {low} to {high}: the width must be one of "
                f"{self.candidates}, which were measured at {self.target:.1e} FLOP, and the "
                "interval must go from a smaller to a larger loss"
            )
        loss = float(self._measured[width])
        best = min(self._measured, key=lambda w: self._measured[w])
        lost = float(loss / self._measured[best] - 1)
        missed = max(low - loss, loss - high, 0.0)
        score = high - low + 2 / (1 - LEVEL) * missed
        return Verdict(width, loss, best, lost, (float(low), float(high)), float(score))


def columns(rows: Iterable[Row], *names: str) -> list[np.ndarray]:
    """Columns of rows as arrays of numbers."""
    every = list(rows)
    return [np.array([row[name] for row in every], float) for name in names]
