import numpy as np
import pytest

from lab.embeddings import association, count_vectors
from mathlm.errors import DataError
from mathlm.text import negative_distribution, pair_counts

LINES = ["ant : a small red insect\nant : an insect\n", "bee : a small insect; 2 wings\n"]


def test_a_text_is_read_line_by_line_without_its_rare_words():
    """insect: 3 times; a, ant and small: twice, in the order of their letters."""
    text = count_vectors.read(LINES, min_count=2)
    assert text.vocabulary.words == ["insect", "a", "ant", "small"]
    assert text.ids.tolist() == [2, 1, 3, 0, 2, 0, 1, 3, 0]
    assert text.line.tolist() == [0, 0, 0, 0, 1, 1, 2, 2, 2]


def test_pairs_stay_on_their_line():
    text = count_vectors.read(LINES, min_count=2)
    centers, contexts = count_vectors.pairs(text, window=1, thin=1.0)
    words = text.vocabulary.words
    found = [(words[i], words[j]) for i, j in zip(centers, contexts, strict=True)]
    assert ("insect", "ant") in found
    assert ("insect", "a") not in found


def test_a_text_without_words_is_an_error():
    with pytest.raises(DataError, match="no word occurs min_count=20 times among 0 tokens"):
        count_vectors.read([])


def test_products_of_full_width_are_shifted_pmi(rng):
    """W Cᵀ = x* exactly: the correlation over the pairs that were seen is 1."""
    text = count_vectors.read(["a b c a a b c c b a c b b a b c a"], min_count=1)
    found = count_vectors.pairs(text, window=3, thin=1.0)
    counts = pair_counts(*found, 3)
    noise = negative_distribution(text.vocabulary.counts)
    x = association.shifted_pmi(counts, 5, noise)
    assert np.isfinite(x).all()
    assert count_vectors.nearness(np.eye(3), x.T, counts, x) == pytest.approx(1)
    assert count_vectors.nearness(np.eye(3), -x.T, counts, x) == pytest.approx(-1)


@pytest.mark.slow
def test_vectors_from_counts_agree_with_human_ratings():
    text = count_vectors.read(min_count=100)
    counts = pair_counts(*count_vectors.pairs(text), len(text.vocabulary))
    vectors = count_vectors.count_vectors(counts + counts.T, 32, 1)
    found = count_vectors.scores(text.vocabulary.index, vectors)
    assert found["wordsim353"]["spearman"] > 0.4
    assert found["simlex999"]["pairs"] > 100
    assert sum(s["asked"] for s in found["sections"].values()) == found["analogies"]["asked"]
