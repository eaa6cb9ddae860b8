import sys
from importlib.util import find_spec

import numpy as np
import pytest

from mathlm.errors import DataNotFoundError, HashMismatchError, InputError
from mathlm.text import word_tests

needs_gensim = pytest.mark.skipif(
    find_spec(word_tests.PACKAGE) is None, reason=f"not installed: {word_tests.INSTALL}"
)


@needs_gensim
def test_questions_are_those_of_the_paper():
    """Mikolov et al. (2013), table 1: 8,869 semantic and 10,675 syntactic questions."""
    sections = word_tests.analogies()
    sizes = {name: len(questions) for name, questions in sections.items()}
    syntactic = sum(n for name, n in sizes.items() if name.startswith("gram"))
    assert (len(sizes), sum(sizes.values()) - syntactic, syntactic) == (14, 8_869, 10_675)


@needs_gensim
def test_a_question_reads_a_is_to_b_as_c_is_to_d():
    sections = word_tests.analogies()
    assert sections["family"][0] == ("boy", "girl", "brother", "sister")
    assert ("Athens", "Greece", "Oslo", "Norway") in sections["capital-common-countries"]


@needs_gensim
@pytest.mark.parametrize(("name", "size"), [("wordsim353", 353), ("simlex999", 999)])
def test_rated_pairs_are_as_many_as_the_name_says(name, size):
    pairs = word_tests.similarities(name)
    low, high = word_tests.WORD_TESTS[name].scale
    assert len(pairs) == size
    assert all(low <= rating <= high for _, _, rating in pairs)


@needs_gensim
def test_the_two_tests_rate_different_things():
    """Cup and coffee have much to do with each other, and are not alike at all."""
    related = {pair[:2]: pair[2] for pair in word_tests.similarities("wordsim353")}
    alike = {pair[:2]: pair[2] for pair in word_tests.similarities("simlex999")}
    assert related["cup", "coffee"] > 6
    assert alike["old", "new"] < 2 < 9 < alike["smart", "intelligent"]


@needs_gensim
def test_rows_spell_their_questions():
    words = ["norway", "oslo", "greece", "Athens", "athens", "the"]
    index = {word: i for i, word in enumerate(words)}
    rows = word_tests.analogy_rows(index)["capital-common-countries"]
    assert rows.tolist() == [[3, 2, 1, 0], [1, 0, 3, 2]]  # Athens as it is spelled, oslo not


@needs_gensim
def test_sections_without_a_question_stay_and_are_empty():
    index = {word: i for i, word in enumerate(["boy", "girl", "brother", "sister"])}
    rows = word_tests.analogy_rows(index)
    assert rows["family"].shape == (2, 4)
    assert rows["currency"].shape == (0, 4)
    assert list(rows) == list(word_tests.analogies())


@needs_gensim
def test_every_word_in_the_index_keeps_every_question():
    words = sorted({w for qs in word_tests.analogies().values() for q in qs for w in q})
    rows = word_tests.analogy_rows({word: i for i, word in enumerate(words)})
    back = [tuple(words[i] for i in row) for row in rows["city-in-state"]]
    assert back == word_tests.analogies()["city-in-state"]


@needs_gensim
def test_rated_rows_keep_their_ratings():
    index = {word: i for i, word in enumerate(["cat", "tiger", "train", "car"])}
    rows, ratings = word_tests.similarity_rows("wordsim353", index)
    assert rows.tolist() == [[1, 0], [1, 1], [2, 3]]
    np.testing.assert_array_equal(ratings, [7.35, 10.0, 6.31])


@needs_gensim
@pytest.mark.parametrize("index", [{}, {"boy": 0, "girl": 1}])
def test_an_index_without_a_whole_question_is_refused(index):
    with pytest.raises(InputError, match=f"among the {len(index)} of the index"):
        word_tests.analogy_rows(index)


@needs_gensim
def test_an_index_without_a_whole_pair_is_refused():
    with pytest.raises(InputError, match=r"no pair of simlex999 .* the 1 given"):
        word_tests.similarity_rows("simlex999", {"old": 0})


@pytest.mark.parametrize("name", ["analogies", "men3000"])
def test_unknown_pairs_are_refused_by_name(name):
    with pytest.raises(InputError, match=rf"{name}'; there are \['simlex999', 'wordsim353'\]"):
        word_tests.similarities(name)


def test_missing_package_names_its_install_command(monkeypatch):
    monkeypatch.setattr("mathlm.text.corpora.installed.find_spec", lambda _: None)
    with pytest.raises(DataNotFoundError, match=r"pip install --no-deps gensim==4\.4\.0"):
        word_tests.analogies()


def test_other_bytes_are_refused(monkeypatch, tmp_path):
    (tmp_path / word_tests.FOLDER).mkdir(parents=True)
    for test in word_tests.WORD_TESTS.values():
        (tmp_path / word_tests.FOLDER / test.file).write_text("other questions")
    monkeypatch.setattr("mathlm.text.corpora.installed.data_folder", lambda *_, **__: tmp_path)
    with pytest.raises(HashMismatchError, match="expected 8c29b333"):
        word_tests.analogies()


@needs_gensim
def test_reading_does_not_import_the_package():
    word_tests.similarities("simlex999")
    assert "gensim" not in sys.modules


@pytest.mark.parametrize("row", [1.5, -1, "2"])
@pytest.mark.usefixtures("unchecked")
def test_a_row_is_an_integer_from_zero(row):
    with pytest.raises(InputError, match=f"row of 'king' is {row!r}"):
        word_tests.similarity_rows("wordsim353", {"king": row, "queen": 1})
