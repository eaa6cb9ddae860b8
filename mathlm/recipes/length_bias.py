"""What a reward learned from ratings of conversations goes by: length, found and taken out.

    python -m mathlm.recipes.length_bias --splits 5 --record length-bias.json

Each split learns rewards from pairs of one half of the rated conversations, and judges them on
the other half: on all pairs, and on pairs of equal length.
"""

import argparse
import json
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..align import LinearReward, fit_linear_reward
from ..reference import spearman
from ..text import ratings
from ..text.installed import data_file
from ..text.instructions import DIALOGS
from ..text.ratings import Rated
from ..train.record import record_on_cpu
from .length_features import frequent_words, length_features, word_shares
from .length_pairs import equally_long, share_told, some, topic_pairs

Array = NDArray[np.float64]
RIDGE, WIDTH, PAIRS, LEAST = 20.0, 0.2, 8000, 6


@dataclass(frozen=True, eq=False)
class Side:
    """Conversations of one side of a split, with what a reward may look at.

    Args:
        conversations: Rated.
        words: Shares of frequent words, (N, W).
        lengths: log characters, log turns and answered, standardized by the training side.
        pairs: All pairs of a topic with totals that differ by ``LEAST``, (M, 2).
        even: Those of them that are equally long.
    """

    conversations: list[Rated]
    words: Array
    lengths: Array
    pairs: NDArray[np.int64]
    even: NDArray[np.int64]


def split(
    conversations: Sequence[Rated], seed: int = 0, words: int = 100
) -> tuple[Side, Side, list[str]]:
    """Training and held-out half, and the words that are looked at."""
    halves = ratings.split_rated(conversations, 0.5, seed)
    shown = frequent_words(halves[0], words)
    lengths = [length_features(half) for half in halves]
    mean, std = lengths[0].mean(0), np.maximum(lengths[0].std(0), 1e-9)
    sides = []
    for half, length in zip(halves, lengths, strict=True):
        pairs = topic_pairs(half, LEAST)
        even = equally_long(half, pairs, WIDTH)
        sides.append(Side(half, word_shares(half, shown), (length - mean) / std, pairs, even))
    return sides[0], sides[1], shown


def learn(features: Array, pairs: NDArray[np.int64], ridge: float = RIDGE) -> LinearReward:
    """A linear reward from pairs of rows."""
    return fit_linear_reward(features[pairs[:, 0]], features[pairs[:, 1]], ridge)


def rewards(train: Side, held_out: Side, seed: int = 0) -> dict[str, Array]:
    """Held-out scores by each way of learning a reward from the same ratings."""
    pairs, even = some(train.pairs, PAIRS, seed), some(train.even, PAIRS, seed)
    both = [np.hstack((side.words, side.lengths)) for side in (train, held_out)]
    bent = np.hstack((both[0], train.lengths[:, :1] ** 2))
    words = learn(train.words, pairs)
    number = train.words.shape[1]
    straight = np.polyfit(train.lengths[:, 0], words(train.words), 5)
    alone = words(held_out.words)
    return {
        "words and length": learn(both[0], pairs)(both[1]),
        "length alone": held_out.lengths[:, 0],
        "words alone": alone,
        "words, length subtracted": alone - np.polyval(straight, held_out.lengths[:, 0]),
        "words beside length": held_out.words @ learn(bent, pairs).weights[:number],
        "words, equal lengths": learn(train.words, even)(held_out.words),
    }


def judged(scores: Array, side: Side, draws: int = 200) -> dict[str, Any]:
    """What a score tells: of all pairs, of equally long ones, and how it goes with length."""
    told = {
        name: share_told(scores, pairs, draws)
        for name, pairs in (("all", side.pairs), ("even", side.even))
    }
    return told | {"rank": spearman(scores, side.lengths[:, 0])}


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
        told = [(np.sign(b - y) + 1) / 2 for a, b in rows for x, y in rows if a - x >= LEAST]
        if told:
            shares.append(float(np.mean(told)))
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
