import numpy as np
import pytest
import torch

from lab.optimization.digits_study import corrupt, digits, network, study
from mathlm.errors import ConfigError
from mathlm.optim import SGD, Adam

TINY = {"examples": 40, "steps": 6, "every": 2, "batch_size": 8}


@pytest.fixture(autouse=True)
def float32():
    torch.set_default_dtype(torch.float32)


def descent(parameters):
    return SGD(parameters, lr=0.5)


def test_digits_are_those_of_scikit_learn_in_one_order():
    pixels, labels = digits()
    assert (pixels.shape, len(labels)) == ((1797, 64), 1797)
    assert (pixels.min(), pixels.max()) == (0, 1)
    assert torch.bincount(labels).tolist() == [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]


def test_a_run_is_the_same_every_time_and_differs_by_seed():
    first, again, other = (study(descent, **TINY, seed=s) for s in (0, 0, 1))
    assert first["step"].tolist() == [0, 2, 4, 6]
    np.testing.assert_array_equal(first["train_loss"], again["train_loss"])
    assert (first["train_loss"] != other["train_loss"]).all()


def test_the_first_loss_is_that_of_knowing_nothing():
    history = study(descent, **TINY)
    assert history["held_out_loss"][0] == pytest.approx(np.log(10), abs=0.1)


def test_training_learns_digits():
    history = study(lambda p: Adam(p, lr=0.02), steps=100)
    assert history["held_out_accuracy"][-1] > 0.9
    assert history["train_loss"][-1] < 0.5 * history["train_loss"][0]


def test_wrong_labels_are_wrong_and_as_many_as_asked_for():
    labels = torch.arange(1000) % 10
    given, wrong = corrupt(labels, 0.3, seed=0)
    assert torch.equal(given != labels, wrong)
    assert wrong.float().mean() == pytest.approx(0.3, abs=0.05)
    assert set(given.tolist()) == set(range(10))


def test_without_wrong_labels_nothing_is_memorized():
    assert study(descent, **TINY)["memorized"].max() == 0


def test_one_digit_with_a_wrong_label_is_learned_by_heart():
    history = study(lambda p: Adam(p, lr=0.05), examples=1, label_noise=1.0, steps=30, every=30)
    assert (history["memorized"][-1], history["seen_through"][-1]) == (1, 0)


def test_the_schedule_sets_the_step_size():
    """With step size 0 nothing moves."""
    history = study(descent, **TINY, schedule=lambda step: 0.0)
    assert len(set(history["train_loss"])) == 1


def test_a_run_ends_at_its_target_or_when_it_diverges():
    assert len(study(descent, **TINY, stop_below=10.0)["step"]) == 1
    wild = study(lambda p: SGD(p, lr=1e4), **TINY | {"steps": 200})
    assert wild["step"][-1] < 200


def test_dropout_stands_after_every_hidden_layer():
    layers = network([5, 6], dropout=0.3)
    assert [layer.p for layer in layers if isinstance(layer, torch.nn.Dropout)] == [0.3, 0.3]
    assert [layer.out_features for layer in layers if isinstance(layer, torch.nn.Linear)] == [
        5,
        6,
        10,
    ]


def test_dropout_acts_in_training_and_not_in_measuring():
    plain, dropped = (study(descent, **TINY, dropout=p) for p in (0.0, 0.9))
    assert dropped["train_loss"][0] == plain["train_loss"][0]
    assert dropped["train_loss"][1] != plain["train_loss"][1]


@pytest.mark.parametrize("bad", [{"examples": 0}, {"examples": 1001}, {"steps": 0}])
def test_impossible_counts_are_refused(bad):
    with pytest.raises(ConfigError, match=f"{next(iter(bad.values()))}"):
        study(descent, **bad)


def test_shares_outside_their_range_are_refused():
    with pytest.raises(ConfigError, match=r"label_noise=1\.5"):
        study(descent, **TINY, label_noise=1.5)
    with pytest.raises(ConfigError, match="dropout=1"):
        study(descent, **TINY, dropout=1)
