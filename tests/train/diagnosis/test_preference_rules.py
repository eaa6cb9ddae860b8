"""Faults that pairs show, written by hand."""

import pytest
from train.diagnosis.written_runs import T, found


def test_an_accuracy_that_is_not_one_half_at_the_start():
    for accuracy, names in ((0.9, ["accuracy at the start"]), (0.55, [])):
        before = {"results": {"before": {"accuracy": accuracy}}}
        assert found("dpo", more=before) == names


@pytest.mark.parametrize("kind", ["dpo", "reward"])
def test_pairs_that_are_ranked_the_wrong_way(kind):
    columns = {"accuracy": 0.2 + 0 * T}
    columns |= {"margin": -0.02 * T} if kind == "dpo" else {}
    assert found(kind, **columns) == ["ranked the wrong way"]
    assert found(kind, accuracy=0.45 + 0 * T) == []


def test_chosen_answers_that_become_unlikely():
    falls = {"chosen_change": -0.15 * T, "rejected_change": -0.21 * T}
    assert found("dpo", **falls) == ["chosen answers become unlikely"]
    gone = {"chosen_change": -0.3 * T, "rejected_change": -2.0 * T}
    assert found("dpo", **gone) == ["chosen answers become unlikely"]
    assert found("dpo", chosen_change=-0.05 * T) == []


def test_margins_that_are_too_large():
    assert found("dpo", held_out_loss=0.9 + 0 * T) == ["margins too large"]
    assert found("dpo", held_out_loss=0.6 + 0 * T) == []


def test_margins_beyond_all_doubt():
    assert found("dpo", margin=0.2 * T) == ["margins beyond all doubt"]
    assert found("dpo", margin=0.09 * T) == []


def test_a_beta_that_holds_nothing():
    loss = 0.45 + 0.24 * (T == 1)
    assert found("dpo", loss=loss) == ["β too small for the loss"]
    assert found("dpo", loss=loss, rejected_change=-0.1 * T) == []
