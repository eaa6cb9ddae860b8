"""What each stage finds, judged by what was planted."""

import json
import re

import numpy as np
import pytest

from lab.training_data import duplicates, raw_text
from mathlm.recipes.whole_stack import dirt
from mathlm.text import clean, collision_probability, jaccard, read_documents, shingles

SMALL = ["--documents", "48", "--planted", "12", "--glosses", "400"]


@pytest.fixture(scope="module")
def results():
    return raw_text.main(SMALL)


@pytest.fixture(scope="module")
def dirty():
    return dirt.plant(90, 12, np.random.default_rng(0))


def test_score_by_hand():
    """Three of four found, and two that were not planted."""
    found = raw_text.score({1, 2, 3, 8, 9}, {1, 2, 3, 4})
    assert (found["recall"], found["precision"]) == (3 / 4, 3 / 5)
    assert raw_text.score(set(), {1})["recall"] == 0


def test_cleaning_restores_every_passage(results):
    assert results["cleaning"]["restored"] == 1.0


@pytest.mark.parametrize("stage", ["exact duplicates", "contamination"])
def test_what_is_exact_is_found_without_an_error(results, stage):
    assert results[stage]["planted"] == 12
    assert results[stage]["recall"] == results[stage]["precision"] == 1.0


def test_all_junk_is_found_and_some_verse_with_it(results):
    assert results["quality"]["recall"] == 1.0
    assert 0.3 < results["quality"]["precision"] < 1.0


def test_near_duplicates_are_found_with_little_error(results):
    assert results["near duplicates"]["recall"] > 0.7
    assert results["near duplicates"]["precision"] == 1.0


def test_the_dirt_is_what_the_truth_says(dirty):
    changed = [a != b for a, b in zip(dirty.documents, dirty.originals, strict=True)]
    assert 0.5 < np.mean(changed) < 1
    assert len(dirty.junk) == len(dirty.exact) == len(dirty.near) == len(dirty.leaked) == 12
    assert any("<script>" in text for text in dirty.documents)


def test_copies_are_copies_and_altered_ones_are_alike(dirty):
    for i, j in dirty.exact:
        assert dirty.originals[i].lower() == dirty.originals[j].lower()
    for i, j in dirty.near:
        a, b = shingles(dirty.originals[i]), shingles(dirty.originals[j])
        assert 0.3 < jaccard(a, b) < 1


def test_leaked_passages_stand_in_a_document(dirty):
    def words(text):
        return " ".join(re.findall(r"\w+", text))

    texts = [words(text) for text in dirty.originals]
    for i in dirty.leaked:
        test = words(dirty.test[i]).split()
        runs = {" ".join(test[k : k + 30]) for k in range(len(test) - 29)}
        assert any(run in text for text in texts for run in runs)


def test_a_tenth_of_the_dictionary_says_what_stands_there_already(results):
    found = results["glosses"]
    assert found["entries"] == 400
    assert 0.03 < found["exact"] <= found["near or exact"] < 0.3


def test_measured_collisions_lie_on_the_curve():
    """300 pairs of sets at the steepest point; four standard deviations."""
    found = duplicates.measured_collisions(0.55, bands=20, rows=5, trials=300)
    p = float(collision_probability(found["similarity"], 20, 5))
    assert found["similarity"] == 0.55
    assert abs(found["collisions"] - p) < 4 * np.sqrt(p * (1 - p) / 300)


def test_the_record_holds_the_numbers_and_the_options(tmp_path):
    tiny = ["--documents", "12", "--planted", "3", "--glosses", "50"]
    found = raw_text.main([*tiny, "--record", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["results"] == found
    assert record["options"]["planted"] == 3


def test_more_dirt_than_passages_is_refused(capsys):
    with pytest.raises(SystemExit):
        raw_text.main(["--documents", "10", "--planted", "4"])
    assert "--planted" in capsys.readouterr().err


def test_dirt_is_visible_before_cleaning(dirty):
    counts = [clean(text).counts for text in dirty.documents]
    for rule in ("markup", "control", "boilerplate"):
        assert sum(count[rule] for count in counts) > 10


def test_dirty_documents_can_be_written_and_read_again(tmp_path):
    data = dirt.plant(9, 2, np.random.default_rng(0))
    dirt.write(data, tmp_path)
    assert list(read_documents(tmp_path / "documents.jsonl")) == data.documents
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert {tuple(pair) for pair in truth["exact"]} == data.exact
