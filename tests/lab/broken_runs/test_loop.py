"""The loop of one's own, on a weight that can be followed by hand."""

import math

import pytest
import torch
from torch import nn

from lab.broken_runs.loop import Setup, fit, run


def squares(model, batch):
    """½ (w x)² summed over the batch; its gradient in w is w x²."""
    return (model(batch["x"]) ** 2).sum() / 2, len(batch["x"])


def weight(value=2.0):
    model = nn.Linear(1, 1, bias=False)
    nn.init.constant_(model.weight, value)
    return model


def setup(**changes):
    batch = {"x": torch.ones(4, 1)}
    usual = {"kind": "sft", "model": weight(), "objective": squares, "steps": 5, "warmup": 1}
    usual |= {"data": lambda step: batch, "log_every": 1, "clip": None}
    return Setup(**usual | changes)


def still(step):
    return 0.0


def test_a_history_has_losses_norms_and_step_sizes():
    history = fit(setup(schedule=still))
    assert [entry["step"] for entry in history] == [1, 2, 3, 4, 5]
    assert {(e["loss"], e["grad_norm"], e["lr"]) for e in history} == {(2.0, 2.0, 0.0)}


def test_gradients_add_up_if_nobody_sets_them_to_zero():
    history = fit(setup(schedule=still, zero_grad=False))
    assert [entry["grad_norm"] for entry in history] == [2, 4, 6, 8, 10]


def test_an_optimizer_of_a_copy_moves_the_copy():
    model, copy = weight(), weight()
    fit(setup(model=model, optimized=copy))
    assert model.weight.item() == 2.0
    assert fit(setup())[-1]["loss"] < 2.0


def test_a_loss_that_is_not_finite_ends_the_run():
    history = fit(setup(model=weight(math.inf)))
    assert len(history) == 1
    assert not math.isfinite(history[0]["loss"])


def test_the_held_out_loss_stands_at_its_steps():
    batches = [{"x": torch.ones(1, 1)}, {"x": torch.zeros(3, 1)}]
    history = fit(setup(schedule=still, held_out=batches, eval_every=2))
    assert [entry.get("held_out_loss") for entry in history] == [None, 0.5, None, 0.5, 0.5]


@pytest.mark.parametrize(("stays_on", "seen"), [(False, {False}), (True, {True})])
def test_dropout_is_off_at_evaluation_unless_it_is_forgotten(stays_on, seen):
    modes = set()

    def look(model):
        modes.add(model.training)
        return {}

    held_out = [{"x": torch.ones(1, 1)}]
    fit(setup(held_out=held_out, metrics=look, evaluated_in_training=stays_on))
    assert modes == seen


def test_a_record_is_one_that_is_diagnosed():
    record = run(setup(weight_decay=0.5, more={"objective": {"class": "DPO"}}))
    assert record["config"]["optimizer"]["group 0"] == {"weight_decay": 0.5}
    assert record["config"]["objective"] == {"class": "DPO"}
    assert len(record["history"]) == 5
