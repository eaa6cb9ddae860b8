"""Ending a run where the held-out loss was least."""

import pytest
import torch
from torch import nn
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer, weights

from mathlm.errors import ConfigError
from mathlm.train import checkpoints
from mathlm.train.early_stopping import Best

OTHER = [(i * i * i + 5) % 11 for i in range(120)]  # what the runs get worse at


def patient(patience=2, steps=40, **options):
    options = {"eval_every": 1, "held_out": tiny_data(ids=OTHER)} | options
    return tiny_trainer(steps=steps, patience=patience, **options)


def held_out(trainer):
    return {r["step"]: r["held_out_loss"] for r in trainer.history if "held_out_loss" in r}


def judged_by(losses, **options):
    """A trainer whose evaluations find these losses, and the weights after each step."""
    trainer, seen = patient(patience=2, **options), []
    trainer.evaluate = lambda: seen.append(weights(trainer.model)) or losses[len(seen) - 1]
    return trainer, seen


def test_the_run_ends_when_patience_does_with_the_best_weights():
    """5 4 3 3.5 3 2: equal is not better, so two evaluations after the third it ends."""
    trainer, seen = judged_by([5.0, 4.0, 3.0, 3.5, 3.0, 2.0])
    trainer.fit()
    assert (trainer.step, trainer.best.step, len(seen)) == (5, 3, 5)
    assert torch.equal(weights(trainer.model), seen[2])


def test_a_new_best_renews_patience():
    trainer, seen = judged_by([5.0, 6.0, 4.0, 6.0, 3.0, 6.0, 7.0, 1.0])
    trainer.fit()
    assert trainer.step == 7
    assert torch.equal(weights(trainer.model), seen[4])


def test_nan_is_never_best():
    trainer, seen = judged_by([5.0, float("nan"), 6.0])
    trainer.fit()
    assert torch.equal(weights(trainer.model), seen[0])


def test_a_held_out_loss_that_is_not_finite_is_saved_with_the_run(tmp_path):
    """Evaluations of 5, ∞, ∞: the run ends with the first weights, and so does its folder."""
    trainer, seen = judged_by([5.0, float("inf"), float("inf")], folder=tmp_path)
    trainer.fit()
    again = patient(folder=tmp_path)
    assert again.resume() == 3
    again.fit()
    assert held_out(again) == {1: 5.0, 2: float("inf"), 3: float("inf")}
    assert torch.equal(weights(again.model), seen[0])


def test_a_run_that_only_gets_worse_ends_early_and_as_good_as_it_was():
    trainer = patient()
    trainer.fit()
    losses = held_out(trainer)
    assert trainer.step < 40
    assert trainer.evaluate() == min(losses.values()) < losses[trainer.step]


def test_a_run_that_uses_all_steps_ends_with_its_best_weights_too():
    trainer = patient(patience=30, steps=12)
    trainer.fit()
    assert trainer.step == 12
    assert trainer.evaluate() == min(held_out(trainer).values()) < held_out(trainer)[12]


def test_training_is_the_same_up_to_the_end():
    trainer, free = patient(patience=2), patient(patience=30)
    trainer.fit()
    free.fit()
    assert free.history[: len(trainer.history)] == trainer.history


@pytest.mark.parametrize("at", [1, 3, 5])
def test_a_resumed_run_ends_as_the_unbroken_one(tmp_path, at):
    straight = patient()
    straight.fit()
    patient(folder=tmp_path, save_every=1, keep=None).fit()
    again = patient()
    again.resume(tmp_path / f"step_{at:06d}")
    again.fit()
    assert again.history == straight.history
    assert torch.equal(weights(again.model), weights(straight.model))


def test_a_run_that_has_ended_stays_ended(tmp_path):
    first = patient(folder=tmp_path)
    first.fit()
    again = patient(folder=tmp_path)
    assert again.resume() == first.step
    again.fit()
    assert again.step == first.step
    assert torch.equal(weights(again.model), weights(first.model))


def test_more_patience_goes_on_from_the_last_weights(tmp_path):
    patient(folder=tmp_path).fit()
    longer, free = patient(patience=5, folder=tmp_path), patient(patience=5)
    longer.resume()
    longer.fit()
    free.fit()
    assert longer.history == free.history
    assert torch.equal(weights(longer.model), weights(free.model))


def test_the_last_step_of_an_early_end_is_saved(tmp_path):
    trainer = patient(folder=tmp_path, save_every=100)
    trainer.fit()
    assert [path.name for path in checkpoints(tmp_path)] == [f"step_{trainer.step:06d}"]


def test_only_what_is_trained_is_kept():
    model = tiny_model()
    model[0].requires_grad_(False)
    assert list(Best(model, 1).values) == ["1.weight", "1.bias", "4.weight", "4.bias"]


def test_running_statistics_belong_to_what_is_trained():
    model = nn.Sequential(nn.BatchNorm1d(3), nn.BatchNorm1d(3).requires_grad_(False))
    best = Best(model, 1)
    best.consider(1.0, 1)
    mean = model[0].running_mean.clone()
    model(torch.randn(8, 3))
    best.restore(2)
    assert torch.equal(model[0].running_mean, mean)
    assert not any(name.startswith("1.") for name in best.values)


def test_patience_without_evaluations_is_refused():
    with pytest.raises(ConfigError, match=r"patience=2 counts evaluations"):
        patient(eval_every=None)
    with pytest.raises(ConfigError, match=r"patience=2 needs held-out batches"):
        patient(held_out=None)
    with pytest.raises(ConfigError, match=r"patience=0 must be positive"):
        patient(patience=0)
