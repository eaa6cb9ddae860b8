"""Faults that gradient, step size and precision show, written by hand."""

import math

from train.diagnosis.written_runs import HEALTHY, NOISE, T, found, written

from mathlm.train import diagnose, run_history

RATE = HEALTHY["pretrain"]["lr"]


def with_optimizer(**group):
    return {"config": {"optimizer": {"class": "AdamW", "group 0": group}}}


def test_a_gradient_that_is_zero():
    assert found("pretrain", grad_norm=0.5 * (T % 5 > 0)) == ["gradient is zero"]
    assert found("pretrain", grad_norm=0.5 * (T != 7)) == []


def test_a_gradient_that_adds_up():
    assert found("pretrain", grad_norm=0.5 * T) == ["gradient grows"]
    assert found("pretrain", grad_norm=0.5 + 0.02 * (T - 1)) == []  # nine times
    assert found("pretrain", grad_norm=0.5 + 0.04 * (T - 1)) == ["gradient grows"]


def test_a_gradient_that_is_always_clipped():
    assert found("pretrain", grad_norm=20 + NOISE) == ["clipped at every step"]
    assert found("pretrain", grad_norm=5 + NOISE) == []
    assert found("pretrain", grad_norm=20 + NOISE, more={"clip": None}) == []


def test_a_schedule_that_ended():
    assert found("pretrain", lr=RATE * (T < 100)) == ["step size is zero"]
    assert found("pretrain", lr=0 * T) == ["step size is zero"]
    assert found("pretrain", lr=RATE * (T < 190)) == []


def test_the_step_at_which_a_schedule_ended_comes_after_its_warm_up():
    """From 0 at step 1; 150 of 200 steps."""
    rates = RATE * ((T > 1) & (T <= 150))
    run = run_history(written("sft", lr=rates))
    (finding,) = [f for f in diagnose(run) if f.name == "step size is zero"]
    assert finding.seen.startswith("From step 151 on")


def test_no_warm_up():
    assert found("pretrain", lr=3e-3 + 0 * T) == ["no warm-up"]
    assert found("sft", lr=3e-3 + 0 * T) == []


def test_a_step_size_that_is_no_part_of_a_weight():
    more = with_optimizer(weight_decay=0.0)
    assert found("pretrain", lr=100 * RATE, more=more) == ["step size too large for Adam"]
    assert found("pretrain", lr=10 * RATE, more=more) == []
    assert found("pretrain", lr=100 * RATE) == []


def test_a_decay_that_forgets():
    assert found("pretrain", more=with_optimizer(weight_decay=0.1)) == []
    strong = with_optimizer(weight_decay=10.0)
    assert found("pretrain", more=strong) == ["weight decay too strong"]
    for steps, names in ((150, []), (70, ["weight decay too strong"])):
        halving = with_optimizer(weight_decay=math.log(2) / 3e-3 / steps)
        assert found("pretrain", more=halving) == names


def test_steps_that_were_skipped():
    assert found("pretrain", skipped=(T % 10 == 0)) == ["many skipped steps"]
    assert found("pretrain", skipped=(T < 6)) == []
