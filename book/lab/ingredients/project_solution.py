"""One way to solve the project: the arms of an ablation, compared fairly."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from statistics import mean, stdev
from typing import Any

Row = Mapping[str, Any]
Table = dict[float, dict[int, float]]


def table_of(rows: Sequence[Row], arm: str) -> Table:
    """Step size and seed to loss, for one arm; a run that diverged has infinity."""
    table: Table = defaultdict(dict)
    for row in (r for r in rows if r["arm"] == arm):
        loss = row["loss"]
        table[row["lr"]][row["seed"]] = math.inf if math.isnan(loss) else loss
    return dict(sorted(table.items()))


def best_of(table: Table) -> float:
    """The step size with the least mean loss; it must lie inside the grid."""
    rates = list(table)
    best = min(rates, key=lambda lr: mean(table[lr].values()))
    if best in (rates[0], rates[-1]):
        raise ValueError(f"the best step size {best} is at the end of the grid {rates}")
    return best


def compare(rows: Sequence[Row], baseline: str) -> dict[str, tuple[float, float, float]]:
    """Arm to (best step size, mean paired difference, its standard error)."""
    tables = {arm: table_of(rows, arm) for arm in dict.fromkeys(r["arm"] for r in rows)}
    best = {arm: best_of(table) for arm, table in tables.items()}
    base, found = tables[baseline][best[baseline]], {}
    for arm in tables:
        if arm == baseline:
            continue
        runs = tables[arm][best[arm]]
        pairs = [runs[seed] - base[seed] for seed in sorted(runs.keys() & base.keys())]
        if len(pairs) < 3:
            raise ValueError(f"{arm} has {len(pairs)} pairs of one seed; three are needed")
        found[arm] = (best[arm], mean(pairs), stdev(pairs) / math.sqrt(len(pairs)))
    return found
