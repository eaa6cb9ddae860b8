"""Sets of word runs, how alike two are, and short signatures that tell.

References:
    Broder (1997), doi:10.1109/SEQUEN.1997.666900 (MinHash).
    Leskovec, Rajaraman and Ullman (2020), Mining of Massive Datasets, chapter 3 (bands).
"""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float, Int, UInt
from .gram_hashes import gram_hashes, mix, word_hashes, words_of


def shingles(text: str, n: int = 5) -> UInt[ndarray, " M"]:
    """The set of runs of n words in a text, as sorted 64-bit hashes.

    A text of fewer words has one run, of all its words; a text without words has none.

    Args:
        text: Any text; capitals and punctuation do not count.
        n: Words of a run.

    Raises:
        InputError: If n is below 1.
        InputTypeError: If the text is not a str.
    """
    words = word_hashes(words_of(text))
    return np.unique(gram_hashes(words, n if len(words) >= n else max(len(words), 1)))


def jaccard(a: ndarray, b: ndarray) -> float:
    """Share of the elements of two sets that both hold.

    Implements eq-jaccard::

        J(A, B) = |A ∩ B| / (|A| + |B| - |A ∩ B|)

    Args:
        a: Different elements.
        b: Different elements.

    Returns:
        Between 0 and 1; 1 for two empty sets, which are equal.
    """
    shared = len(np.intersect1d(a, b, assume_unique=True))
    union = len(a) + len(b) - shared
    return shared / union if union else 1.0


def minhash(
    sets: Sequence[ndarray], functions: int = 128, seed: int = 0
) -> UInt[ndarray, "N K"]:
    """Short signatures of sets, which agree as often as the sets do.

    Implements eq-minhash::

        h_k(x) = (a_k x + b_k) mod 2⁶⁴, a_k odd,   signature_k(A) = min_{x in A} h_k(x)
        P(signature_k(A) = signature_k(B)) = J(A, B)

    The element with the least hash is any of the union with the same probability, and it is in
    both sets with probability J; an odd factor makes h_k a permutation. Signatures of the same
    seed can be compared.

    Args:
        sets: Sets of 64-bit hashes, such as :func:`shingles` gives.
        functions: K, how many hash functions.
        seed: Of the functions.

    Returns:
        One signature a row, as uint64.

    Raises:
        InputError: If there is no set, one is empty, or a number is out of range.
    """
    lengths = [len(elements) for elements in sets]
    if not lengths or 0 in lengths:
        empty = f"set {lengths.index(0)} is empty" if lengths else "there are no sets"
        raise InputError(f"{empty}: a signature is a least element")
    if functions < 1 or seed < 0:
        raise InputError(f"functions={functions} must be at least 1 and seed={seed} at least 0")
    elements = np.concatenate(sets).astype(np.uint64)
    starts = np.cumsum([0, *lengths[:-1]])
    rng = np.random.Generator(np.random.PCG64(seed))
    a, b = rng.integers(0, 1 << 64, (2, functions), dtype=np.uint64)
    a |= np.uint64(1)
    columns = [
        np.minimum.reduceat(elements * a[k] + b[k], starts)  # (N,)
        for k in range(functions)
    ]
    return np.stack(columns, axis=1)


def collision_probability(
    similarity: float | int | ndarray, bands: int, rows: int
) -> Float[ndarray, "*shape"]:
    """Probability that two signatures agree in at least one whole band.

    Implements eq-minhash-bands::

        P = 1 - (1 - s^r)^b

    A band of r numbers agrees with probability s^r, none of the b bands with (1 - s^r)^b. The
    curve is steepest near s = (1/b)^(1/r).

    Args:
        similarity: Jaccard similarity s of the two sets, 0 ≤ s ≤ 1.
        bands: b.
        rows: r, numbers in a band.

    Raises:
        InputError: If a number is out of range.

    Example:
        >>> round(float(collision_probability(0.8, bands=20, rows=5)), 6)
        0.999644
    """
    s = np.asarray(similarity, np.float64)
    if s.size == 0 or not ((s >= 0) & (s <= 1)).all():
        raise InputError(f"similarity {similarity!r} must be between 0 and 1")
    if min(bands, rows) < 1:
        raise InputError(f"bands={bands} and rows={rows} must be at least 1")
    with np.errstate(divide="ignore"):
        return np.asarray(-np.expm1(bands * np.log1p(-(s**rows))))


def candidate_pairs(signatures: UInt[ndarray, "N K"], bands: int) -> Int[ndarray, "P 2"]:
    """Pairs of documents whose signatures agree in at least one whole band.

    Args:
        signatures: One a row; K numbers, cut into ``bands`` bands of equal length.
        bands: How many; they must divide K.

    Returns:
        Pairs (i, j) with i < j, sorted.

    Raises:
        InputError: If the bands do not divide the signature.
    """
    K = signatures.shape[1]
    if not 1 <= bands <= K or K % bands:
        raise InputError(f"bands={bands} must divide the {K} numbers of a signature")
    pairs: set[tuple[int, int]] = set()
    for band in np.split(signatures, bands, axis=1):
        for bucket in _buckets(band):
            pairs.update((i, j) for k, i in enumerate(bucket) for j in bucket[k + 1 :])
    return np.array(sorted(pairs), np.int64).reshape(-1, 2)


def _buckets(band: UInt[ndarray, "N r"]) -> list[list[int]]:
    """Numbers of the documents that agree in a band, two or more of them, in their order."""
    keys = np.zeros(len(band), np.uint64)
    for column in band.T:
        keys = mix(keys ^ column)
    order = np.argsort(keys, kind="stable")
    borders = np.flatnonzero(np.diff(keys[order])) + 1
    starts, ends = np.append(0, borders), np.append(borders, len(order))
    several = ends - starts > 1
    runs = zip(starts[several], ends[several], strict=True)
    return [order[start:end].tolist() for start, end in runs]
