"""What a reward learned from ratings of conversations goes by: length, found and taken out.

    cd book
    python -m lab.reward_models.length_bias --splits 5 --record length-bias.json

Each split learns rewards from pairs of one half of the rated conversations, and judges them on
the other half: on all pairs, and on pairs of equal length.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from mathlm.text import ratings
from mathlm.text.corpora.installed import data_file
from mathlm.text.corpora.instructions import DIALOGS
from mathlm.text.corpora.ratings import Rated
from mathlm.train.record import record_on_cpu

from .length_learning import LEAST, WIDTH, judged, rewards, split


def same_two() -> dict[str, Any]:
    """Pairs of conversations of the same two people: how often the longer is rated higher.

    The mean is over couples, each of which counts once.
    """
    place = {"sha256": DIALOGS["chitchat"].sha256, "install": DIALOGS["chitchat"].install}
    path = data_file(DIALOGS["chitchat"].package, DIALOGS["chitchat"].pattern, **place)
    dialogs = [
        d for d in json.loads(path.read_text(encoding="utf-8")).values() if d.get("ratings")
    ]
    couples = defaultdict(list)
    for dialog in dialogs:
        people = frozenset(said["sender"] for turn in dialog["messages"] for said in turn)
        length = sum(len(said["text"]) for turn in dialog["messages"] for said in turn)
        if len(people) == 2:
            couples[people].append((sum(dialog["ratings"].values()), length))
    shares = []
    for rows in couples.values():
        found = [(np.sign(b - y) + 1) / 2 for a, b in rows for x, y in rows if a - x >= LEAST]
        if found:
            shares.append(float(np.mean(found)))
    error = float(np.std(shares, ddof=1) / np.sqrt(len(shares)))
    return {"couples": len(shares), "share": float(np.mean(shares)), "error": error}


KINDS: dict[str, Callable[[Rated], bool]] = {
    "all": lambda c: True,
    "answered": lambda c: len(c.turns) > 1,
    "answered, not 5 5 5": lambda c: len(c.turns) > 1 and c.ratings != (5, 5, 5),
}


def main(argv: Sequence[str] | None = None) -> dict[str, Any]:
    """Judge the rewards on several splits; returns, and may record, what was found."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--record", type=Path)
    for name, default in (("splits", 5), ("words", 100), ("draws", 200), ("limit", 0)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = parser.parse_args(argv)
    save = partial(
        record_on_cpu, args.record, config=vars(args) | {"least": LEAST, "width": WIDTH}
    )
    found: dict[str, Any] = {"same two": same_two(), "kinds": {}}
    everything = ratings.load()[: args.limit or None]
    for kind, keep in KINDS.items():
        rows = found["kinds"][kind] = []
        for seed in range(args.splits):
            train, held_out, _ = split([c for c in everything if keep(c)], seed, args.words)
            scores = rewards(train, held_out, seed)
            rows.append({name: judged(s, held_out, args.draws) for name, s in scores.items()})
            print(kind, seed, {name: round(row["all"][0], 3) for name, row in rows[-1].items()})
        save(**found)
    return found


if __name__ == "__main__":
    main()
