"""Duplicates found: all of the exact ones, and near ones as alike as they are said to be."""

import sys
from itertools import combinations

import numpy as np
import pytest

from mathlm.errors import DataNotFoundError, InputError, InputTypeError
from mathlm.text import corpus, exact_duplicates, first_of_group, near_duplicates

INDEXES = pytest.mark.parametrize("index", ["datasketch", "numpy"])


def runs(text, n):
    words = [word.strip(".,;:!?'()-\"").lower() for word in text.split()]
    return {tuple(words[i : i + n]) for i in range(max(len(words) - n, 0) + 1)}


@pytest.fixture(scope="module")
def documents():
    """Sixty texts of 40 words of their own, some with a few words of another kind."""
    rng = np.random.default_rng(1)
    texts = [" ".join(f"w{i}" for i in rng.integers(0, 5000, 40)) for _ in range(60)]
    for k in range(20):
        words = texts[k].split()
        words[-1 - k :] = [f"z{k}_{i}" for i in range(k + 1)]
        texts.append(" ".join(words))
    return texts


def test_exact_duplicates_point_to_the_first():
    texts = ["To be", "or not", "to  be\n", "\uff34o be", "or not!", "or not"]
    assert exact_duplicates(texts).tolist() == [0, 1, 0, 0, 4, 1]
    assert exact_duplicates(iter([])).tolist() == []


@INDEXES
def test_near_duplicates_are_those_that_all_pairs_give(documents, index):
    """Above 0.6, 40 bands of 4 miss a pair with probability 4e-3 at most."""
    alike = {}
    for i, j in combinations(range(len(documents)), 2):
        a, b = runs(documents[i], 3), runs(documents[j], 3)
        alike[i, j] = len(a & b) / len(a | b)
    found = near_duplicates(documents, 0.6, n=3, bands=40, rows=4, index=index)
    expected = {pair for pair, s in alike.items() if s >= 0.6}
    assert len(expected) > 5
    assert {(i, j) for i, j, _ in found} == expected
    assert all(s == pytest.approx(alike[i, j], abs=1e-12) for i, j, s in found)


def test_candidates_below_the_threshold_are_not_returned(documents):
    found = near_duplicates(documents, 0.9, n=3, bands=40, rows=2, index="numpy")
    assert 0 < len(found) < 5
    assert min(s for _, _, s in found) >= 0.9


@INDEXES
def test_equal_documents_are_paired_with_the_first(index):
    text = "one two three four five six seven"
    found = near_duplicates([text, "?", text.upper(), "...", text], index=index)
    assert found == [(0, 2, 1.0), (0, 4, 1.0)]


@INDEXES
def test_nothing_alike_gives_nothing(index):
    assert near_duplicates(["a b c d e f", "g h i j k l"], index=index) == []
    assert near_duplicates([], index=index) == []


@INDEXES
def test_synonyms_of_a_dictionary_are_found(index):
    """Four of the first entries are spelled another way in Open English WordNet."""
    entries = corpus.documents("glosses")[:60]
    found = near_duplicates(entries, 0.7, n=3, index=index)
    names = [(entries[i].split(" : ")[0], entries[j].split(" : ")[0]) for i, j, _ in found]
    assert ("aar", "aare") in names
    assert ("abatis", "abattis") in names


def test_the_pairs_do_not_depend_on_the_run(documents):
    first, second = (near_duplicates(documents, 0.5, n=3) for _ in range(2))
    assert first == second


def test_pairs_join_groups():
    """1-3 and 3-4 are one group; 5-2 another, whose first is 2."""
    assert first_of_group(7, [(3, 1), (3, 4), (5, 2)]).tolist() == [0, 1, 2, 1, 1, 2, 6]
    chain = [(i, i + 1) for i in range(99)]
    assert set(first_of_group(100, reversed(chain)).tolist()) == {0}
    with pytest.raises(InputError, match=r"pair \(0, 3\).*0\.\.2"):
        first_of_group(3, [(0, 3)])


def test_a_missing_datasketch_names_its_install_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasketch", None)
    with pytest.raises(
        DataNotFoundError, match='pip install datasketch; or write index="numpy"'
    ):
        near_duplicates(["a b", "b a"])


@pytest.mark.parametrize(
    "option", [{"threshold": 0.0}, {"threshold": 1.5}, {"bands": 1}, {"rows": 0}, {"seed": -1}]
)
def test_numbers_out_of_range_are_named(option):
    with pytest.raises(InputError, match=f"{next(iter(option))}="):
        near_duplicates(["a"], **option)


def test_one_text_is_no_list_of_texts(unchecked):
    for find in (exact_duplicates, near_duplicates):
        with pytest.raises(InputTypeError, match=r"write \[text\]"):
            find("abc")
        with pytest.raises(InputTypeError, match="got int"):
            find(["abc", 7])
    with pytest.raises(InputError, match="index='faiss'"):
        near_duplicates(["a"], index="faiss")
