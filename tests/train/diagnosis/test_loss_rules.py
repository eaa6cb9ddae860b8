"""Faults that the loss shows, written by hand."""

import math

import numpy as np
import pytest
from train.diagnosis.written_runs import HEALTHY, NOISE, T, found

LOSS = HEALTHY["pretrain"]["loss"]


@pytest.mark.parametrize("kind", [*HEALTHY])
def test_nothing_is_found_in_a_healthy_run(kind):
    assert found(kind) == []


@pytest.mark.parametrize("name", ["loss", "grad_norm", "held_out_loss"])
def test_what_is_not_finite(name):
    column = np.where(T == 150, np.nan, 1.0)
    assert "not finite" in found("pretrain", **{name: column})


def test_the_first_loss_of_a_new_model():
    assert found("pretrain", loss=LOSS + 3 * (T == 1)) == ["first loss too high"]
    assert found("pretrain", loss=LOSS - 1 * (T == 1)) == ["first loss too low"]
    assert found("pretrain", loss=LOSS + 0.9 * (T == 1)) == []


def test_a_base_that_knows_nothing():
    loss = HEALTHY["sft"]["loss"]
    assert found("sft", loss=loss + 3 * (T < 20)) == ["base knows nothing"]
    assert found("sft", loss=loss + 2 * np.exp(-T / 10)) == []


@pytest.mark.parametrize("kind", ["dpo", "reward"])
def test_a_first_loss_that_is_not_of_equal_answers(kind):
    loss = HEALTHY[kind]["loss"]
    for shift in (-0.06, 0.06):
        moved = found(kind, loss=loss + shift * (T == 1))
        assert moved == ["first loss not that of equal answers"]
    assert found(kind, loss=loss + 0.02 * (T == 1)) == []


def test_a_loss_that_no_text_has():
    low = 0.1 + (math.log(256) - 0.1) * np.exp(-(T - 1) / 20)
    assert found("pretrain", loss=low) == ["too good to be true"]
    more = {"results": {"held_out_loss": 2.0, "bits_per_byte": 2.0 / math.log(2) / 8}}
    assert found("pretrain", more=more) == ["too good to be true"]


def test_a_memorized_text_is_no_leak():
    low = 0.1 + (math.log(256) - 0.1) * np.exp(-(T - 1) / 20)
    held_out = 3 + (T / 100 - 1) ** 2
    assert found("pretrain", loss=low, held_out_loss=held_out) == ["held-out loss rises"]


def test_training_far_below_held_out():
    held_out = 5.0 + np.exp(-T / 40)
    assert found("pretrain", held_out_loss=held_out) == ["held-out loss above training loss"]
    assert found("pretrain", held_out_loss=LOSS + 0.1) == []


def test_a_loss_that_stays_where_it_began():
    for kind, start in (("pretrain", math.log(256)), ("sft", 3.0)):
        assert found(kind, loss=start + NOISE) == ["loss flat"]
    assert found("sft", loss=3.0 - 0.0006 * T) == []  # a thirtieth
    stuck = math.log(2) + 0 * T  # whatever the answers did
    assert found("dpo", loss=stuck) == ["loss stuck where it began"]
    assert found("reward", loss=stuck + 0.1 * NOISE) == ["loss stuck where it began"]


def test_a_plateau_at_the_frequencies():
    plateau = 3.3 + (math.log(256) - 3.3) * np.exp(-(T - 1) / 10)
    assert found("pretrain", loss=plateau) == ["plateau at the frequencies"]
    assert found("pretrain", loss=plateau - 0.002 * T) == []  # a tenth since the second fifth


def test_a_loss_that_rises_again():
    assert found("pretrain", loss=LOSS + 2 * (T > 120)) == ["loss rises"]
    rising = HEALTHY["reward"]["loss"] + 0.3 * (T > 120)
    assert found("reward", loss=rising) == ["loss rises"]


def test_a_spike():
    assert found("pretrain", loss=LOSS + 2 * (T == 120)) == ["loss spike"]
    assert found("pretrain", loss=LOSS + 0.3 * (T == 120)) == []  # a seventh of the loss
    noisy = LOSS + 0.3 * np.sin(40 * T)
    assert found("pretrain", loss=noisy + 0.9 * (T == 120)) == []  # three deviations


def test_a_short_run_shows_no_trend():
    few = {name: column[:9] for name, column in HEALTHY["sft"].items()}
    assert found("sft", **few | {"loss": np.full(9, 3.0)}) == []
