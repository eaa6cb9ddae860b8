import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.self_attention.peeking import (
    PeekingConfig,
    letters_of,
    losses_of,
    one_hot,
    slopes_of,
    train,
    windows,
)
from mathlm.errors import ConfigError, InputError
from mathlm.reference import numerical_vjp
from mathlm.text import corpus

SMALL = PeekingConfig(length=3, width=2, batch=2)


@pytest.mark.parametrize("causal", [True, False])
def test_slopes_match_central_differences(rng, causal):
    weights = [rng.normal(size=shape) for shape in ((2, 7), (2, 7), (4, 7))]
    batch, mask = rng.integers(4, size=(2, 4)), PeekingConfig(length=3, causal=causal).mask
    slopes = slopes_of(*losses_of(weights, batch, mask))
    loss = np.full((2, 3), 1 / 6)
    numeric = numerical_vjp(lambda *W: losses_of([*W], batch, mask)[0], tuple(weights), loss)
    for slope, expected in zip(slopes, numeric, strict=True):
        assert_allclose(slope, expected, rtol=1e-6, atol=1e-9)


def test_zero_weights_guess_evenly():
    """All logits are 0, so each of 4 letters costs log 4."""
    weights = [np.zeros(shape) for shape in ((2, 7), (2, 7), (4, 7))]
    losses, _ = losses_of(weights, np.zeros((2, 4), dtype=np.int64), SMALL.mask)
    assert_allclose(losses, np.log(4))


def test_a_letter_and_its_place_are_marked_side_by_side():
    x = one_hot(np.array([[2, 0]]), classes=3)
    assert_array_equal(x[0], [[0, 0, 1, 1, 0], [1, 0, 0, 0, 1]])


def test_letters_keep_words_apart():
    ids, alphabet = letters_of("To be,\nor?")
    assert "".join(alphabet[i] for i in ids) == "to be or"


def test_only_the_one_that_sees_the_future_predicts_random_letters():
    """Uniform letters cannot be predicted: no better than log 3 for who does not see them."""
    ids = np.random.default_rng(1).integers(3, size=2000)
    losses = {}
    for causal in (True, False):
        config = PeekingConfig(causal=causal, length=6, steps=120)
        losses[causal] = np.mean(train(ids, 3, config)[1][-20:])
    assert losses[True] > np.log(3) - 0.02
    assert losses[False] < 0.5


def test_a_window_needs_one_letter_more_than_its_length():
    with pytest.raises(InputError, match="3 letters are too few for windows of 3"):
        windows(np.array([0, 1, 2]), SMALL, 0)


def test_a_width_of_zero_is_refused():
    with pytest.raises(ConfigError, match="at least 1"):
        PeekingConfig(width=0)


@pytest.mark.slow
@pytest.mark.parametrize(("causal", "best"), [(True, 0.05), (False, 0.1)])
def test_each_arm_of_the_page_has_its_best_rate(causal, best):
    plays, unread = corpus.load("shakespeare"), PeekingConfig(batch=200)
    letters, held_out = letters_of(plays[:200_000])[0], letters_of(plays[300_000:340_000])[0]
    losses = {}
    for rate in (0.02, 0.05, 0.1):
        arms = [PeekingConfig(causal=causal, rate=rate, seed=seed) for seed in range(3)]
        runs = [losses_of(train(letters, 27, a)[0], windows(held_out, unread, 0), a.mask)
                for a in arms]  # fmt: skip
        losses[rate] = np.mean([loss for loss, _ in runs])
    assert min(losses, key=losses.__getitem__) == best
