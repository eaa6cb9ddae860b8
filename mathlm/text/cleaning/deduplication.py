"""Documents that say the same twice: exactly, or nearly.

References:
    Lee et al. (2022), arXiv:2107.06499 (what duplicates do to language models).
"""

import hashlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy import ndarray

from ...errors import DataNotFoundError, InputError, InputTypeError
from ...shapes import Int
from .signatures import candidate_pairs, jaccard, minhash, shingles


class NearDuplicate(NamedTuple):
    """Two documents that are alike.

    Args:
        first: Number of the earlier document.
        second: Number of the later one.
        similarity: Jaccard similarity of their shingles.
    """

    first: int
    second: int
    similarity: float


def exact_duplicates(documents: Iterable[str]) -> Int[ndarray, " N"]:
    """The first document that each document is equal to, itself if it is the first.

    Compared are SHA-256 hashes of the texts in Unicode's form NFKC, without regard to capitals
    and to the amount of white space. Document i is to be dropped where ``first[i] != i``.

    Args:
        documents: The texts; only their hashes are kept in memory.

    Returns:
        Index of the first equal document, for each document.

    Raises:
        InputTypeError: If ``documents`` is one str, or a document is not a str.

    Example:
        >>> exact_duplicates(["To be", "or not", "to  be"]).tolist()
        [0, 1, 0]
    """
    first: dict[bytes, int] = {}
    return np.array(
        [
            first.setdefault(_fingerprint(text), number)
            for number, text in enumerate(_require_documents(documents))
        ],
        np.int64,
    )


def near_duplicates(
    documents: Sequence[str],
    threshold: float | int = 0.8,
    *,
    n: int = 5,
    bands: int = 20,
    rows: int = 5,
    seed: int = 0,
    index: Literal["datasketch", "numpy"] = "datasketch",
) -> list[NearDuplicate]:
    """Pairs of documents whose shingles are alike, without comparing all pairs.

    MinHash signatures find the candidates: pairs that agree in a band, which a pair of
    similarity s does with :func:`collision_probability`. Each candidate is then compared by its
    sets, so that what is returned is as alike as it says; a pair may be missed with probability
    1 - P(s), 4e-4 at most for the defaults.

    Of documents with the same set, each is paired with the first alone, and only that one with
    others. Documents without words are passed over.

    Args:
        documents: The texts.
        threshold: Least Jaccard similarity of a pair, 0 < threshold ≤ 1.
        n: Words of a shingle.
        bands: b, bands of a signature.
        rows: r, numbers in a band.
        seed: Of the hash functions.
        index: What finds the candidates: the package ``datasketch``, or this package's
            :func:`minhash` and :func:`candidate_pairs`, which are faster.

    Returns:
        Pairs, sorted.

    Raises:
        InputError: If a number is out of range.
        InputTypeError: If ``documents`` is one str, or a document is not a str.
        DataNotFoundError: If datasketch is not installed; the message has the command.
    """
    _require_options(threshold, bands, rows, seed, index)
    sets = [shingles(text, n) for text in _require_documents(documents)]
    same: dict[bytes, int] = {}
    first = [same.setdefault(s.tobytes(), number) for number, s in enumerate(sets)]
    found = [NearDuplicate(i, j, 1.0) for j, i in enumerate(first) if i != j and len(sets[i])]
    different = [i for j, i in enumerate(first) if i == j and len(sets[i])]
    if len(different) > 1:
        for a, b in INDEXES[index]([sets[i] for i in different], bands, rows, seed):
            i, j = different[a], different[b]
            if (similarity := jaccard(sets[i], sets[j])) >= threshold:
                found.append(NearDuplicate(i, j, similarity))
    return sorted(found)


def first_of_group(size: int, pairs: Iterable[Sequence[Any]]) -> Int[ndarray, " N"]:
    """The first document of the group that each document is in, itself if it is in none.

    Pairs join groups: if A is like B and B like C, the three are one group, although A and C
    may be less alike. Document i is to be dropped where ``first[i] != i``.

    Args:
        size: How many documents.
        pairs: Their numbers, in the first two places of each pair.

    Raises:
        InputError: If there is no such document.

    Example:
        >>> first_of_group(5, [(1, 3), (3, 4)]).tolist()
        [0, 1, 2, 1, 1]
    """
    first = list(range(size))
    for a, b, *_ in pairs:
        if not (0 <= a < size and 0 <= b < size):
            raise InputError(f"pair ({a}, {b}) names a document outside 0..{size - 1}")
        low, high = sorted((_root(first, a), _root(first, b)))
        first[high] = low
    return np.array([_root(first, i) for i in range(size)], np.int64)


def _root(first: list[int], i: int) -> int:
    """First document of the group of i; the way there is shortened."""
    while first[i] != i:
        first[i] = first[first[i]]
        i = first[i]
    return i


def _fingerprint(text: str) -> bytes:
    """SHA-256 of what counts of a text."""
    if not isinstance(text, str):
        raise InputTypeError(f"a document must be a str, got {type(text).__name__}")
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).digest()


def _numpy_pairs(
    sets: list[ndarray], bands: int, rows: int, seed: int
) -> Iterator[tuple[int, int]]:
    """Candidates by our own signatures."""
    pairs = candidate_pairs(minhash(sets, bands * rows, seed), bands)
    return ((int(a), int(b)) for a, b in pairs)


def _datasketch_pairs(
    sets: list[ndarray], bands: int, rows: int, seed: int
) -> Iterator[tuple[int, int]]:
    """Candidates by the index of datasketch, which takes hashes of 32 bits."""
    try:
        from datasketch import MinHash, MinHashLSH
    except ImportError:
        raise DataNotFoundError(
            "finding near duplicates needs datasketch, which is not installed: pip install "
            'datasketch; or write index="numpy"'
        ) from None
    lsh = MinHashLSH(num_perm=bands * rows, params=(bands, rows))
    hashes = ((s & np.uint64(0xFFFFFFFF)).tolist() for s in sets)
    options = {"num_perm": bands * rows, "seed": seed, "hashfunc": int}
    for b, sketch in enumerate(MinHash.generator(hashes, **options)):
        for a in lsh.query(sketch):
            yield a, b
        lsh.insert(b, sketch)


INDEXES = {"datasketch": _datasketch_pairs, "numpy": _numpy_pairs}


def _require_documents(documents: Iterable[str]) -> Iterable[str]:
    if isinstance(documents, str | bytes):
        kind = type(documents).__name__
        raise InputTypeError(f"documents is one {kind}, expected several; write [text]")
    return documents


def _require_options(
    threshold: float | int, bands: int, rows: int, seed: int, index: str
) -> None:
    if not 0 < threshold <= 1:
        raise InputError(f"threshold={threshold} must be above 0 and at most 1")
    if bands < 2 or rows < 1:
        raise InputError(f"bands={bands} must be at least 2 and rows={rows} at least 1")
    if not 0 <= seed < 1 << 32:
        raise InputError(f"seed={seed} must be between 0 and 2^32 - 1")
    if index not in INDEXES:
        raise InputError(f"index={index!r} must be one of {sorted(INDEXES)}")
