import json
from dataclasses import replace

import numpy as np
import pytest
import torch

from lab.transformer_forward import numerals_study
from lab.transformer_forward.numerals import NumeralsConfig, train

SMALL = NumeralsConfig(high=2000, held_out=60, steps=2, evaluations=1, d_model=16)


@pytest.fixture(scope="module")
def run():
    torch.set_default_dtype(torch.float32)
    return train(SMALL)


def test_the_three_tables_have_a_row_for_each_word_and_the_end(run):
    found = numerals_study.tables(run, 1971)  # mille neuf cent soixante et onze, 7 words
    assert tuple(found) == numerals_study.TABLES
    assert {table.shape for table in found.values()} == {(7, 7)}
    np.testing.assert_allclose(found["attention"].sum(1), 1, rtol=1e-5)


def test_pointing_counts_the_rows_whose_largest_entry_is_linked(run, monkeypatch):
    links = np.array([[True, False], [False, False], [False, True]])
    monkeypatch.setattr(numerals_study.numerals, "links", lambda n: links)
    table = np.array([[0.9, 0.1], [0.9, 0.1], [0.6, 0.4], [0.5, 0.5]])  # 1 of 2 linked rows
    monkeypatch.setattr(
        numerals_study, "tables", lambda run, n: dict.fromkeys(numerals_study.TABLES, table)
    )
    assert set(numerals_study.pointing(run, [7]).values()) == {0.5}


def test_the_loss_of_a_sentence_is_summed_over_its_words_without_padding(run):
    both, alone = (numerals_study.sentence_loss(run, n) for n in ([3, 1971], [3]))
    np.testing.assert_allclose(both[0], alone[0], rtol=1e-4)
    assert both[1] > both[0] > 0


def test_heads_of_even_attention_have_the_share_of_linked_words(run):
    scores, even = numerals_study.head_scores(run, [21])  # vingt et un: links to 1 of 2, 2, 1
    assert scores.shape == (4,)
    assert 0.5 <= even <= 1


@pytest.mark.slow
def test_lengths_are_counted_in_english_words():
    groups = numerals_study.by_length()
    assert {0, 21, 40} <= set(groups["one or two words"].tolist())
    assert 101 not in groups["one or two words"]
    assert groups["five or more"].min() > 100


@pytest.mark.slow
def test_command_line_examines_each_seed_and_writes_a_record(monkeypatch, tmp_path):
    small = lambda **options: replace(SMALL, steps=options["steps"])  # noqa: E731
    small.steps = 1
    monkeypatch.setattr(numerals_study, "NumeralsConfig", small)
    path = tmp_path / "record.json"
    rows = numerals_study.main(["--steps", "2", "--seeds", "2", "--record", str(path)])
    assert [row["seed"] for row in rows] == [0, 1]
    recorded = json.loads(path.read_text())["results"]["runs"]
    assert recorded[1]["pointing"] == rows[1]["pointing"]
    assert recorded[0]["first"] != recorded[1]["first"]


def test_numbers_are_spread_over_all_that_are_held_out():
    np.testing.assert_array_equal(
        numerals_study.spread(np.arange(0, 1000, 10), 3), [0, 490, 990]
    )


def test_rows_hidden_together_cost_what_a_memory_without_them_costs(run):
    source, target = (ids[0] for ids in run.batch([1971]))
    one = numerals_study.cost_of_rows(run, 1971, 3, [5])
    table = numerals_study.effect_of_hiding(run.model, source, target, everywhere=False)
    np.testing.assert_allclose(one, table[3, 5].item(), atol=1e-5)
    assert numerals_study.cost_of_rows(run, 1971, 3, []) == 0
