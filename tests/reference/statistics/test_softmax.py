import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import MathLMError
from mathlm.reference import (
    log_softmax,
    log_softmax_backward,
    logsumexp,
    logsumexp_backward,
    numerical_vjp,
    softmax,
    softmax_backward,
    softmax_jacobian,
)

SHAPES = pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)], ids=str)
TEMPERATURES = pytest.mark.parametrize("temperature", [0.25, 1.0, 3.0])
ROWS = hnp.arrays(np.float64, (3, 5), elements=st.floats(-50, 50))


@SHAPES
@TEMPERATURES
def test_softmax_matches_torch(shape, temperature, rng):
    z = rng.normal(size=shape)
    theirs = (torch.tensor(z) / temperature).softmax(-1)
    assert_allclose(softmax(z, temperature), theirs, rtol=1e-12)


@SHAPES
@TEMPERATURES
def test_log_softmax_matches_torch(shape, temperature, rng):
    z = rng.normal(size=shape)
    theirs = (torch.tensor(z) / temperature).log_softmax(-1)
    assert_allclose(log_softmax(z, temperature), theirs, rtol=1e-12)


@SHAPES
def test_logsumexp_matches_torch(shape, rng):
    z = rng.normal(size=shape)
    assert_allclose(logsumexp(z), torch.tensor(z).logsumexp(-1), rtol=1e-12)


@SHAPES
@TEMPERATURES
@pytest.mark.parametrize("axis", [0, -1])
@pytest.mark.parametrize(
    ("f", "backward"), [(softmax, softmax_backward), (log_softmax, log_softmax_backward)]
)
def test_backward_matches_central_differences(f, backward, axis, shape, temperature, rng):
    z, dy = rng.normal(size=(2, *shape))
    ours = backward(dy, f(z, temperature, axis), temperature, axis)
    numeric = numerical_vjp(lambda z: f(z, temperature, axis), z, dy)
    assert_allclose(ours, numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("f", "backward"), [(softmax, softmax_backward), (log_softmax, log_softmax_backward)]
)
def test_backward_is_that_of_the_last_axis_and_of_temperature_one_unless_told(f, backward, rng):
    z, dy = rng.normal(size=(2, 2, 3, 5))
    assert_allclose(backward(dy, f(z)), numerical_vjp(f, z, dy), rtol=1e-6, atol=1e-8)
    assert_allclose(logsumexp_backward(dy[..., 0], z), dy[..., :1] * softmax(z), rtol=1e-13)


@TEMPERATURES
def test_jacobian_matches_torch(temperature, rng):
    z = torch.tensor(rng.normal(size=5))
    theirs = torch.autograd.functional.jacobian(lambda z: (z / temperature).softmax(-1), z)
    ours = softmax_jacobian(softmax(z.numpy(), temperature), temperature)
    assert_allclose(ours, theirs, rtol=1e-12, atol=1e-15)


@SHAPES
@TEMPERATURES
def test_jacobian_applied_to_dy_is_the_backward_pass(shape, temperature, rng):
    p, dy = softmax(rng.normal(size=shape), temperature), rng.normal(size=shape)
    product = (softmax_jacobian(p, temperature) @ dy[..., None])[..., 0]
    assert_allclose(softmax_backward(dy, p, temperature), product, rtol=1e-12, atol=1e-15)


def test_jacobian_of_a_saturated_softmax_keeps_its_digits():
    """Scores (0, -40): both diagonal entries are exp(-40) / (1 + exp(-40))²."""
    diagonal = np.diag(softmax_jacobian(softmax([0.0, -40.0])))
    assert_allclose(diagonal, np.exp(-40) / (1 + np.exp(-40)) ** 2, rtol=1e-12)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_logsumexp_backward_matches_central_differences(axis, rng):
    z = rng.normal(size=(2, 3, 5))
    dy = rng.normal(size=logsumexp(z, axis).shape)
    numeric = numerical_vjp(lambda z: logsumexp(z, axis), z, dy)
    assert_allclose(logsumexp_backward(dy, z, axis), numeric, rtol=1e-6, atol=1e-8)


@given(z=ROWS, shift=st.floats(-1e3, 1e3))
def test_softmax_ignores_a_common_shift(z, shift):
    assert_allclose(softmax(z + shift), softmax(z), atol=1e-12)


@given(z=ROWS, temperature=st.floats(0.01, 100))
def test_softmax_is_a_distribution_that_keeps_the_order(z, temperature):
    p = softmax(z, temperature)
    assert_allclose(p.sum(-1), 1, rtol=1e-12)
    assert (np.diff(np.take_along_axis(p, z.argsort(-1), -1)) >= 0).all()


@given(z=ROWS)
def test_gradient_of_softmax_is_blind_to_a_common_shift(z):
    dz = softmax_backward(np.cos(z), softmax(z))
    assert_allclose(dz.sum(-1), 0, atol=1e-12)


def test_rows_near_zero_and_near_ten_thousand_live_together():
    """exp(10000) overflows float64; subtracting one maximum for all would starve row 0."""
    z = np.array([[0.0, 1.0, 2.0], [1e4, 1e4 + 1, 1e4 + 2], [-1e4, -1e4 + 1, -1e4 + 2]])
    assert_allclose(softmax(z), np.tile(softmax(z[0]), (3, 1)), rtol=1e-12)


def test_log_softmax_keeps_what_the_logarithm_of_softmax_loses():
    """exp(-800) is 0 in float64; log p = -800 - log(1 + exp(-800)) = -800."""
    assert_array_equal(log_softmax([0.0, -800.0]), [0.0, -800.0])


def test_logsumexp_of_equal_entries_is_log_n_more():
    assert_allclose(logsumexp([1e4] * 8), 1e4 + np.log(8), rtol=1e-14)


def test_logsumexp_takes_the_maximum_of_each_row():
    """log(1 + e) in row 0, and as much more or less as the others are moved."""
    z = np.array([[0.0, 1.0], [1e4, 1e4 + 1], [-1e4, 1 - 1e4]])
    moved = np.array([0, 1e4, -1e4])
    assert_allclose(logsumexp(z), np.log1p(np.e) + moved, rtol=1e-12)


def test_logsumexp_keeps_every_axis_but_its_own():
    """Three equal entries: log 3 more than each."""
    assert_allclose(logsumexp(np.zeros((1, 3))), [np.log(3)], rtol=1e-15, strict=True)


@pytest.mark.parametrize("f", [softmax, log_softmax, logsumexp])
def test_scores_in_half_the_digits_are_read_in_float64(f):
    scores = np.array([0.5, 1.25, -3.0], dtype=np.float32)  # exact in both
    assert_allclose(f(scores), f(scores.tolist()), rtol=1e-15, strict=True)


def test_logsumexp_of_nothing_is_minus_infinity():
    assert logsumexp([-np.inf, -np.inf]) == -np.inf


def test_logsumexp_of_one_row_among_rows_is_still_a_row_of_numbers():
    assert_allclose(logsumexp(np.zeros((1, 4))), [np.log(4)], rtol=1e-12, strict=True)


@pytest.mark.parametrize("f", [softmax, log_softmax, logsumexp])
def test_scores_in_half_the_digits_are_worked_on_in_float64(f, rng):
    z = rng.normal(size=(3, 5)).astype(np.float32)
    assert_array_equal(f(z), f(z.astype(np.float64)), strict=True)


def test_odds_of_two_to_one_and_the_square_at_half_the_temperature():
    """exp(log 2) : exp(0) = 2 : 1, and the scores doubled give 4 : 1."""
    assert_allclose(softmax([np.log(2), 0]), [2 / 3, 1 / 3], rtol=1e-12)
    assert_allclose(softmax([np.log(2), 0], temperature=0.5), [4 / 5, 1 / 5], rtol=1e-12)


def test_small_temperature_is_argmax_and_shares_ties():
    assert_array_equal(softmax([1.0, 3.0, 3.0, 0.0], temperature=1e-300), [0, 0.5, 0.5, 0])


@pytest.mark.parametrize(
    ("z", "temperature"), [([0.0, 1000.0], 1e-307), ([-1.5e308, 1.5e308], 1.0)]
)
def test_a_gap_beyond_float64_is_weight_zero(z, temperature):
    assert_array_equal(softmax(z, temperature), [0, 1])
    assert_array_equal(log_softmax(z, temperature), [-np.inf, 0])


def test_minus_infinity_is_weight_zero():
    assert_array_equal(softmax([0.0, -np.inf, 0.0]), [0.5, 0.0, 0.5])


@pytest.mark.parametrize("f", [softmax, log_softmax, logsumexp])
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_nan_and_plus_infinity_are_refused(f, bad):
    with pytest.raises(ValueError, match=r"1 NaN or \+inf, the first at \(1, 2\)"):
        f([[0.0, 0.0, 0.0], [0.0, 0.0, bad]])


@pytest.mark.parametrize("temperature", [0.0, -1.0, np.nan, np.inf])
def test_temperature_must_be_positive_and_finite(temperature):
    for f in (softmax, log_softmax):
        with pytest.raises(ValueError, match=f"temperature={temperature}"):
            f([1.0, 2.0], temperature)
    for backward in (softmax_backward, log_softmax_backward):
        with pytest.raises(ValueError, match=f"temperature={temperature}"):
            backward(np.ones(2), np.ones(2) / 2, temperature)


def test_a_row_without_a_finite_score_is_refused():
    with pytest.raises(ValueError, match="1 of 2 rows hold no finite score"):
        softmax([[0.0, 1.0], [-np.inf, -np.inf]])


@pytest.mark.parametrize("z", [np.array(1.0), [], np.ones((3, 0))])
def test_no_scores_are_refused(z):
    with pytest.raises(MathLMError, match="at least one score"):
        softmax(z)


@pytest.mark.parametrize("shape", [(3,), (1, 3), (2, 1), (4, 2, 3), ()])
def test_a_gradient_that_would_be_broadcast_is_refused(shape):
    z, dy = np.zeros((2, 3)), np.ones(shape)
    with pytest.raises(MathLMError, match=r"dy has shape .* but y has \(2, 3\)"):
        softmax_backward(dy, softmax(z))
    with pytest.raises(MathLMError, match=r"dy has shape .* but y has \(2, 3\)"):
        log_softmax_backward(dy, log_softmax(z))


@pytest.mark.parametrize("shape", [(1,), (2, 1), (3,), (4, 2), ()])
def test_a_gradient_of_logsumexp_has_one_number_for_each_row(shape):
    with pytest.raises(MathLMError, match=r"dy has shape .* but y has \(2,\)"):
        logsumexp_backward(np.ones(shape), np.zeros((2, 3)))
