"""Learning rates of the soft lookup, with and without the division by √d_k, over several seeds.

cd book
python -m lab.attention.soft_lookup_study --record soft-lookup.json
"""

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy import ndarray

from mathlm.text import vectors
from mathlm.text.corpora.vectors import word_pairs
from mathlm.train.record import record_on_cpu

from .soft_lookup import LookupConfig, train

RATES = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]


def study(x: ndarray, configs: Iterable[LookupConfig]) -> list[dict]:
    """Train once for each configuration.

    Args:
        x: Pairs of words, as of ``word_pairs``.
        configs: One for each run.

    Returns:
        For each run what makes it (``scaled, width, learning_rate, steps, seed``), its
        ``first_loss`` before any step, and the ``test_loss`` and ``accuracy`` on pairs that
        were held out.
    """
    rows = []
    for config in configs:
        run = train(x, config)
        asked = ("scaled", "width", "learning_rate", "steps", "seed")
        found = {"first_loss": run.losses[0]}
        found |= {"test_loss": run.test_loss, "accuracy": run.accuracy}
        rows.append({name: getattr(config, name) for name in asked} | found)
    return rows


def summary(rows: Iterable[Mapping], result: str = "test_loss") -> dict[tuple, tuple]:
    """Mean and spread of a result over the seeds.

    Args:
        rows: As of :func:`study`.
        result: ``test_loss``, ``first_loss`` or ``accuracy``.

    Returns:
        (scaled, width, steps, learning_rate) -> (mean, standard deviation over the seeds).
    """
    by: dict[tuple, list[float]] = {}
    for row in rows:
        key = (row["scaled"], row["width"], row["steps"], row["learning_rate"])
        by.setdefault(key, []).append(row[result])
    return {key: (statistics.mean(v), statistics.pstdev(v)) for key, v in by.items()}


def best_rate(means: Mapping[tuple, tuple], scaled: bool, width: int, steps: int) -> float:
    """The learning rate with the lowest mean loss of one arm.

    Args:
        means: As of :func:`summary`.
        scaled: Whether the scores were divided.
        width: Of queries and keys.
        steps: Of training.
    """
    arm = {
        key[3]: mean for key, (mean, _) in means.items() if key[:3] == (scaled, width, steps)
    }
    return min(arm, key=arm.__getitem__)


def around(rates: Sequence[float], best: float) -> Sequence[float]:
    """A learning rate, the one above it and the two below: longer runs want smaller steps."""
    i = rates.index(best)
    return rates[max(0, i - 2) : i + 2]


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Try every rate, then train longer near and below each arm's best; write the record."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--widths", type=int, nargs="+", default=[16, 64, 256])
    add("--rates", type=float, nargs="+", default=RATES, help="learning rates, ascending")
    add("--steps", type=int, default=100)
    add("--long-steps", type=int, default=400, help="near the best rate of each arm")
    add("--seeds", type=int, default=4)
    add("--record", type=Path)
    args = parser.parse_args(argv)
    words, table = vectors.load()
    _, x = word_pairs(words[:20_000], np.asarray(table, dtype=np.float64))
    arms = list(product(args.widths, (True, False)))

    def runs(width: int, scaled: bool, steps: int, rates: Sequence[float]) -> list[dict]:
        arm = LookupConfig(width=width, scaled=scaled, steps=steps)
        cases = product(rates, range(args.seeds))
        return study(x, [replace(arm, learning_rate=rate, seed=seed) for rate, seed in cases])

    rows = [row for arm in arms for row in runs(*arm, args.steps, args.rates)]
    for width, scaled in arms:
        best = best_rate(summary(rows), scaled=scaled, width=width, steps=args.steps)
        rates = list(around(args.rates, best))
        rows += runs(width, scaled, args.long_steps, rates)
        while best_rate(summary(rows), scaled, width, args.long_steps) == rates[0]:
            rates.insert(0, rates[0] / 2)  # the best must not stand at the edge
            rows += runs(width, scaled, args.long_steps, rates[:1])
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
