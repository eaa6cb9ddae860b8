"""Tests of a reader's search for near duplicates."""

from collections.abc import Callable

import numpy as np

from lab.grading import Case, FaultError, Report, grade_by

SIZE, MANY = 60, 300  # elements of a set, sets of the test of speed


def grade(signatures: Callable, near_duplicates: Callable) -> Report:
    """Test MinHash signatures and a search that uses them.

    Args:
        signatures: ``signatures(sets, functions, seed)``, an integer array (sets, functions).
        near_duplicates: ``near_duplicates(sets, threshold, jaccard)``, the pairs (i, j), i < j,
            of at least that similarity; ``jaccard(i, j)`` compares two sets exactly, and the
            grader counts how often it is asked.

    Returns:
        A report: print it, or read ``passed`` and ``faults``.
    """
    return grade_by(TESTS, signatures, near_duplicates)


def numbers(rng: np.random.Generator, size: int) -> list[int]:
    """Different numbers of 62 bits."""
    return [int(x) for x in rng.integers(0, 2**62, size)]


def pair(rng: np.random.Generator, shared: int, size: int = SIZE) -> tuple[set, set]:
    """Two sets with a union of ``size`` elements, of which ``shared`` are in both."""
    elements, half = numbers(rng, size), shared + (size - shared) // 2
    return set(elements[:half]), set(elements[:shared] + elements[half:])


class Compared:
    """Exact similarity of two sets, and how often it was asked for."""

    def __init__(self, sets: list[set]) -> None:
        self.sets, self.asked = sets, 0

    def __call__(self, i: int, j: int) -> float:
        """Share of the elements of both that both have; 0 if there are none."""
        self.asked += 1
        union = len(self.sets[i] | self.sets[j])
        return len(self.sets[i] & self.sets[j]) / union if union else 0.0


def _shape(signatures: Callable, _: Callable) -> None:
    sets = list(pair(np.random.default_rng(0), 30))
    found = np.asarray(signatures(sets, 16, 0))
    if found.shape != (2, 16):
        raise FaultError(f"two sets and 16 functions give shape (2, 16), not {found.shape}.")
    again = np.asarray(signatures(sets[::-1], 16, 0))[::-1]
    if not np.array_equal(found, again):
        raise FaultError("the signature of a set depends on the other sets, or on the call.")
    if np.array_equal(found, np.asarray(signatures(sets, 16, 1))):
        raise FaultError("the seed changes nothing.")
    if len(set(found[0].tolist())) < 8:
        raise FaultError("the functions of one signature are alike: draw each anew.")


def _agreement(signatures: Callable, _: Callable) -> None:
    rng = np.random.default_rng(1)
    for shared in (12, 30, 48):
        pairs = [pair(rng, shared) for _ in range(40)]
        table = np.asarray(signatures([s for two in pairs for s in two], 64, 0))
        found = float((table[::2] == table[1::2]).mean())
        if abs(found - shared / SIZE) > 0.08:  # four standard deviations at least
            raise FaultError(
                f"sets of similarity {shared / SIZE:.1f} agree in {found:.2f} of the entries; "
                "an entry is the least hash over the elements, and each element has the same "
                "chance to be it."
            )


def _found(near: Callable, sets: list[set], threshold: float) -> tuple[set, int]:
    """What the search returns, once its form is right, and how often it compared."""
    jaccard = Compared(sets)
    pairs = {tuple(int(x) for x in p[:2]) for p in near(sets, threshold, jaccard)}
    if any(i == j for i, j in pairs):
        raise FaultError("a document is a duplicate of itself: pairs have i < j.")
    if any(i > j for i, j in pairs):
        raise FaultError("return pairs (i, j) with i < j, each once.")
    return pairs, jaccard.asked


def crowd(seed: int, threshold: int) -> tuple[list[set], set]:
    """Sets among which some pairs are alike, at similarities above and below a threshold."""
    rng = np.random.default_rng(seed)
    sets, planted = [set(numbers(rng, 40)) for _ in range(MANY)], set()
    for n, shared in enumerate([54, 57, 51, 54, 57] * 8 + [20] * 10):
        first = len(sets)
        sets += pair(rng, shared)
        if n < 40 and shared >= threshold:
            planted.add((first, first + 1))
    return sets, planted


def _recall(_: Callable, near: Callable) -> None:
    sets, planted = crowd(2, 48)
    found, _asked = _found(near, sets, 0.8)
    if len(found & planted) < 0.95 * len(planted):
        raise FaultError(
            f"{len(planted - found)} of {len(planted)} pairs of similarity 0.85 to 0.95 are "
            "missed: with b bands of r rows a pair is found with probability 1 - (1 - s^r)^b."
        )


def _precision(_: Callable, near: Callable) -> None:
    sets, planted = crowd(3, 48)
    found, _asked = _found(near, sets, 0.8)
    if found - planted:
        raise FaultError(
            f"{len(found - planted)} pairs are returned whose similarity is below the "
            "threshold: compare each candidate exactly."
        )


def _work(_: Callable, near: Callable) -> None:
    sets, _planted = crowd(4, 48)
    _pairs, asked = _found(near, sets, 0.8)
    every = len(sets) * (len(sets) - 1) // 2
    if asked > 0.05 * every:
        raise FaultError(
            f"{asked:,} of {every:,} pairs are compared: only those that agree in a whole band "
            "are candidates."
        )


def _empty(_: Callable, near: Callable) -> None:
    rng = np.random.default_rng(5)
    first, second = pair(rng, 57)
    found, _asked = _found(near, [set(), first, set(), second], 0.8)
    if found != {(1, 3)}:
        raise FaultError(
            f"with two empty documents among four, the pair is (1, 3), not {sorted(found)}: "
            "a set without elements has no least one, and the numbers of the others stay."
        )


SHAPE, RECALL = "signatures", "pairs that are found"
TESTS = (
    Case(SHAPE, _shape),
    Case("agreement is similarity", _agreement, (SHAPE,)),
    Case(RECALL, _recall),
    Case("pairs that are not there", _precision, (RECALL,)),
    Case("how many pairs are compared", _work, (RECALL,)),
    Case("empty documents", _empty, (RECALL,)),
)
