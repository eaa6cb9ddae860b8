"""Runs with every optimizer: stopped, written to disk and resumed."""

import pytest
import torch
from torch import nn
from train.tiny_runs import tiny_data, weights

from mathlm.errors import CheckpointMismatchError
from mathlm.optim import (
    SGD,
    Adam,
    AdamEpsilonHat,
    Muon,
    RMSProp,
    cosine_restarts,
    linear_decay,
    step_decay,
    warmup,
)
from mathlm.train import Trainer, TrainerConfig, next_token

MAKERS = {
    "SGD": lambda p: SGD(p, lr=0.1),
    "momentum": lambda p: SGD(p, lr=0.1, momentum=0.9, averaged=True, weight_decay=0.01),
    "nesterov": lambda p: SGD(p, lr=0.1, momentum=0.9, nesterov=True, fused=False),
    "RMSProp": lambda p: RMSProp(p, lr=0.01),
    "Adam": lambda p: Adam(p, lr=0.01, betas=(0.8, 0.95), weight_decay=0.01),
    "epsilon-hat": lambda p: AdamEpsilonHat(p, lr=0.01),
    "Adafactor of torch": lambda p: torch.optim.Adafactor(p, lr=0.05),
    "Muon": lambda p: Muon(p, lr=0.05),
    "Muon in lines": lambda p: Muon(p, lr=0.05, fused=False, scale="match_rms_adamw"),
}
EVERY = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def trainer(make, **config):
    """A trainer of a tiny model made of matrices alone."""
    torch.manual_seed(1)
    model = nn.Sequential(
        nn.Embedding(11, 6),
        nn.Linear(6, 6, bias=False),
        nn.Tanh(),
        nn.Dropout(0.1),
        nn.Linear(6, 11, bias=False),
    )
    options = TrainerConfig(**({"steps": 8} | config))
    return Trainer(model, next_token, tiny_data(), make(model.parameters()), options)


@EVERY
@pytest.mark.parametrize(
    "schedule", [None, warmup(2, cosine_restarts(0.05, 3))], ids=["own", "schedule"]
)
def test_a_resumed_run_equals_the_unbroken_run(tmp_path, make, schedule):
    straight = trainer(make, schedule=schedule)
    straight.fit()
    trainer(make, schedule=schedule, folder=tmp_path, save_every=1, keep=None).fit()
    again = trainer(make, schedule=schedule)
    assert again.resume(tmp_path / "step_000003") == 3
    again.fit()
    assert torch.equal(weights(again.model), weights(straight.model))
    assert again.history == straight.history


@EVERY
def test_every_tensor_of_the_state_is_restored(tmp_path, make):
    first = trainer(make, folder=tmp_path)
    first.fit()
    again = trainer(make, folder=tmp_path)
    again.resume()
    pairs = zip(again.optimizer.state.values(), first.optimizer.state.values(), strict=True)
    for own, other in pairs:
        assert own.keys() == other.keys()
        assert all(torch.equal(own[name], other[name]) for name in own)


@EVERY
def test_the_loss_falls(make):
    history = trainer(make, steps=40).fit()
    assert history[-1]["loss"] < history[0]["loss"]


def test_a_run_with_another_optimizer_is_not_continued(tmp_path):
    trainer(MAKERS["SGD"], folder=tmp_path).fit()
    with pytest.raises(CheckpointMismatchError, match=r"optimizer.class was SGD, is Adam"):
        trainer(MAKERS["Adam"], folder=tmp_path).resume()


def test_a_run_with_another_form_of_momentum_is_not_continued(tmp_path):
    trainer(MAKERS["momentum"], folder=tmp_path).fit()
    changed = trainer(
        lambda p: SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01), folder=tmp_path
    )
    with pytest.raises(CheckpointMismatchError, match="averaged was True, is False"):
        changed.resume()


def test_a_run_with_another_schedule_is_not_continued(tmp_path):
    trainer(MAKERS["SGD"], folder=tmp_path, schedule=warmup(2, linear_decay(0.1, 20))).fit()
    changed = trainer(
        MAKERS["SGD"], folder=tmp_path, schedule=warmup(2, step_decay(0.1, 0.5, 20))
    )
    with pytest.raises(
        CheckpointMismatchError, match=r"schedule\.then\.class was linear_decay"
    ):
        changed.resume()


def test_the_trainer_reads_each_gradient_once(monkeypatch):
    """The norm has seen that they are finite: the optimizer does not look again."""
    monkeypatch.setattr("mathlm.optim.update.check_finite", pytest.fail)
    assert len(trainer(MAKERS["Adam"], steps=2).fit()) == 2


def test_an_optimizer_of_torch_takes_its_steps():
    """It knows nothing of what the norm has seen."""
    run = trainer(lambda p: torch.optim.Adam(p, lr=0.01), steps=30)
    losses = [record["loss"] for record in run.fit()]
    assert losses[-1] < losses[0]
