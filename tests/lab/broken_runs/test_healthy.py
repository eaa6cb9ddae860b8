"""The healthy runs begin where theory says."""

import math

import pytest
import torch

from lab.broken_runs import healthy
from lab.broken_runs.healthy import BYTES, END, near_twelve, text_of


@pytest.fixture(autouse=True)
def no_long_training(monkeypatch):
    """Models with new weights in place of those that have read plays; float32."""
    torch.set_default_dtype(torch.float32)
    for name in ("base", "tuned"):
        monkeypatch.setattr(healthy, name, lambda seed: healthy.new_model(seed))


def first_loss(setup):
    loss, count = setup.objective(setup.model, setup.data(0))
    return loss.item() / count


def test_pretraining_begins_at_a_uniform_guess():
    assert first_loss(healthy.pretraining(0)) == pytest.approx(math.log(256), abs=0.2)


@pytest.mark.parametrize("make", [healthy.preferences, healthy.rewarding])
def test_equal_answers_cost_log_2(make):
    setup = make(0)
    assert first_loss(setup) == pytest.approx(math.log(2), abs=1e-5)
    assert setup.metrics(setup.model)["accuracy"] == 0.5


def test_a_policy_begins_as_its_reference():
    setup = healthy.policy(0, iterations=1)
    setup.data(0)
    (record,) = setup.data.history
    assert record["kl"] == pytest.approx(0, abs=1e-4)


def test_no_question_is_learned_and_held_out():
    learned, out = (healthy.pairs(which) for which in (True, False))
    assert len(learned) > 300
    assert len(out) > 30
    assert all(p.rejected == p.chosen.upper() != p.chosen for p in learned)
    assert healthy.pairs(True, swapped=True)[0].chosen == learned[0].rejected


def test_a_reward_is_the_distance_from_twelve_letters():
    assert near_twelve(None, ["", "a" * 12, "a" * 18]) == [-1.0, 0.0, -0.5]


def test_marks_are_no_text():
    assert text_of(torch.tensor([*BYTES.encode("hi"), END])) == "hi"
