"""Grokking: what is measured, the step from which it holds, and runs that repeat themselves."""

import json

import numpy as np
import pytest
import torch

from lab.explanations.grokking import GrokkingConfig, GrokkingRun, logits, measured, train
from lab.explanations.grokking_study import main
from lab.explanations.modular_addition import addition_table, fourier_adder
from mathlm.errors import ConfigError

TINY = {"modulus": 11, "width": 24, "steps": 150, "every": 50}


def test_known_weights_add_every_pair_and_are_pure():
    weights = [torch.from_numpy(w) for w in fourier_adder(11, np.array([2, 3]))]
    table, sums = (torch.from_numpy(part) for part in addition_table(11))
    row = measured(weights, table, sums, torch.arange(60), torch.arange(60, 121))
    assert (row["train"], row["test"]) == (1, 1)
    assert row["purity"] == pytest.approx(1)


def test_logits_by_hand():
    u, v, w = (
        torch.tensor([[1.0, 2.0]]),
        torch.tensor([[0.0, -1.0]]),
        torch.tensor([[3.0], [5.0]]),
    )
    assert logits([u, v, w], torch.tensor([[0, 0]])).tolist() == [[8.0]]


def test_a_step_counts_once_the_curve_stays_up():
    curves = {"step": [0, 5, 10, 15], "test": [0.1, 0.9, 0.2, 0.9]}
    run = GrokkingRun(GrokkingConfig(), curves, np.ones(1), np.ones(1))
    assert run.step_at("test", 0.5) == 15
    assert run.step_at("test", 0.05) == 0
    assert run.step_at("test", 0.95) is None


def test_training_pairs_are_learned_by_heart_first():
    run = train(GrokkingConfig(**TINY, decay=0))
    assert run.curves["train"][-1] == 1
    assert run.curves["test"][-1] < 0.5


def test_a_run_is_repeated_by_its_seed():
    first, second = (train(GrokkingConfig(**TINY)) for _ in range(2))
    assert first.curves == second.curves
    assert not np.array_equal(first.first, first.last)


@pytest.mark.slow
def test_with_decay_addition_is_understood_long_after_and_without_it_never():
    with_decay, without = (train(GrokkingConfig(decay=decay)) for decay in (0.8, 0))
    known, added = with_decay.step_at("train", 0.99), with_decay.step_at("test", 0.9)
    assert 4 * known <= added
    assert without.step_at("train", 0.99) <= known
    assert without.curves["test"][-1] < 0.1
    assert with_decay.curves["purity"][-1] > 3 * with_decay.curves["purity"][0]


def test_the_study_writes_what_it_found(tmp_path):
    main(["--steps", "30", "--decay", "0.5", "--record", str(tmp_path / "g.json")])
    [found] = json.loads((tmp_path / "g.json").read_text())["results"]
    assert found["curves"]["step"] == [0, 25]


@pytest.mark.parametrize(
    ("wrong", "words"),
    [({"modulus": 8}, "odd"), ({"share": 1}, "share=1"), ({"decay": -1}, "negative")],
    ids=["modulus", "share", "decay"],
)
def test_careless_configurations_are_named(wrong, words):
    with pytest.raises(ConfigError, match=words):
        GrokkingConfig(**wrong)
