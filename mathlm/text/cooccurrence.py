"""Which words stand near which: pairs of a word and its neighbors, and their counts."""

import numpy as np
from numpy import ndarray

from ..errors import DataError, InputError, InputTypeError
from ..shapes import Int
from .ngrams import as_ids

LARGEST = 1 << 28  # entries of a table of counts: 2 GiB of int64


def skip_gram_pairs(
    ids: ndarray | list,
    window: int | Int[ndarray, " T"],
    document: Int[ndarray, " T"] | None = None,
) -> tuple[Int[ndarray, " N"], Int[ndarray, " N"]]:
    """Every word of a text paired with each of its neighbors.

    Computes::

        { (x_i, x_j) :  0 < |i - j| ≤ R_i,  i and j in one document }

    The pairs are in the order of i, then of j. With one radius for all words the set is
    symmetric: a pair occurs as often as the pair turned around.

    Args:
        ids: The text x as word numbers.
        window: Radius R ≥ 1, or one radius for each position, 0 or more.
        document: Number of the document that each position belongs to; None = one document.

    Returns:
        Centers and contexts, N each.

    Raises:
        InputError: If a radius is out of range, an id is negative or an array does not fit.
        InputTypeError: If the ids are not integers.
        DataError: If the text is empty, or holds no pair.

    Example:
        >>> centers, contexts = skip_gram_pairs([5, 6, 7], window=1)
        >>> list(zip(centers.tolist(), contexts.tolist()))
        [(5, 6), (6, 5), (6, 7), (7, 6)]
    """
    ids = as_ids(np.asarray(ids), np.iinfo(np.int64).max)
    if not ids.size:
        raise DataError("the text is empty (0 words): there are no pairs")
    radius, document = _per_position(ids, window, document)
    widest = int(min(radius.max(), len(ids) - 1))
    offsets = np.concatenate([np.arange(-widest, 0), np.arange(1, widest + 1)])
    j = np.arange(len(ids))[:, None] + offsets  # (T, 2R)
    paired = (np.abs(offsets) <= radius[:, None]) & (j >= 0) & (j < len(ids))
    paired &= document.take(j, mode="clip") == document[:, None]
    i = np.broadcast_to(np.arange(len(ids))[:, None], j.shape)
    if not paired.any():
        raise DataError(f"no word of the {len(ids)} has a neighbor in its document")
    return ids[i[paired]], ids[j[paired]]


def cooccurrence_counts(
    ids: ndarray | list,
    window: int | Int[ndarray, " T"],
    vocab_size: int,
    document: Int[ndarray, " T"] | None = None,
) -> Int[ndarray, "V V"]:
    """How often each word stands near each other one.

    Computes::

        n_ij = number of pairs (i, j) of skip_gram_pairs

    Args:
        ids: The text as word numbers in 0..V - 1.
        window: As in :func:`skip_gram_pairs`.
        vocab_size: V.
        document: As in :func:`skip_gram_pairs`.

    Returns:
        n, centers in rows and contexts in columns; symmetric for one radius.

    Raises:
        InputError: As :func:`skip_gram_pairs` and :func:`pair_counts`.
        InputTypeError, DataError: As :func:`skip_gram_pairs`.

    Example:
        >>> cooccurrence_counts([0, 1, 0], window=1, vocab_size=2)
        array([[0, 2],
               [2, 0]])
    """
    return pair_counts(*skip_gram_pairs(ids, window, document), vocab_size)


def pair_counts(
    centers: Int[ndarray, "..."], contexts: Int[ndarray, "..."], vocab_size: int
) -> Int[ndarray, "V V"]:
    """How often each pair occurs in a list of pairs.

    Args:
        centers: Word numbers in 0..V - 1.
        contexts: As many.
        vocab_size: V; the table may take 2 GiB.

    Returns:
        n, centers in rows and contexts in columns.

    Raises:
        InputError: If an id is outside the vocabulary, the lists differ in length, or V is not
            positive or too large.
        InputTypeError: If the ids are not integers.

    Example:
        >>> pair_counts(np.array([0, 0, 1]), np.array([1, 1, 0]), vocab_size=2)
        array([[0, 2],
               [1, 0]])
    """
    if not isinstance(vocab_size, int | np.integer):
        raise InputTypeError(f"vocab_size={vocab_size!r} must be an integer")
    V = int(vocab_size)  # the square of an int32 may be none
    if V < 1 or not 1 <= V**2 <= LARGEST:
        raise InputError(
            f"vocab_size={V} needs {V**2} counts; give 1 to {int(LARGEST**0.5)} words, for "
            "example by a larger min_count"
        )
    if np.shape(centers) != np.shape(contexts):
        raise InputError(
            f"centers have shape {np.shape(centers)}, but contexts {np.shape(contexts)}"
        )
    packed = as_ids(centers, V) * V + as_ids(contexts, V)
    return np.bincount(packed, minlength=V**2).reshape(V, V)


def shrinking_windows(length: int, window: int, rng: np.random.Generator) -> Int[ndarray, " T"]:
    """A radius drawn evenly from 1 ... ``window`` for each position.

    A neighbor at distance r is then read with probability (window - r + 1) / window: near ones
    count more.

    Args:
        length: Positions T of the text.
        window: Largest radius, at least 1.
        rng: Source of the draws.

    Raises:
        InputError: If the length or the window is no integer or too small.

    Example:
        >>> radii = shrinking_windows(1000, window=3, rng=np.random.default_rng(0))
        >>> sorted(set(radii.tolist()))
        [1, 2, 3]

    References:
        Mikolov et al. (2013), arXiv:1301.3781, section 3.2.
    """
    for name, value, least in (("length", length, 0), ("window", window, 1)):
        if not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name}={value!r} must be an integer, at least {least}")
    return rng.integers(1, window + 1, size=length)


def _per_position(
    ids: ndarray, window: int | ndarray, document: ndarray | None
) -> tuple[ndarray, ndarray]:
    """Radius and document of each position, checked."""
    radius = np.asarray(window)
    smallest = 1 if radius.ndim == 0 else 0
    if radius.dtype.kind not in "iu" or radius.size == 0 or radius.min() < smallest:
        raise InputError(f"window={window} must be an integer, at least {smallest}")
    document = np.zeros(len(ids), np.int64) if document is None else np.asarray(document)
    for name, array in (("window", radius), ("document", document)):
        if (array.ndim or name == "document") and array.shape != ids.shape:
            raise InputError(f"{name} has shape {array.shape}, but ids has {ids.shape}")
    if document.dtype.kind not in "iu":
        raise InputTypeError(f"document must hold integers, got {document.dtype}")
    return np.broadcast_to(radius, ids.shape), document


__all__ = ["cooccurrence_counts", "pair_counts", "shrinking_windows", "skip_gram_pairs"]
