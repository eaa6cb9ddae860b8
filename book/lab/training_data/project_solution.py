"""One way to solve the project: near duplicates by MinHash, without looking at all pairs."""

from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from numpy import ndarray

Sets = Sequence[set[int]]


def signatures(sets: Sets, functions: int, seed: int = 0) -> ndarray:
    """The least value of each set under each of so many hash functions: (sets, functions)."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 2**63, (2, functions, 1), dtype=np.uint64)
    a |= np.uint64(1)
    least = [(a * np.fromiter(s, np.uint64) + b).min(axis=1) for s in sets]  # mod 2^64
    return np.array(least)


def near_duplicates(
    sets: Sets, threshold: float, jaccard: Callable[[int, int], float]
) -> list[tuple[int, int]]:
    """Pairs i < j whose similarity is at least the threshold, by 25 bands of 4 rows."""
    filled = [i for i, s in enumerate(sets) if s]
    table = signatures([sets[i] for i in filled], 100)
    candidates: set[tuple[int, int]] = set()
    for band in np.split(table, 25, axis=1):
        groups: dict[bytes, list[int]] = defaultdict(list)
        for i, row in zip(filled, band, strict=True):
            groups[row.tobytes()].append(i)
        for group in groups.values():
            candidates.update(combinations(group, 2))
    return sorted(pair for pair in candidates if jaccard(*pair) >= threshold)
