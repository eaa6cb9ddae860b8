"""Documents that say the same twice: exactly, or nearly.

References:
    Lee et al. (2022), arXiv:2107.06499 (what duplicates do to language models).
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy import ndarray

from ...errors import DataNotFoundError, InputError, InputTypeError
from ...shapes import Float, Int, UInt

WORD = re.compile(r"\w+")


def words_of(text: str) -> list[str]:
    """The words of a text without regard to capitals and punctuation.

    Example:
        >>> words_of("Now, fair Hippolyta!")
        ['now', 'fair', 'hippolyta']
    """
    if not isinstance(text, str):
        raise InputTypeError(f"a document must be a str, got {type(text).__name__}")
    return WORD.findall(text.casefold())


@lru_cache(maxsize=1 << 18)
def word_hash(word: str) -> int:
    """First 64 bits of a word's BLAKE2b hash."""
    data = word.encode("utf-8", "surrogatepass")
    return int.from_bytes(hashlib.blake2b(data, digest_size=8).digest(), "little")


def word_hashes(words: Iterable[str]) -> UInt[ndarray, " N"]:
    """The hash of each word, as uint64."""
    return np.fromiter((word_hash(word) for word in words), np.uint64)


def gram_hashes(units: UInt[ndarray, " N"], n: int) -> UInt[ndarray, " M"]:
    """One hash for each run of n units, M = N - n + 1 of them; none if N < n.

    Computes::

        g_t = mix(... mix(mix(u_t) ^ u_{t+1}) ... ^ u_{t+n-1})

    Args:
        units: Hashes of words, or other numbers, as uint64.
        n: Units of a run.

    Raises:
        InputError: If n is below 1.
    """
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    runs = max(len(units) - n + 1, 0)
    grams = np.zeros(runs, np.uint64)
    for j in range(n):
        grams = mix(grams ^ units[j : j + runs].astype(np.uint64))
    return grams


def mix(x: UInt[ndarray, " N"]) -> UInt[ndarray, " N"]:
    """A fixed permutation of the 64-bit integers in which each bit depends on all."""
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def shingles(text: str, n: int = 5) -> UInt[ndarray, " M"]:
    """The set of runs of n words in a text, as sorted 64-bit hashes.

    A text of fewer words has one run, of all its words; a text without words has none.

    Args:
        text: Any text; capitals and punctuation do not count.
        n: Words of a run.

    Raises:
        InputError: If n is below 1.
        InputTypeError: If the text is not a str.

    Example:
        >>> len(shingles("to be or not to be", n=2))  # "to be" occurs twice
        4
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

    Example:
        >>> jaccard(np.array([1, 2, 3]), np.array([2, 3, 4]))
        0.5
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

    Example:
        >>> from mathlm.text import shingles
        >>> words = shingles("to be or not to be")
        >>> signatures = minhash([words, words])
        >>> bool((signatures[0] == signatures[1]).all())
        True
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

    Example:
        >>> signatures = np.array([[1, 2, 3, 4], [1, 2, 9, 9], [5, 6, 7, 8]], np.uint64)
        >>> candidate_pairs(signatures, bands=2).tolist()  # the first two agree in a band
        [[0, 1]]
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

    Example:
        >>> text = "to be or not to be that is the question"
        >>> documents = [text, "something else entirely", text + " !"]
        >>> found = near_duplicates(documents, n=2, index="numpy")
        >>> [(pair.first, pair.second) for pair in found]
        [(0, 2)]
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
