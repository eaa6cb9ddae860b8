"""A search over the sections of the book: reading, packing, ranks, and the record."""

import json
from pathlib import Path

import numpy as np
import pytest

from lab.embeddings import book_search
from mathlm.errors import DataError

BOOK = Path(book_search.__file__).parents[2]


@pytest.fixture
def folder(tmp_path):
    """A book of one page with two sections, one of them too short, and an exercise."""
    long = "Words with [a link](x.md), {term}`gates <gate>` and $x$ in it, "
    cells = [
        f"# Page\n\nQuestion.\n\n## First\n\n{long * 3}\n\n$$\ny = 1\n$$ (eq-y)\n\nend",
        "## Short\n\nFew words.",
        f"## Exercises\n\n### Second\n\n{long * 3}",
    ]
    page = {"cells": [{"cell_type": "markdown", "source": [c]} for c in cells]}
    (tmp_path / "01-page.ipynb").write_text(json.dumps(page))
    return tmp_path


def test_a_section_is_its_title_and_its_words_without_markup(folder):
    (section,) = book_search.sections(folder)
    assert section[:2] == ("01-page", "First")
    assert section.opening.startswith("First. Words with a link, gates and x in it, Words")
    assert section.opening.endswith("it, end")


def test_vectors_come_back_to_within_half_a_level(rng):
    vectors = rng.normal(size=(5, 8)).astype(np.float32)
    packed = json.loads(json.dumps(book_search.pack(vectors)))
    found = book_search.unpack(packed)
    assert np.abs(found - vectors).max() <= packed["scale"] / 2 * (1 + 1e-5)


def test_shared_rare_words_count_more_than_shared_frequent_ones():
    library = ["the cat", "the dog", "the sun"]
    scores = book_search.word_vectors(["the cat", "a wolf"], library)
    found = scores @ book_search.word_vectors(library, library).T
    np.testing.assert_allclose(found, [[1, 0, 0], [0, 0, 0]])


def test_the_rank_is_that_of_the_best_right_answer(monkeypatch):
    monkeypatch.setattr(book_search, "QUESTIONS", {"a?": ("x", "y"), "b?": ("z",)})
    scores = np.array([[0.9, 0.1, 0.5, 0.7], [0.9, 0.1, 0.5, 0.7]])
    assert book_search.ranks(scores, ["w", "x", "y", "z"]) == [3, 2]
    with pytest.raises(DataError, match=r"no section \['z'\] for 'b\?'"):
        book_search.ranks(scores, ["w", "x", "y", "v"])


def test_a_record_holds_sections_vectors_and_ranks(folder, monkeypatch):
    monkeypatch.setattr(book_search, "QUESTIONS", {"gates": ("01-page: First",)})
    library = book_search.sections(folder)
    made = book_search.build(library, lambda texts, tokens: np.eye(4)[: len(texts)])
    assert made["sections"] == ["01-page: First"]
    assert made["ranks"] == {"MiniLM": [1], "words": [1]}
    assert made["samples"] == {0: library[0].opening}


def test_the_recorded_ranks_are_those_of_its_vectors():
    record = json.loads((BOOK / "results" / "book-sections.json").read_text())
    assert len(record["sections"]) == record["vectors"]["shape"][0] > 500
    assert set(map(len, record["ranks"].values())) == {len(book_search.QUESTIONS)}
    length = np.linalg.norm(book_search.unpack(record["vectors"]), axis=1)
    np.testing.assert_allclose(length, 1, atol=0.02)
    assert all(a in record["sections"] for q in book_search.QUESTIONS.values() for a in q)
