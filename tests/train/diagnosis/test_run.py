"""A run is read off its record."""

import math

import numpy as np
import pytest

from mathlm.errors import ConfigError, InputError
from mathlm.train import run_history
from mathlm.train.diagnosis.run import Curve

ONE = [{"step": 1, "loss": 1.0}]
TUNING = {"class": "Tuning", "method": {}}


@pytest.mark.parametrize(("objective", "kind"), [
    ("mathlm.train.next_token", "pretrain"),
    ("mathlm.train.objectives.next_token", "pretrain"),
    (TUNING | {"objective": "mathlm.train.next_token"}, "sft"),
    (TUNING | {"objective": {"class": "L2SP"}}, "sft"),
    (TUNING | {"objective": {"class": "BradleyTerry"}}, "reward"),
    (TUNING | {"objective": {"class": "SimPO"}}, "dpo"),
    (TUNING | {"objective": {"class": "CorrectedGRPO"}}, "grpo"),
    (TUNING | {"objective": {"class": "PPO"}}, "ppo"),
])  # fmt: skip
def test_the_kind_is_that_of_the_objective(objective, kind):
    run = run_history({"history": ONE, "config": {"objective": objective}})
    assert run.kind == kind


def test_a_kind_that_is_not_known_is_asked_for():
    with pytest.raises(ConfigError, match=r"say --kind, one of pretrain, sft"):
        run_history({"history": ONE})
    assert run_history({"history": ONE}, "sft").kind == "sft"
    assert run_history({"history": ONE, "kind": "dpo"}).kind == "dpo"


def test_an_empty_history_is_refused():
    with pytest.raises(InputError, match="nothing to say before the first step"):
        run_history({"history": [], "kind": "sft"})


def test_a_record_of_the_trainer_gives_its_options():
    groups = {"class": "AdamW", "group 0": {"weight_decay": 0.1}, "group 1": {}}
    config = {"objective": "mathlm.train.next_token", "clip": 0.5, "optimizer": groups}
    config["model"] = {"vocab_size": 512}
    results = {"held_out_loss": 2.0, "bits_per_byte": 2.0 / math.log(2) / 4}
    run = run_history({"history": ONE, "config": config, "results": results})
    assert (run.vocab_size, run.clip, run.weight_decay, run.adam) == (512, 0.5, 0.1, True)
    assert run.bytes_per_target == pytest.approx(4.0)
    assert run.expected["loss"].because == "ln 512"


def kto(**weights):
    """First values of a run of KTO under these weights of its two sides."""
    objective = TUNING | {"objective": {"class": "KTO", "beta": 0.1} | weights}
    return run_history({"history": ONE, "config": {"objective": objective}}).expected


def test_the_first_loss_of_kto_is_half_the_weight_of_its_answers():
    """w sigmoid(0) for each answer; of two weights the shares of the batch decide."""
    assert kto()["loss"].value == 0.5
    assert kto(desirable_weight=3.0, undesirable_weight=3.0)["loss"].value == 1.5
    assert list(kto(desirable_weight=1.5, undesirable_weight=1.0)) == [
        "margin",
        "accuracy",
        "kl",
    ]


def test_words_and_checkpoints_are_read():
    record = {"kind": "grpo", "history": [{"step": 1, "loss": "nan"}]}
    record["parts"] = {"data": {"history": [{"iteration": 0, "kl": 0.5, "samples": []}]}}
    run = run_history(record)
    assert math.isnan(run.history[0]["loss"])
    assert not run.loss
    assert run.rollout("kl").values.tolist() == [0.5]


def test_a_curve_has_means_of_fifths():
    curve = Curve(np.arange(10), np.array([1.0, 3, 0, 0, 0, 0, 0, 0, 5, 7]))
    assert curve.shows_trends
    assert curve.fifths.tolist() == [2, 0, 0, 0, 6]
    assert (curve.first, curve.last) == (2, 6)
    assert curve.change_in_errors == pytest.approx(4 / math.sqrt(1 + 1))
