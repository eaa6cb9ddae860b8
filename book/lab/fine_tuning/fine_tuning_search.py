"""Pieces of a study that are kept, and what is chosen and averaged over them.

Used by ``python -m lab.fine_tuning.fine_tuning_study``.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import mean, stdev
from typing import Any

from mathlm.train.record import write_record

from .fine_tuning_methods import LADDER

Piece = dict[str, Any]
PATIENCE = 2  # evaluations without a new best one


def kept(folder: Path, name: str, make: Callable[[], Piece]) -> Piece:
    """A piece of the study: read if it is there, else made and written."""
    path = folder / f"{name.replace(' ', '-').replace(',', '')}.json"
    if not path.is_file():
        write_record(path, **make())
    piece: Piece = json.loads(path.read_text())
    return piece


def search(once: Callable[[float], Piece], start: float) -> tuple[float, list[Piece]]:
    """The step size whose run ends best; its neighbors on the ladder are tried too."""
    tried = {k: once(LADDER[k]) for k in (LADDER.index(start), LADDER.index(start) + 1)}
    while True:
        best = min(tried, key=lambda k: tried[k]["curve"][-1]["choice"])
        missing = [k for k in (best + 1, best - 1) if 0 <= k < len(LADDER) and k not in tried]
        if not missing:
            return LADDER[best], [tried[k] for k in sorted(tried)]
        tried |= {k: once(LADDER[k]) for k in missing}


def over_seeds(runs: Sequence[Piece]) -> dict[str, dict[str, float]]:
    """Mean and standard deviation of each measure at the end."""
    last = [r["curve"][-1] for r in runs]
    spread = {k: stdev([row[k] for row in last]) if len(last) > 1 else 0.0 for k in last[0]}
    return {k: {"mean": mean(row[k] for row in last), "sd": spread[k]} for k in last[0]}


def stopped(losses: Sequence[float]) -> int:
    """Number of the evaluation that is kept when so many in a row brought no better one."""
    best = 0
    for i, loss in enumerate(losses):
        if loss < losses[best]:
            best = i
        if i - best >= PATIENCE:
            break
    return best
