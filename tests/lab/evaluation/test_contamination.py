"""The world of questions, its honest ceiling, and what the two measures read off a model."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lab.evaluation import contamination as c


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


class Table(nn.Module):
    """Prefers, after each prefix, the token that a list of rows has there."""

    def __init__(self, rows):
        super().__init__()
        self.known = {tuple(r[:i]): r[i] for r in rows.tolist() for i in range(1, 10)}

    def forward(self, ids):
        logits = torch.zeros(*ids.shape, c.EQUALS + 1)
        for n, row in enumerate(ids.tolist()):
            for i in range(len(row)):
                if (token := self.known.get(tuple(row[: i + 1]))) is not None:
                    logits[n, i, token] = 5.0
        return logits


class Rule(nn.Module):
    """Answers with the class that the first letter points at."""

    def forward(self, ids):
        logits = torch.zeros(*ids.shape, c.EQUALS + 1)
        pointed = c.LETTERS + ids[:, 0] % c.CLASSES
        logits[torch.arange(len(ids)), -1, pointed] = 1.0
        return logits


def test_a_row_is_a_question_with_its_answer():
    found = c.world(0)
    assert [len(part) for part in found] == [c.SOURCE, c.TEST, c.FRESH]
    rows = np.concatenate(found)
    assert len({tuple(r[:3]) for r in rows}) == len(rows)  # no name stands twice
    assert (np.sort(rows[:, 4:8], axis=1) == c.LETTERS + np.arange(4)).all()
    assert set(rows[:, 3]) == {c.ASKS}
    assert set(rows[:, 8]) == {c.EQUALS}
    assert rows[:, 9].min() >= c.LETTERS
    assert rows[:, 9].max() < c.ASKS


def test_the_rule_is_right_as_often_as_it_says():
    share = np.mean([c.right(Rule(), c.world(seed).fresh).mean() for seed in range(9)])
    assert share == pytest.approx(c.RULE, abs=0.02)  # 9,000 questions, deviation 0.005


def test_the_order_says_nothing_of_the_answer():
    rows = np.concatenate(c.world(0))
    place = (rows[:, 4:8] == rows[:, 9:]).argmax(1)
    assert np.bincount(place) == pytest.approx(np.full(4, 550), abs=85)


def test_who_knows_the_rows_is_right_and_finds_their_order_likeliest():
    found = c.world(0)
    model = Table(found.test)
    assert c.right(model, found.test[:40]).all()
    assert (c.order_ranks(model, found.test[:40]) == 0).all()


def test_every_rank_of_rows_that_nobody_read_is_as_likely():
    torch.manual_seed(0)
    shape = {"d_model": 16, "n_layers": 1, "n_heads": 2, "context": 10}
    model = c.GPT(c.GPTConfig(vocab_size=c.EQUALS + 1, **shape))
    ranks = c.order_ranks(model, c.world(0).fresh)
    assert ranks.min() == 0
    assert ranks.max() == 23
    assert (ranks == 0).mean() == pytest.approx(1 / 24, abs=0.02)


def test_the_text_has_the_test_as_often_as_it_was_told(monkeypatch):
    read = []

    def note(count, size, generator):
        read.append(count)
        raise StopIteration

    monkeypatch.setattr(torch, "randint", note)
    for copies in (0, 4):
        with pytest.raises(StopIteration):
            c.train(c.world(0), copies, seed=0)
    assert read == [c.SOURCE, c.SOURCE + 4 * c.TEST]


@pytest.mark.slow
def test_a_test_that_is_read_often_is_known():
    found = c.world(0)
    model = c.train(found, 40, seed=0, steps=300)
    assert c.right(model, found.test).mean() > 0.75


@pytest.mark.slow
def test_the_record_is_what_the_training_gives():
    """One run of twelve; other processors round otherwise, and a run may part from it."""
    record = Path(c.__file__).parents[2] / "results/evaluation-contamination.json"
    runs = json.loads(record.read_text(encoding="utf-8"))["runs"]
    (kept,) = (run for run in runs if (run["copies"], run["seed"]) == (4, 0))
    found = c.measure(4, seed=0)
    assert found.keys() == kept.keys()
    for name in ("likelihood", "min-k"):
        assert found[name] == pytest.approx(kept[name], abs=0.06)  # three of its errors
    assert found["first"] == pytest.approx(kept["first"], abs=13)  # three deviations of 20
