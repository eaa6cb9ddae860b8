"""Learning rates of the soft lookup, with and without the division by √d_k, over several seeds.

python -m lab.attention.soft_lookup_study --record soft-lookup.json
"""

import argparse
import statistics
from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from pathlib import Path

import numpy as np
from numpy import ndarray

from mathlm.text import vectors
from mathlm.text.corpora.vectors import word_pairs
from mathlm.train.record import record_on_cpu

from .soft_lookup import LookupConfig, train

RATES = [0.05, 0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8]


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


def main(argv: Sequence[str] | None = None) -> list[dict]:
    """Run every combination, write the record, and return the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--widths", type=int, nargs="+", default=[16, 64, 256])
    add("--rates", type=float, nargs="+", default=RATES, help="learning rates")
    add("--steps", type=int, nargs="+", default=[100, 400])
    add("--seeds", type=int, default=5)
    add("--record", type=Path)
    args = parser.parse_args(argv)
    words, table = vectors.load()
    _, x = word_pairs(words[:20_000], np.asarray(table, dtype=np.float64))
    cases = product(args.steps, args.widths, (True, False), args.rates, range(args.seeds))
    names = ("steps", "width", "scaled", "learning_rate", "seed")
    configs = [LookupConfig(**dict(zip(names, case, strict=True))) for case in cases]
    rows = study(x, configs)
    record_on_cpu(args.record, options=vars(args), runs=rows)
    return rows


if __name__ == "__main__":
    main()
