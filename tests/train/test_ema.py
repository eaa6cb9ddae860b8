"""The running mean of the weights."""

import pytest
import torch
from torch import nn
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer, weights

from mathlm.errors import ConfigError
from mathlm.train import Averages, load_checkpoint


def means(trainer):
    """The running means as one vector."""
    return nn.utils.parameters_to_vector(trainer.averages.values.values())


def test_the_mean_is_the_sum_over_all_weights_so_far():
    """θ̄ = dᵗ θ₀ + (1 - d) Σ dᵗ⁻ˢ θₛ, summed up directly."""
    trainer, d = tiny_trainer(ema=0.7, steps=5), 0.7
    past = [weights(trainer.model)]
    while trainer.step < 5:
        trainer.train_step()
        past.append(weights(trainer.model))
    share = [d**5] + [(1 - d) * d ** (5 - s) for s in range(1, 6)]
    assert sum(share) == pytest.approx(1)
    expected = sum(c * w for c, w in zip(share, past, strict=True))
    torch.testing.assert_close(means(trainer), expected, rtol=1e-12, atol=1e-15)


def test_means_of_three_steps_by_hand():
    """From 0 with d = 1/2 and weights 8, 8, 8: 4, 6, 7."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    averages, seen = Averages(model, 0.5), []
    nn.init.constant_(model.weight, 8.0)
    for _ in range(3):
        averages.update()
        seen.append(averages.values["weight"].item())
    assert seen == [4.0, 6.0, 7.0]


def test_the_mean_begins_at_the_weights_with_which_the_run_begins():
    """After one step from weights that came after the trainer: d θ₀ + (1 - d) θ₁."""
    trainer = tiny_trainer(ema=0.75, steps=1)
    trainer.model.load_state_dict(tiny_model(seed=9).state_dict())
    before = weights(trainer.model)
    trainer.fit()
    expected = 0.75 * before + 0.25 * weights(trainer.model)
    torch.testing.assert_close(means(trainer), expected, rtol=1e-12, atol=1e-15)


def test_training_does_not_depend_on_the_mean():
    plain, averaged = tiny_trainer(), tiny_trainer(ema=0.9, held_out=tiny_data(), eval_every=2)
    plain.fit()
    averaged.fit()
    assert torch.equal(weights(plain.model), weights(averaged.model))


def test_the_mean_is_evaluated_beside_the_weights():
    trainer = tiny_trainer(ema=0.9, held_out=tiny_data(), steps=3)
    record = trainer.fit()[-1]
    other = tiny_trainer(held_out=tiny_data())
    nn.utils.vector_to_parameters(means(trainer), other.model.parameters())
    assert record["held_out_loss_ema"] == other.evaluate()
    assert record["held_out_loss"] == trainer.evaluate()
    assert record["held_out_loss_ema"] != record["held_out_loss"]


def test_the_weights_come_back_even_after_an_error():
    trainer = tiny_trainer(ema=0.9, steps=2)
    trainer.fit()
    own = weights(trainer.model)
    trainer.held_out = [{"ids": tiny_data()(0)["ids"]}]
    with pytest.raises(KeyError, match="targets"):
        trainer.evaluate_averages()
    assert torch.equal(weights(trainer.model), own)


@pytest.mark.parametrize("at", [1, 4])
def test_a_resumed_run_has_the_means_of_the_unbroken_one(tmp_path, at):
    shared = {"ema": 0.8, "steps": 6, "held_out": tiny_data(), "eval_every": 2}
    straight = tiny_trainer(**shared)
    straight.fit()
    tiny_trainer(folder=tmp_path, save_every=1, keep=None, **shared).fit()
    again = tiny_trainer(**shared)
    again.resume(tmp_path / f"step_{at:06d}")
    again.fit()
    assert again.history == straight.history
    assert torch.equal(means(again), means(straight))


def test_a_run_without_means_may_go_on_with_them(tmp_path):
    tiny_trainer(folder=tmp_path, steps=3).fit()
    again = tiny_trainer(tiny_model(seed=9), folder=tmp_path, ema=0.8)
    with pytest.raises(ValueError, match=r"ema was None, is 0.8"):
        again.resume()
    again.resume(allow_change=True)
    assert torch.equal(means(again), weights(again.model))


def test_the_weights_of_a_run_with_means_load_alone(tmp_path):
    trainer = tiny_trainer(folder=tmp_path, steps=3, ema=0.5)
    trainer.fit()
    model = tiny_model(seed=9)
    load_checkpoint(tmp_path, model)
    assert torch.equal(weights(model), weights(trainer.model))


def test_a_tied_weight_has_one_mean():
    model = nn.Sequential(nn.Embedding(11, 6), nn.Linear(6, 11, bias=False))
    model[1].weight = model[0].weight
    averages = Averages(model, 0.5)
    assert list(averages.values) == ["0.weight"]
    with torch.no_grad():
        model[0].weight += 1
    averages.update()
    own = model[0].weight.detach().clone()
    with averages.swapped():
        torch.testing.assert_close(model[1].weight, own - 0.5, rtol=1e-12, atol=1e-12)
    assert torch.equal(model[1].weight, own)


def test_means_of_16_bits_do_not_stand_still():
    """1 + 0.001 · 256 steps of a weight at 2: in bfloat16 the step 0.001 is lost each time."""
    model = nn.Linear(1, 1, bias=False).bfloat16()
    nn.init.ones_(model.weight)
    averages = Averages(model, 0.999)
    nn.init.constant_(model.weight, 2.0)
    for _ in range(256):
        averages.update()
    assert averages.values["weight"].item() == pytest.approx(2 - 0.999**256, rel=1e-4)


@pytest.mark.parametrize("decay", [0.0, 1.0, -0.1])
def test_a_decay_outside_its_range_is_refused(decay):
    with pytest.raises(ConfigError, match=rf"ema={decay} must lie between 0 and 1"):
        tiny_trainer(ema=decay)


def test_without_a_mean_there_is_nothing_to_evaluate():
    with pytest.raises(ConfigError, match="no running mean to evaluate: ema is None"):
        tiny_trainer(held_out=tiny_data()).evaluate_averages()
