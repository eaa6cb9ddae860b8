"""The source with a topic and a link, and the study of what is learned from its pairs."""

import itertools
import json

import numpy as np
import pytest
import torch

from lab.objectives import linked_pairs, linked_pairs_study
from lab.objectives.linked_pairs import MARKS, PairConfig, batches, documents, judged, train
from mathlm.errors import ConfigError


@pytest.fixture(autouse=True)
def single_precision(unchecked):
    torch.set_default_dtype(torch.float32)


def test_each_sentence_begins_with_the_word_that_ended_the_one_before():
    for document in documents(PairConfig(), number=20):
        assert all(a[-1] == b[0] for a, b in itertools.pairwise(document))


def test_every_topic_has_words_of_its_own():
    config = PairConfig(topics=4, words=3)
    for document in documents(config, number=20):
        words = np.concatenate(document) - MARKS
        assert len({*(words // 3).tolist()}) == 1
        assert words.max() < config.topics * config.words


def test_documents_to_judge_on_are_new():
    config = PairConfig()
    learned, new = (documents(config, number=5, seed=seed) for seed in (0, 1))
    assert any((a != b).any() for a, b in zip(learned[0], new[0], strict=True))


@pytest.mark.parametrize(
    ("negatives", "topics_agree", "linked"),
    [("elsewhere", 0.1, 0.01), ("same", 1.0, 0.1), ("swapped", 1.0, 0.1)],
)
def test_what_tells_wrong_pairs_apart_is_known(negatives, topics_agree, linked):
    """Ten topics of ten words: a topic agrees by chance once in ten, a link as often within."""
    config = PairConfig(negatives=negatives)
    pairs = batches(config, batch_size=4000)(0)
    ids, wrong = pairs["ids"] - MARKS, pairs["follows"] == 0
    first, last, start = ids[:, 1], ids[:, config.length], ids[:, config.length + 2]
    assert (first // 10 == start // 10)[wrong].double().mean() == pytest.approx(
        topics_agree, abs=0.03
    )
    assert (last == start)[wrong].double().mean() == pytest.approx(linked, abs=0.03)
    assert (last == start)[~wrong].all()


def test_a_run_is_a_function_of_its_seed():
    how = {"steps": 2, "batch": 4, "width": 16, "blocks": 1}
    runs = [train(PairConfig(**how, seed=s)).loss for s in (3, 3, 4)]
    assert runs[0] == runs[1] != runs[2]


def test_a_model_that_knows_nothing_is_right_in_half_of_the_pairs():
    config = PairConfig(width=16, blocks=1)
    right = judged(linked_pairs.build(config).eval(), config, 1000)
    assert set(right) == {"elsewhere", "same", "swapped"}
    assert all(0.4 < x < 0.6 for x in right.values())


@pytest.mark.parametrize(
    ("options", "says"),
    [({"negatives": "none"}, "negatives='none' is not one of"), ({"length": 1}, "length must")],
)
def test_runs_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        PairConfig(**options)


def test_the_study_goes_on_where_its_record_ends(tmp_path, monkeypatch):
    """Each kind at every step size with one seed, then at its best and at that of easy ones."""
    ran = []

    def row(config):
        ran.append(config)
        loss = [abs(config.lr - (1e-3 if config.negatives == "elsewhere" else 3e-3))] * 10
        return {"config": linked_pairs_study.describe(config), "loss": loss, "right": {}}

    monkeypatch.setattr(linked_pairs_study, "run", row)
    path = tmp_path / "pairs.json"
    linked_pairs_study.main(["--record", str(path), "--seeds", "1"])
    assert len(ran) == 9
    rows = linked_pairs_study.main(["--record", str(path), "--seeds", "3"])
    assert len(ran) == len(rows) == 19  # nothing runs twice
    assert {c.lr for c in ran[9:] if c.negatives == "elsewhere"} == {1e-3}
    assert {c.lr for c in ran[9:] if c.negatives != "elsewhere"} == {1e-3, 3e-3}
    assert len(json.loads(path.read_text())["results"]) == 19
