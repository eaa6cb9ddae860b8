"""The logistic regression against scikit-learn's, and on texts of two kinds."""

import numpy as np
import pytest

from mathlm.errors import ConfigError, InputError
from mathlm.text import QualityClassifier, corpus, hashed_features
from mathlm.text.cleaning.deduplication import gram_hashes, word_hashes


@pytest.fixture(scope="module")
def texts():
    """Speeches of a play and entries of a dictionary, half and half."""
    speeches = corpus.documents("shakespeare")[0].split("\n\n")[:120]
    return [*speeches, *corpus.documents("glosses")[::600][:120]], [1] * 120 + [0] * 120


def dense(features):
    matrix = np.zeros(features.shape)
    np.add.at(matrix, (features.rows, features.columns), features.values)
    return matrix


def test_features_are_counts_of_runs_scaled_to_length_1():
    """Words a a b: buckets of a (twice), b, aa and ab; the length is the root of 4+1+1+1."""
    row = dense(hashed_features(["a a b"], 1000, (1, 2)))[0]
    words = word_hashes(["a", "a", "b"])
    a, _, b = (gram_hashes(words, 1) % np.uint64(1000)).astype(int)
    aa, ab = (gram_hashes(words, 2) % np.uint64(1000)).astype(int)
    assert len({a, b, aa, ab}) == 4
    assert row[[a, b, aa, ab]].tolist() == pytest.approx(np.array([2, 1, 1, 1]) / np.sqrt(7))
    assert row.sum() == pytest.approx(5 / np.sqrt(7))


def test_products_are_those_of_the_dense_matrix(texts, rng):
    X = hashed_features([*texts[0][:20], "?!"], 64)
    w, r = rng.normal(size=64), rng.normal(size=21)
    np.testing.assert_allclose(X.times(w), dense(X) @ w, rtol=0, atol=1e-13)
    np.testing.assert_allclose(X.transposed_times(r), dense(X).T @ r, rtol=0, atol=1e-13)


def test_weights_are_those_of_scikit_learn(texts):
    """Its loss is the sum and its C the inverse of N times the decay."""
    from sklearn.linear_model import LogisticRegression

    documents, labels = texts
    ours = QualityClassifier.train(documents, labels, decay=1e-2, buckets=256)
    X, C = dense(hashed_features(documents, 256)), 1 / (1e-2 * len(labels))
    theirs = LogisticRegression(C=C, tol=1e-10, max_iter=2000).fit(X, labels)
    np.testing.assert_allclose(ours.weights, theirs.coef_[0], rtol=0, atol=1e-6)
    assert ours.bias == pytest.approx(theirs.intercept_[0], abs=1e-6)
    probability = theirs.predict_proba(X)[:, 1]
    np.testing.assert_allclose(ours.probability(documents), probability, rtol=0, atol=1e-6)


def test_the_gradient_vanishes_at_the_weights(texts):
    documents, labels = texts
    found = QualityClassifier.train(documents, labels, decay=1e-2, buckets=64, steps=500)
    X = dense(hashed_features(documents, 64))
    error = found.probability(documents) - labels
    gradient = X.T @ error / len(labels) + 1e-2 * found.weights
    assert np.abs(gradient).max() < 1e-10
    assert abs(error.mean()) < 1e-10


def test_held_out_texts_are_told_apart(texts):
    documents, labels = texts
    train = QualityClassifier.train(documents[::2], labels[::2], steps=100)
    right = (train.probability(documents[1::2]) > 0.5) == np.array(labels[1::2])
    assert right.mean() > 0.9


def test_a_text_without_words_has_the_probability_of_the_bias(texts):
    found = QualityClassifier.train(*texts, buckets=64)
    assert found.probability(["?!"])[0] == pytest.approx(1 / (1 + np.exp(-found.bias)))


@pytest.mark.parametrize(
    ("documents", "labels"), [(["a"], [1, 0]), (["a", "b"], [1, 1]), (["a", "b"], [1, 2])]
)
def test_labels_must_fit(documents, labels):
    with pytest.raises(InputError, match="give 0 or 1 for each, and both"):
        QualityClassifier.train(documents, labels)


def test_numbers_out_of_range_are_named():
    for options in ({"decay": 0.0}, {"decay": float("nan")}, {"steps": 0}):
        with pytest.raises(ConfigError, match=r"decay=.* and steps="):
            QualityClassifier.train(["a", "b"], [0, 1], **options)
    with pytest.raises(InputError, match="buckets=0"):
        hashed_features(["a"], 0)
    with pytest.raises(InputError, match="0 documents"):
        hashed_features([])
