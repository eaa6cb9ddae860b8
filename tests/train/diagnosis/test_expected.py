"""First values, by definition."""

import math

import pytest

from mathlm.errors import InputError
from mathlm.train import expected_first
from mathlm.train.diagnosis.expected import KINDS, loss_name


def test_a_new_model_guesses_uniformly():
    first = expected_first("pretrain", vocab_size=50257)["loss"]
    assert first.value == pytest.approx(10.8249, abs=1e-4)
    assert first.because == "ln 50257"
    assert expected_first("pretrain") == {}


def test_a_comparison_of_equals_costs_log_2():
    assert expected_first("reward")["loss"].value == pytest.approx(-math.log(0.5))
    shifted = expected_first("reward", margin=1)["loss"].value
    assert shifted == pytest.approx(-math.log(1 / (1 + math.e)))


@pytest.mark.parametrize(("loss", "beta", "value"), [
    ("dpo", 0.1, math.log(2)), ("robust", 0.1, math.log(2)), ("ipo", 0.1, 25.0),
    ("ipo", 0.5, 1.0), ("hinge", 0.1, 1.0), ("kto", 0.1, 0.5),
])  # fmt: skip
def test_the_loss_of_equal_answers(loss, beta, value):
    first = expected_first("dpo", loss=loss, beta=beta)
    assert first["loss"].value == pytest.approx(value)
    assert (first["margin"].value, first["accuracy"].value, first["kl"].value) == (0, 0.5, 0)


def test_nothing_is_known_where_no_reference_is():
    assert expected_first("dpo", loss="simpo") == expected_first("sft") == {}


def test_a_policy_begins_as_the_one_that_wrote():
    for kind in ("grpo", "ppo"):
        first = expected_first(kind)
        assert (first["ratio"].value, first["kl"].value) == (1.0, 0.0)


def test_an_unknown_kind_is_refused(unchecked):
    with pytest.raises(InputError, match="kind='rlhf' is none of pretrain, sft"):
        expected_first("rlhf")
    assert len(KINDS) == 6


def test_classes_have_the_names_of_the_options():
    names = ("DPO", "RobustDPO", "LengthNormalizedDPO", "IPO", "SimPO")
    options = [loss_name({"class": name}) for name in names]
    assert options == ["dpo", "robust", "length-normalized", "ipo", "simpo"]
