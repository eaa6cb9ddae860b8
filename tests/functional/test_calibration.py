import math

import numpy as np
import pytest
import torch
from torch.testing import assert_close

from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError
from mathlm.functional import (
    brier_score,
    expected_calibration_error,
    fit_temperature,
    reliability_bins,
    top_prediction,
)


@pytest.fixture
def predictions(rng):
    """Logits of 500 predictions of 7 outcomes, and outcomes that they favor."""
    z = rng.normal(size=(500, 7)) * 2
    y = (z + rng.gumbel(size=z.shape) * 2).argmax(-1)  # drawn at temperature 2
    return torch.tensor(z), torch.tensor(y)


def test_bins_by_hand():
    """Bins [0, 1/2) and [1/2, 1]: 0.1 and 0.3, one true; 0.5, 0.9 and 1.0, two true."""
    said, true, count = reliability_bins(
        torch.tensor([0.1, 0.3, 0.5, 0.9, 1.0]),
        torch.tensor([False, True, True, False, True]),
        bins=2,
    )
    assert_close(said, torch.tensor([0.2, 0.8]))
    assert_close(true, torch.tensor([1 / 2, 2 / 3]))
    assert count.tolist() == [2, 3]


def test_sixteen_bits_do_not_round_a_confidence_into_the_next_bin():
    """0.69921875 · 10 = 6.99… is nearest to 7 in bfloat16; 0.703125 belongs to the next bin."""
    confidence = torch.tensor([0.69921875, 0.703125], dtype=torch.bfloat16)
    said, _, count = reliability_bins(confidence, torch.tensor([True, False]))
    assert (said.tolist(), count.tolist()) == ([0.69921875, 0.703125], [1, 1])


def test_one_bin_holds_a_single_statement_that_is_surely_wrong():
    parts = reliability_bins(torch.tensor([0.0]), torch.tensor([False]), bins=1)
    assert [x.tolist() for x in parts] == [[0], [0], [1]]


def test_there_are_ten_bins_unless_another_number_is_asked_for():
    """Two in each tenth, 0.01 from its ends, of which the upper comes true.

    Tenths: mean of |1/2 - (k + 1/2)/10| = 1/4. Fifths: |1/2 - (k + 1/2)/5| is 0.24.
    """
    said = torch.arange(10).repeat_interleave(2) / 10 + torch.tensor([0.01, 0.09] * 10)
    right = torch.tensor([False, True] * 10)
    assert reliability_bins(said, right)[2].tolist() == [2] * 10
    assert expected_calibration_error(said, right) == pytest.approx(0.25)
    assert expected_calibration_error(said, right, bins=5) == pytest.approx(0.24)


def test_sums_of_single_precision_are_double_and_stay_where_the_numbers_are():
    torch.set_default_dtype(torch.float32)  # conftest sets it anew for each test
    said, right = torch.full((3,), 0.1), torch.ones(3).bool()
    with torch.device("meta"):  # where tensors are made unless it is said
        parts = reliability_bins(said, right)
    assert [x.dtype for x in parts] == [torch.float64, torch.float64, torch.int64]
    assert parts[0].item() == pytest.approx(said[0].item(), rel=1e-15)


def test_of_one_outcome_everything_is_sure():
    said, right = top_prediction(torch.tensor([[2.0]]), torch.tensor([0]))
    assert (said.tolist(), right.tolist()) == ([1], [True])


def test_the_error_and_the_temperature_are_those_of_the_reference(predictions):
    z, y = predictions
    said, right = top_prediction(z, y)
    ours = expected_calibration_error(said, right, bins=15)
    assert ours == pytest.approx(
        ref.expected_calibration_error(said.numpy(), right.numpy(), bins=15), rel=1e-12
    )
    assert fit_temperature(z, y) == pytest.approx(
        ref.fit_temperature(z.numpy(), y.numpy()), rel=1e-9
    )


@pytest.mark.parametrize("scale", [1e-3, 1.0, 300.0])
def test_the_temperature_has_the_unit_of_the_scores(predictions, scale):
    z, y = predictions
    assert fit_temperature(scale * z, y) == pytest.approx(
        scale * fit_temperature(z, y), rel=1e-9
    )


def test_outcomes_drawn_at_temperature_two_are_found_to_be(rng):
    z = torch.tensor(rng.normal(size=(20_000, 5)) * 2)
    y = (z + torch.tensor(rng.gumbel(size=z.shape)) * 2).argmax(-1)
    assert fit_temperature(z, y) == pytest.approx(2, rel=0.05)


def test_a_temperature_near_the_hottest_that_is_looked_for():
    """Right by a, wrong by 1: σ(1/T) = a σ(-a/T), nearly 1 + 1/2T = a - a²/2T."""
    a = 1 + 3e-6
    z, y = torch.tensor([[a, 0.0], [1.0, 0.0]]), torch.tensor([0, 1])
    assert fit_temperature(z, y) == pytest.approx((1 + a**2) / (2 * (a - 1)), rel=1e-6)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_is_taken_in_single(predictions, dtype):
    z, y = predictions[0].to(dtype), predictions[1]
    for score in (brier_score, lambda z, y: top_prediction(z, y)[0]):
        assert score(z, y).dtype == torch.float32
        assert torch.equal(score(z, y), score(z.float(), y))


def test_brier_by_hand():
    """p = (3/4, 1/4): (1/4)² + (1/4)² if the first comes, (3/4)² + (3/4)² if the second."""
    z = torch.tensor([[math.log(3.0), 0.0]] * 2)
    assert_close(brier_score(z, torch.tensor([0, 1])), torch.tensor([1 / 8, 9 / 8]))


def test_brier_is_least_in_expectation_at_the_true_probabilities(rng):
    """Its gradient in the logits, averaged over outcomes with probabilities p, is 0 at p."""
    p = torch.tensor(rng.dirichlet(np.ones(4)))
    z = p.log().repeat(4, 1).requires_grad_()
    (p @ brier_score(z, torch.arange(4))).backward()
    assert z.grad.abs().max() > 1e-3
    assert_close(z.grad.sum(0), torch.zeros(4), atol=1e-12, rtol=0)


def test_a_calibrated_model_need_not_be_a_good_one():
    """Always the base rates, 3/4 and 1/4: right in 3 of 4 cases, as it says."""
    z = torch.tensor([[math.log(3.0), 0.0]] * 4)
    said, right = top_prediction(z, torch.tensor([0, 0, 1, 0]))
    assert expected_calibration_error(said, right) == pytest.approx(0, abs=1e-12)


def test_what_cannot_be_judged_is_refused():
    z, y = torch.zeros(2, 3), torch.zeros(2, dtype=torch.int64)
    with pytest.raises(InputError, match=r"logits \(2, 3\) and targets \(1,\)"):
        top_prediction(z, y[:1])
    with pytest.raises(InputError, match="token id -100 at"):
        brier_score(z, y - 100)
    with pytest.raises(InputError, match=r"token id 2 at \[2\] is outside 0\.\.1"):
        brier_score(torch.zeros(3, 2), torch.arange(3))
    with pytest.raises(InputError, match=r"logits \(0, 3\) and targets \(0,\)"):
        top_prediction(z[:0], y[:0])
    with pytest.raises(InputError, match="NaN"):
        brier_score(z * math.nan, y)
    with pytest.raises(InputTypeError, match="say True or False"):
        reliability_bins(torch.ones(2), y)
    with pytest.raises(InputError, match="bins=0"):
        reliability_bins(torch.ones(2), y == 0, bins=0)
    for n in (0, 3):
        with pytest.raises(InputError, match=rf"confidence \({n},\), correct"):
            reliability_bins(torch.ones(n), y[:n] == 0)
    with pytest.raises(InputError, match="outside"):
        reliability_bins(torch.full((2,), 1.5), y == 0)


def test_where_no_temperature_is_best_there_is_an_error():
    z, y = torch.eye(3), torch.arange(3)
    with pytest.raises(InputError, match="every one of the 3 targets"):
        fit_temperature(z, y)
    with pytest.raises(InputError, match="every one of the 3 targets"):
        fit_temperature(z * torch.tensor([[1.0], [2.0], [3.0]]), y)  # each row has its own top
    with pytest.raises(InputError, match="below the top score: no temperature"):
        fit_temperature(-z, y)
    with pytest.raises(InputError, match="below the top score: no temperature"):
        fit_temperature(torch.tensor([[0.0, -1.0]] * 2), torch.arange(2))  # as good as a guess
    with pytest.raises(InputError, match="must be finite"):
        fit_temperature(z - z.double() * math.inf, y)
