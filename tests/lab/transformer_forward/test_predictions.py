import math

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from lab.transformer_forward import predictions
from mathlm import reference as ref
from mathlm.errors import InputError


@pytest.mark.parametrize("D", [2, 16, 512])
def test_share_of_the_word_is_that_of_random_rows(D, rng):
    rows, place = rng.normal(size=(4000, D)) / np.sqrt(D), ref.sinusoidal_table(4000, D)
    for factor in (1.0, math.sqrt(D)):
        measured = (factor**2 * rows**2).sum() / ((factor * rows + place) ** 2).sum()
        assert_allclose(measured, predictions.word_share(D, factor), atol=0.03)


@pytest.mark.parametrize("D", [2, 64, 1024])
def test_times_the_root_of_the_width_the_share_is_two_thirds_at_any_width(D):
    assert_allclose(predictions.word_share(D, math.sqrt(D)), 2 / 3, rtol=1e-12)


@pytest.mark.parametrize("variance", [0.0, 0.5, 1.0])
def test_initial_loss_is_the_mean_over_random_logits(variance, rng):
    V = 400
    logits = math.sqrt(variance) * rng.normal(size=(4000, V))
    measured = (ref.logsumexp(logits) - logits[:, 0]).mean()
    assert_allclose(predictions.initial_loss(V, variance), measured, atol=0.05)


def pairs(rng, V=30):
    source, target = rng.integers(3, V, (20, 4)), rng.integers(3, V, (20, 6))
    source[::2, 3], target[1::2, 4:] = 0, 0
    return source, target


def test_first_losses_follow_from_the_variance_that_the_head_is_drawn_with(rng):
    """Xavier's rows have variance 2/(V + D): ln 30 + 8/38, and not ln 30 + 1/2."""
    sizes = {"vocab_size": 30, "context": 6, "d_model": 8, "n_layers": 1, "n_heads": 2}
    config = ref.TransformerConfig(**sizes)
    drawn = predictions.first_losses(pairs(rng), config, 150).mean()
    normal = predictions.first_losses(pairs(rng), config, 150, head_std=8**-0.5).mean()
    assert abs(drawn - predictions.initial_loss(30, 2 * 8 / 38)) < 0.05
    assert abs(normal - predictions.initial_loss(30, 1.0)) < 0.07  # finite V: 0.03 of it
    assert normal - drawn > 0.2


@pytest.mark.parametrize(("V", "smoothing"), [(2, 0.5), (30, 0.1), (7, 1.0)])
def test_no_logits_have_a_smaller_smoothed_loss(V, smoothing, rng):
    def loss(z):
        return ref.label_smoothed_cross_entropy(z[None], np.array([0]), smoothing)[0]

    found = minimize(loss, rng.normal(size=V), tol=1e-10)
    floor, gap = predictions.smoothing_floor(V, smoothing)
    assert_allclose(found.fun, floor, rtol=1e-6)
    assert_allclose(found.x[0] - found.x[1:], gap, atol=1e-2)


def test_without_smoothing_there_is_always_more_to_gain():
    assert predictions.smoothing_floor(30, 0.0) == (0.0, math.inf)


def test_look_alikes_share_what_is_right():
    """Keys a a b: n = 1, 2 are right half of the time, 3 always; ln 2, ln 2, 0."""
    share, loss = predictions.look_alikes("aab")
    assert_allclose([share, loss], [2 / 3, 2 * math.log(2) / 3], rtol=1e-12)


def test_inputs_that_all_differ_are_told_apart():
    assert predictions.look_alikes(range(5)) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: predictions.word_share(3, 1.0), "d_model=3"),
        (lambda: predictions.word_share(4, -1.0), "factor=-1"),
        (lambda: predictions.word_share(4, math.nan), "factor=nan"),
        (lambda: predictions.initial_loss(0), "n_classes=0"),
        (lambda: predictions.initial_loss(3, math.inf), "variance=inf"),
        (lambda: predictions.smoothing_floor(1, 0.1), "n_classes=1"),
        (lambda: predictions.smoothing_floor(3, 1.5), "smoothing=1.5"),
        (lambda: predictions.look_alikes([]), "no keys"),
    ],
)
def test_what_cannot_be_predicted_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
