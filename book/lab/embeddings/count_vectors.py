"""Word vectors from the counts of a dictionary: positive mutual information and its SVD.

Reads the glosses, counts which words stand near which, and scores the vectors by public tests.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
from numpy import ndarray

from mathlm.reference.statistics.correlation import pearson, spearman
from mathlm.text import (
    Vocabulary,
    corpus,
    keep_probability,
    negative_distribution,
    pair_counts,
    shrinking_windows,
    skip_gram_pairs,
    split_words,
    word_tests,
)

from .analogy import analogy_accuracy, solve_analogies
from .association import ppmi, shifted_pmi, svd_vectors

Pairs = tuple[ndarray, ndarray]  # centers and contexts


@dataclass(frozen=True, eq=False)
class WordText:
    """A text as numbers: its vocabulary, its words, and the line that each one is on."""

    vocabulary: Vocabulary
    ids: ndarray
    line: ndarray


def read(documents: Sequence[str] | None = None, min_count: int = 20) -> WordText:
    """A corpus, by default the glosses, without its rare words; lines are kept apart."""
    documents = corpus.documents("glosses") if documents is None else documents
    lines = [split_words(line) for document in documents for line in document.splitlines()]
    vocabulary = Vocabulary.build(chain.from_iterable(lines), min_count)
    index = vocabulary.index
    kept = [[index[word] for word in line if word in index] for line in lines]
    line = np.repeat(np.arange(len(kept)), [len(ids) for ids in kept])
    return WordText(vocabulary, np.fromiter(chain.from_iterable(kept), np.int64), line)


def pairs(text: WordText, window: int = 5, thin: float = 1e-4, seed: int = 0) -> Pairs:
    """Neighbors in the text once its frequent words are thinned out; shrinking windows."""
    rng = np.random.default_rng(seed)
    keep = rng.random(len(text.ids)) < keep_probability(text.vocabulary.counts, thin)[text.ids]
    radius = shrinking_windows(int(keep.sum()), window, rng)
    return skip_gram_pairs(text.ids[keep], radius, text.line[keep])


def count_vectors(counts: ndarray, width: int, shift: float | int = 1) -> ndarray:
    """Word vectors U Σ^½ of the positive mutual information minus log ``shift``."""
    return svd_vectors(ppmi(counts, shift), width, seed=0)[0]


def nearness(W: ndarray, C: ndarray, counts: ndarray, x: ndarray) -> float:
    """Correlation of the products w_i·c_j with x_ij, over the pairs that were seen."""
    i, j = counts.nonzero()
    return pearson(np.einsum("nd,nd->n", W[i], C[j]), x[i, j])


def compare(text: WordText, found: Pairs, W: ndarray, C: ndarray, k: float | int) -> dict:
    """How near products come to their optimum, and how vectors from counts score."""
    V, width = W.shape
    counts, index = pair_counts(*found, V), text.vocabulary.index
    x = shifted_pmi(counts, k, negative_distribution(text.vocabulary.counts))
    low_rank = svd_vectors(ppmi(counts), width, seed=0)
    near = {"skip-gram": nearness(W, C, counts, x), "ppmi-svd": nearness(*low_rank, counts, x)}
    symmetric = {
        f"ppmi-svd, k = {shift}": scores(index, count_vectors(counts + counts.T, width, shift))
        for shift in (1, 5)
    }
    return {"correlation": near, "ppmi-svd": scores(index, low_rank[0])} | symmetric


def scores(index: Mapping[str, int], vectors: ndarray) -> dict:
    """Spearman correlation with human ratings, and share of analogies solved."""
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    found: dict = {}
    for name in ("wordsim353", "simlex999"):
        rows, ratings = word_tests.similarity_rows(name, index)
        cosines = (unit[rows[:, 0]] * unit[rows[:, 1]]).sum(1)
        found[name] = {"spearman": spearman(cosines, ratings), "pairs": len(rows)}
    asked = {name: rows for name, rows in word_tests.analogy_rows(index).items() if len(rows)}
    answers = {name: solve_analogies(vectors, rows) for name, rows in asked.items()}
    share = {name: analogy_accuracy(answers[name], asked[name]) for name in asked}
    found["sections"] = {n: {"accuracy": share[n], "asked": len(asked[n])} for n in asked}
    total = sum(map(len, asked.values()))
    right = sum(share[name] * len(asked[name]) for name in asked)
    return found | {"analogies": {"accuracy": right / total, "asked": total}}
