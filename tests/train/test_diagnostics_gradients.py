"""A run in which no weight can move says so."""

import logging

import pytest
import torch
from train.tiny_runs import tiny_data, tiny_model, tiny_trainer, weights

from mathlm.adapt import add_lora, trainable
from mathlm.errors import ConfigError, NonFiniteLossError
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.train import Trainer, TrainerConfig, next_token


def trainer_of(model, optimizer, **config):
    return Trainer(model, next_token, tiny_data(), optimizer, TrainerConfig(steps=2, **config))


def tiny_gpt():
    return GPT(GPTConfig(vocab_size=11, context=8, d_model=8, n_layers=1, n_heads=2))


def test_an_optimizer_made_before_the_adapter_holds_nothing_that_is_trained():
    model = tiny_gpt()
    optimizer = AdamW(model.parameters())
    trained = len(trainable(add_lora(model, 2)))
    text = rf"at step 1: of the {trained} trained parameters of the model it holds 0"
    with pytest.raises(ConfigError, match=text):
        trainer_of(model, optimizer).fit()


def test_an_optimizer_of_another_model_is_refused():
    model, before = tiny_model(), weights(tiny_model())
    with pytest.raises(ConfigError, match="no parameter of the optimizer has a gradient"):
        trainer_of(model, AdamW(tiny_model().parameters())).fit()
    assert torch.equal(weights(model), before)


def test_a_frozen_model_is_refused_in_a_sentence():
    model = tiny_model().requires_grad_(False)
    with pytest.raises(ConfigError, match=r"at step 1 depends on no trained parameter.* 0 of "):
        trainer_of(model, AdamW(model.parameters())).fit()


def test_a_loss_cut_from_the_model_is_refused():
    def cut(model, batch):
        loss, count = next_token(model, batch)
        return loss.detach(), count

    with pytest.raises(ConfigError, match=r"5 of the 5 parameters .* without no_grad"):
        tiny_trainer(objective=cut).fit()


def test_gradients_that_the_optimizer_does_not_use_do_not_pile_up():
    model = tiny_model()
    trainer_of(model, AdamW(model[4].parameters())).fit()
    assert all(p.grad is None for p in model.parameters())


def test_a_gradient_of_exactly_zero_is_said_once(caplog):
    def constant(model, batch):
        loss, count = next_token(model, batch)
        return 0 * loss, count

    with caplog.at_level(logging.WARNING):
        tiny_trainer(objective=constant, weight_decay=0.0).fit()
    said = [r.message for r in caplog.records if "exactly 0" in r.message]
    assert len(said) == 1
    assert said[0].startswith("the gradient of all 5 parameters is exactly 0 at step 1")


def test_a_run_that_learns_says_nothing_of_it(caplog):
    with caplog.at_level(logging.WARNING):
        tiny_trainer().fit()
    assert "exactly 0" not in caplog.text


def test_weights_whose_held_out_loss_is_not_finite_are_not_saved(tmp_path):
    """With weights of 1e300 the logits overflow after the first step."""
    batches = [tiny_data()(0)]
    options = {"schedule": lambda done: 1e300, "eval_every": 1, "held_out": batches}
    with pytest.raises(NonFiniteLossError, match=r"held-out loss after step 1 is (nan|inf)"):
        tiny_trainer(folder=tmp_path, save_every=1, **options).fit()
    assert not list(tmp_path.iterdir())
