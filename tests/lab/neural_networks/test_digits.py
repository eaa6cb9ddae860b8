import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.neural_networks.digits import (
    DigitsConfig,
    best_rate,
    evaluate,
    gradients,
    load,
    split_scores,
    start,
    train,
    train_together,
)
from mathlm.errors import ConfigError
from mathlm.reference import numerical_gradient

SMALL = DigitsConfig(hidden=(16,), epochs=3)


@pytest.fixture(scope="module")
def data():
    return load()


def test_split_covers_all_images_once(data):
    """The set has 1797 images, 178 of them zeros (its own description)."""
    sizes = [len(y) for _, y in data]
    assert sizes == [1197, 300, 300]
    assert sum((y == 0).sum() for _, y in data) == 178
    pixels = np.concatenate([x for x, _ in data])
    assert pixels.shape == (1797, 64)
    assert (pixels.min(), pixels.max()) == (0, 1)


def test_split_is_the_same_every_time_and_another_for_another_seed(data):
    assert_array_equal(load()[2][1], data[2][1])
    assert not np.array_equal(load(seed=1)[2][1], data[2][1])


def test_gradients_match_central_differences(data):
    x, y = data[0][0][:5], data[0][1][:5]
    weights, names = start(DigitsConfig(hidden=(3,)))

    def loss(W):
        return evaluate((x, y), [weights[0], (W, weights[1][1])], names)[0]

    dW = gradients(x, y, weights, names)[1][0]
    assert_allclose(dW, numerical_gradient(loss, weights[1][0]), rtol=1e-6, atol=1e-9)


def test_training_lowers_the_loss_of_images_it_has_not_seen(data):
    weights, names, history = train(data[0], data[:2], SMALL)
    assert history.shape == (3, 2)
    assert history[-1, 1] < 0.5 * np.log(10)
    assert_allclose(history[-1, 1], evaluate(data[1], weights, names)[0])


def test_without_a_hidden_layer_it_is_logistic_regression(data):
    weights, names = start(DigitsConfig(hidden=()))
    assert [W.shape for W, _ in weights] == [(10, 64)]
    assert names == ["identity"]


def test_a_network_of_zeros_guesses_uniformly(data):
    weights, names = start(SMALL)
    loss, accuracy, answers = evaluate(data[1], [(0 * W, b) for W, b in weights], names)
    assert_allclose(loss, np.log(10))
    assert not answers.any()
    assert_allclose(accuracy, (data[1][1] == 0).mean())


def test_the_same_seed_gives_the_same_weights(data):
    part = data[0][0][:64], data[0][1][:64]
    first, again = (train(part, [], SMALL)[0] for _ in range(2))
    assert_array_equal(first[0][0], again[0][0])


@pytest.mark.parametrize(
    ("hidden", "activation"), [((5,), "gelu"), ((4, 3), "relu"), ((), "relu")]
)
def test_runs_in_one_loop_are_those_that_would_be_made_one_by_one(data, hidden, activation):
    options = {"hidden": hidden, "activation": activation, "epochs": 2, "batch": 50}
    configs = [
        DigitsConfig(**options, seed=seed, learning_rate=rate)
        for seed, rate in ((0, 0.1), (1, 0.3), (2, 0.3))
    ]
    parts = [data[0], load(1)[0], load(2)[0]]
    for found, part, config in zip(train_together(parts, configs), parts, configs, strict=True):
        for (W, b), (W_one, b_one) in zip(found, train(part, [], config)[0], strict=True):
            assert_allclose(W, W_one, rtol=1e-9, atol=1e-12)
            assert_allclose(b, b_one, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("configs", [[], [SMALL, DigitsConfig(hidden=(16,), epochs=4)]])
def test_runs_of_several_shapes_are_not_made_in_one_loop(data, configs):
    with pytest.raises(ConfigError, match="runs of one shape"):
        train_together([data[0]] * len(configs), configs)


@pytest.fixture
def seen(monkeypatch):
    """The labels of every batch that a training run takes a gradient of."""
    batches = []
    monkeypatch.setattr(
        "lab.neural_networks.digits.gradients",
        lambda x, y, weights, names: batches.append(y) or [(0 * W, 0 * b) for W, b in weights],
    )
    return batches


@pytest.mark.parametrize(
    ("options", "sizes"),
    [({}, [32] * 37 + [13]), ({"batch": 46}, [46] * 26 + [1]), ({"batch": 2000}, [1197])],
)
def test_every_image_is_used_once_an_epoch_in_batches_of_one_size(data, seen, options, sizes):
    """1197 = 37 · 32 + 13 = 26 · 46 + 1."""
    train((data[0][0], np.arange(1197)), [], DigitsConfig(epochs=1, **options))
    assert [len(y) for y in seen] == sizes
    assert sorted(np.concatenate(seen)) == list(range(1197))


def test_every_epoch_has_an_order_of_its_own(data, seen):
    train((data[0][0], np.arange(1197)), [], DigitsConfig(epochs=2, batch=1197))
    assert (seen[0] != seen[1]).mean() > 0.9
    assert (seen[0] != np.arange(1197)).mean() > 0.9


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"hidden": (0,)}, r"hidden=\(0,\)"),
        ({"hidden": (True,)}, "integers of at least 1"),
        ({"batch": 0}, "batch=0"),
        ({"learning_rate": -1.0}, "learning_rate=-1.0 must be"),
    ],
)
def test_settings_out_of_range_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        DigitsConfig(**options)


def test_the_best_step_size_is_neither_too_small_nor_too_large():
    assert best_rate((), rates=(1e-4, 1.0)) == 1.0
    assert best_rate((16,), rates=(0.3, 50.0)) == 0.3


def test_scores_are_those_of_the_test_images_of_each_split():
    (found,) = split_scores((), rate=1.0, seeds=[4])
    part, _, unseen = load(4)
    config = DigitsConfig(hidden=(), learning_rate=1.0, epochs=20, seed=4)
    assert found == evaluate(unseen, *train(part, [], config)[:2])[1]
