"""Checkpoints and averages of a model of which a part is frozen."""

import pytest
import torch
from train.tiny_runs import tiny_model, tiny_trainer, weights

from mathlm.errors import CheckpointMismatchError
from mathlm.models.files.weights import read_tensors
from mathlm.optim import AdamW
from mathlm.train import Trainer, checkpoints, load_checkpoint, save_checkpoint


def tuned(seed=1, part=4, **config):
    """A trainer of one layer of a model, the optimizer over its parameters alone."""
    model = tiny_model(seed).requires_grad_(False)
    model[part].requires_grad_(True)
    trainer = tiny_trainer(model, **config)
    own = AdamW([p for p in model.parameters() if p.requires_grad], lr=0.01)
    return Trainer(model, trainer.objective, trainer.data, own, trainer.config)


def test_a_checkpoint_holds_what_is_trained(tmp_path):
    tuned(folder=tmp_path, steps=2).fit()
    held = read_tensors(checkpoints(tmp_path)[-1] / "model.safetensors")
    assert list(held) == ["4.bias", "4.weight"]


@pytest.mark.parametrize("ema", [None, 0.5])
def test_a_resumed_run_equals_the_unbroken_one_bit_for_bit(tmp_path, ema):
    straight, again = tuned(ema=ema), tuned(ema=ema, folder=tmp_path)
    straight.fit()
    tuned(folder=tmp_path, steps=3, ema=ema).fit()
    assert again.resume() == 3
    again.fit()
    assert again.history == straight.history
    assert torch.equal(weights(again.model), weights(straight.model))


def test_frozen_weights_stay_as_they_are():
    trainer = tuned()
    before = weights(trainer.model[:4])
    trainer.fit()
    assert torch.equal(weights(trainer.model[:4]), before)
    assert not torch.equal(weights(trainer.model[4]), weights(tiny_model()[4]))


def test_a_model_with_other_frozen_weights_is_refused_and_stays(tmp_path):
    tuned(folder=tmp_path, steps=2).fit()
    other = tuned(seed=2, folder=tmp_path)
    before = weights(other.model)
    with pytest.raises(CheckpointMismatchError, match=r"the other 3 of this model are not"):
        other.resume()
    assert torch.equal(weights(other.model), before)


def test_one_changed_bit_of_a_frozen_weight_is_noticed(tmp_path):
    trainer = tuned(folder=tmp_path, steps=2)
    trainer.fit()
    with torch.no_grad():
        trainer.model[0].weight[0, 0] = torch.nextafter(
            trainer.model[0].weight[0, 0], torch.tensor(9.0)
        )
    with pytest.raises(CheckpointMismatchError, match="are not those that were frozen"):
        load_checkpoint(tmp_path, trainer.model)


def test_the_same_model_takes_it_whatever_it_trains_now(tmp_path):
    trainer = tuned(folder=tmp_path, steps=2)
    trainer.fit()
    model = tiny_model()
    load_checkpoint(tmp_path, model)
    assert torch.equal(weights(model), weights(trainer.model))


def test_a_model_that_is_not_trained_at_all_is_held_whole(tmp_path):
    model, other = tiny_model().requires_grad_(False), tiny_model(seed=2)
    save_checkpoint(tmp_path, 0, model)
    load_checkpoint(tmp_path, other)
    assert torch.equal(weights(other), weights(model))


def test_a_whole_checkpoint_is_read_into_a_model_that_is_frozen_in_part(tmp_path):
    model, other = tiny_model(), tuned(seed=2).model
    save_checkpoint(tmp_path, 0, model)
    load_checkpoint(tmp_path, other)
    assert torch.equal(weights(other), weights(model))


def test_frozen_weights_have_no_mean():
    assert list(tuned(ema=0.5).averages.values) == ["4.weight", "4.bias"]
