import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.attention.soft_lookup import (
    LookupConfig,
    draw,
    evaluate,
    loss_and_gradients,
    train,
)
from mathlm.errors import ConfigError, InputError
from mathlm.reference import numerical_gradient
from mathlm.text.corpora.vectors import word_pairs


@pytest.fixture
def pairs(rng):
    """80 pairs of width 6: a partner is the same vector with a little noise."""
    x = rng.normal(size=(80, 1, 6))
    return np.concatenate([x, x + 0.1 * rng.normal(size=x.shape)], axis=1)


SMALL = LookupConfig(width=4, candidates=5, batch=3, steps=30)


@pytest.mark.parametrize("scaled", [True, False])
def test_gradients_match_central_differences(pairs, rng, scaled):
    batch, W = draw(pairs, SMALL, 0), rng.normal(size=(2, 4, 6)) / 3
    loss, *gradients, _ = loss_and_gradients(*W, *batch, scaled)
    numeric = numerical_gradient(lambda W: loss_and_gradients(*W, *batch, scaled)[0], W)
    assert_allclose(gradients, numeric, rtol=1e-6, atol=1e-9)
    assert loss > 0


def test_loss_of_a_uniform_guess():
    """½ ((1 - 1/S)² + (S - 1)/S²) = (1 - 1/S)/2."""
    zeros = np.zeros((4, 6))
    loss, *_ = loss_and_gradients(zeros, zeros, np.ones((3, 1, 6)), np.ones((3, 5, 6)), True)
    assert_allclose(loss, (1 - 1 / 5) / 2)


def test_dividing_is_a_smaller_start_with_a_smaller_step(pairs):
    divided = train(pairs, LookupConfig(**{**vars(SMALL), "learning_rate": 2.0}), held_out=16)
    settings = {"learning_rate": 2.0 / 2, "scaled": False, "init_gain": 4**-0.25}
    other = train(pairs, LookupConfig(**{**vars(SMALL), **settings}), held_out=16)
    assert_allclose(other.losses, divided.losses, rtol=1e-10)
    assert_allclose(4**0.25 * other.W_q, divided.W_q, rtol=1e-9, atol=1e-12)


def test_training_learns_to_find_the_partner(pairs):
    run = train(pairs, LookupConfig(width=16, candidates=8, batch=8, steps=60), held_out=16)
    assert np.mean(run.losses[-10:]) < 0.7 * run.losses[0]
    assert run.accuracy > 0.5


def test_the_same_step_draws_the_same_batch_and_another_one_does_not(pairs):
    assert_array_equal(draw(pairs, SMALL, 3)[1], draw(pairs, SMALL, 3)[1])
    assert not np.array_equal(draw(pairs, SMALL, 3)[1], draw(pairs, SMALL, 4)[1])


def test_key_number_zero_is_the_partner_of_the_query(pairs):
    queries, keys = draw(pairs, SMALL, 0)
    assert queries.shape == (3, 1, 6)
    assert np.abs(keys[:, :1] - queries).max() < 0.6
    assert np.abs(keys[:, 1:] - queries).max(-1).min() > 0.6


def test_a_perfect_lookup_is_scored_as_such(pairs):
    """With keys of one length the partner has the largest dot product."""
    pairs = pairs / np.linalg.norm(pairs, axis=-1, keepdims=True)
    loss, accuracy = evaluate(*(9 * np.eye(6)[None].repeat(2, 0)), pairs[:20], SMALL)
    assert accuracy == 1
    assert loss < 0.05


def test_pairs_are_words_with_and_without_s_and_standardized(rng):
    words = ["rivers", "cats", "cat", "river", "hosts", "host", "glass"]
    pairs, x = word_pairs(words, rng.normal(3, 2, size=(7, 4)))
    assert sorted(pairs) == [("host", "hosts"), ("river", "rivers")]
    assert x.shape == (2, 2, 4)
    assert_allclose(x.mean((0, 1)), 0, atol=1e-12)
    assert_allclose(x.std((0, 1)), 1)


def test_too_few_pairs_are_refused(pairs):
    with pytest.raises(
        InputError, match="batch=3 times candidates=5 needs 15 pairs, there are 9"
    ):
        draw(pairs[:9], SMALL, 0)


def test_sizes_must_be_positive():
    with pytest.raises(ConfigError, match="at least 1"):
        LookupConfig(steps=0)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan")])
def test_a_step_size_that_is_not_positive_is_an_error(rate):
    with pytest.raises(ConfigError, match=f"learning_rate={rate} must be positive"):
        LookupConfig(learning_rate=rate)
