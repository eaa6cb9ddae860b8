"""How many duplicates real text has, and how often signatures find a pair."""

import numpy as np

from mathlm.text import (
    candidate_pairs,
    corpus,
    exact_duplicates,
    first_of_group,
    minhash,
    near_duplicates,
)


def repeated_glosses(size: int) -> dict[str, float | int]:
    """How many entries of a dictionary say what an earlier entry says, their word left out."""
    entries = corpus.documents("glosses")[:size]
    texts = ["\n".join(line.partition(" : ")[2] for line in e.split("\n")) for e in entries]
    first = exact_duplicates(texts)
    pairs = near_duplicates(texts, 0.8, n=3, index="numpy")
    groups = first_of_group(len(texts), pairs)
    every = np.arange(len(texts))
    exact, near = float((first != every).mean()), float((groups != every).mean())
    return {"entries": len(texts), "exact": exact, "near or exact": near, "pairs": len(pairs)}


def measured_collisions(
    similarity: float | int,
    bands: int,
    rows: int,
    trials: int = 500,
    size: int = 100,
    seed: int = 0,
) -> dict[str, float | int]:
    """How often two sets of a known similarity agree in a band, over many pairs of sets.

    The sets have a union of ``size`` elements, of which ``round(similarity * size)`` are in
    both; the similarity that this makes is returned too.
    """
    rng = np.random.default_rng(seed)
    shared = round(similarity * size)
    sets = []
    for _ in range(trials):
        elements = rng.integers(0, 1 << 64, size, dtype=np.uint64)
        half = shared + (size - shared) // 2
        sets += [elements[:half], np.concatenate([elements[:shared], elements[half:]])]
    pairs = candidate_pairs(minhash(sets, bands * rows, seed), bands)
    hits = ((pairs[:, 0] % 2 == 0) & (pairs[:, 1] == pairs[:, 0] + 1)).sum()
    return {"similarity": shared / size, "collisions": float(hits) / trials}
