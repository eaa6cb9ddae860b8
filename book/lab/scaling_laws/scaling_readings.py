"""Readings of a sweep: which are fitted and which held out, and what their seeds agree on."""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

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
