import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.transformer_block.band import (
    band_network,
    ratio_band_network,
    switch_network,
    threshold_margin,
)
from mathlm.errors import InputError, InputTypeError
from mathlm.reference import all_bits, multilayer_perceptron


def run(x, weights):
    return multilayer_perceptron(np.asarray(x, float), weights, ["relu", "identity"])[0]


def test_three_switch_units_give_the_table_of_xor():
    x, y = all_bits(2)
    assert_array_equal(run(x, switch_network()), y)


def test_switch_units_as_if_they_were_steps_give_half_of_xor():
    """With 1, 1 and -2 behind units that give 1/2: 0, 1/2, 1/2 and 1/2 + 1/2 - 2/2 = 0."""
    (W_in, b_in), (W_out, b_out) = switch_network()
    as_steps = [(W_in, b_in), (np.sign(W_out) * [1, 1, 2], b_out)]
    assert run(all_bits(2)[0], as_steps).ravel().tolist() == [0, 0.5, 0.5, 0]


def test_a_band_from_0_to_2_on_the_sum_of_two_bits_is_xor():
    x, y = all_bits(2)
    assert_array_equal(run(x.sum(1, keepdims=True), band_network(0, 2)), y)


@pytest.mark.parametrize(("low", "high"), [(0.5, 2.0), (-3, 1), (1e-9, 2e-9)])
def test_a_band_is_0_below_1_in_the_middle_0_at_both_ends_and_negative_above(low, high):
    r = np.array([low - 1, low, (low + high) / 2, high, high + (high - low)])
    found = run(r[:, None], band_network(low, high)).ravel()
    assert_allclose(found, [0, 0, 1, 0, -2], atol=1e-6)


@pytest.mark.parametrize("threshold", [0.01, 0.5, 0.99])
def test_one_threshold_cuts_out_the_middle_of_the_range(threshold, rng):
    """y > t where |r - c| < (1 - t) δ; here c = 5/4 and δ = 3/4."""
    r = rng.uniform(-2, 4, size=4000)
    found = run(r[:, None], band_network(0.5, 2.0)).ravel() > threshold
    assert_array_equal(found, np.abs(r - 1.25) < (1 - threshold) * 0.75)
    assert 0 < found.sum() < 4000


def test_a_band_of_ratios_is_the_first_number_times_the_band_of_the_ratio(rng):
    x = rng.uniform(0.01, 5, size=(500, 2))
    band = run(x[:, 1:] / x[:, :1], band_network(0.5, 2.0))
    found = run(x, ratio_band_network(0.5, 2.0))
    assert_allclose(found, np.hstack([x.sum(1, keepdims=True), x[:, :1] * band]), atol=1e-12)


def test_a_ratio_is_in_the_range_exactly_where_its_score_is_positive(rng):
    x = rng.uniform(0.01, 5, size=(4000, 2))
    ratio = x[:, 1] / x[:, 0]
    inside = run(x, ratio_band_network(0.5, 2.0))[:, 1] > 0
    assert_array_equal(inside, (ratio > 0.5) & (ratio < 2))


def test_five_parts_by_hand():
    """Range 2/3 to 4/3, so c = 1 and δ = 1/3: ReLU(w - 2s/3) - 2 ReLU(w - s), times 3.

    (2.5, 1) gives 0; (1, 1) gives 3 (1/3) = 1; (1, 2.5) gives 3 (11/6 - 3) = -7/2.
    """
    parts = [(1, 1), (2, 2), (2.5, 1), (1, 2.5), (3, 0.5)]
    scores = run(parts, ratio_band_network(2 / 3, 4 / 3))
    assert_allclose(scores[:, 1], [1, 2, 0, -3.5, 0], atol=1e-12)
    defect = np.array([True, True, False, False, False])
    assert threshold_margin(scores[:, 1], defect) == pytest.approx(1.0)


def test_no_threshold_on_a_ratio_alone_picks_out_its_middle():
    """Ratios 1 and 1 of the class, 0.4 and 2.5 of the rest: min 1 - max 2.5."""
    scores, middle = np.array([1.0, 1, 0.4, 2.5]), np.array([True, True, False, False])
    assert threshold_margin(scores, middle) == -1.5
    assert threshold_margin(-scores, middle) == pytest.approx(-0.6)


@pytest.mark.parametrize("build", [band_network, ratio_band_network])
@pytest.mark.parametrize(
    ("low", "high"), [(1, 1), (2, 1), (0, np.inf), (np.nan, 1), (0, 1e-320)]
)
def test_a_range_with_no_middle_is_refused(build, low, high):
    with pytest.raises(InputError, match=f"low={low} must be below high={high}"):
        build(low, high)


def test_scores_that_cannot_be_compared_are_refused():
    scores = np.array([1.0, 2.0])
    with pytest.raises(InputError, match="2 of 2 are positive"):
        threshold_margin(scores, np.array([True, True]))
    with pytest.raises(InputError, match=r"scores has shape \(2,\) and positive has shape"):
        threshold_margin(scores, np.array([True]))
    with pytest.raises(InputTypeError, match="must be bool, got int64"):
        threshold_margin(scores, np.array([1, 0]))
