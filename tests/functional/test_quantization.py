import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm import functional as F
from mathlm.errors import InputError, InputTypeError
from mathlm.functional import Levels


def test_symmetric_levels_of_a_row_by_hand():
    """3 bits: codes -3 … 3, Δ = 6/3 = 2; 1 lies between two levels, ties go to the even one."""
    levels = F.symmetric_levels(torch.tensor([6.0, -3.9, 1.0, 0.0]), 3)
    assert levels.step.item() == 2
    assert levels.codes.tolist() == [[3, -2, 0, 0]]
    assert levels.values().tolist() == [6, -4, 0, 0]


def test_affine_levels_of_a_row_by_hand():
    """2 bits: Δ = (10 - 4)/3 = 2, levels 4, 6, 8, 10 and code 0 stands for 8."""
    levels = F.affine_levels(torch.tensor([4.0, 10.0, 6.9, 7.1]), 2)
    assert (levels.step.item(), levels.value_of_zero().item()) == (2, 8)
    assert levels.codes.tolist() == [[-2, 1, -1, 0]]
    assert levels.values().tolist() == [4, 10, 6, 8]


def test_a_zero_that_was_rounded_down_is_made_up_for_by_the_step():
    """2 bits: zero = 256.5 + 2 · 3/3, which bfloat16 rounds to 258; (259.5 - 258)/1 is left."""
    w = torch.tensor([256.5, 259.5])
    levels = F.affine_levels(w, 2, dtype=torch.bfloat16)
    assert (levels.step.item(), levels.value_of_zero().item()) == (1.5, 258)
    assert levels.codes.tolist() == [[-1, 1]]
    assert torch.equal(levels.values(torch.float64), w)


@pytest.mark.parametrize(
    ("round_to", "numbers", "codes"),
    [
        (F.symmetric_levels, [-190.0, 190.0], [-127, 127]),
        (F.affine_levels, [0.0, 317.0], [-128, 127]),
    ],
)
def test_numbers_too_small_for_an_exact_step_end_at_the_outer_levels(round_to, numbers, codes):
    """In units of the least float32 a step of 190/127 or 317/255 is rounded to 1."""
    w = (2.0**-149 * torch.tensor(numbers)).float()
    assert round_to(w, 8).codes.tolist() == [codes]


@pytest.mark.parametrize("round_to", [F.symmetric_levels, F.affine_levels])
def test_numbers_of_few_digits_are_rounded_as_in_float32(round_to):
    w = torch.randn(3, 24).bfloat16()
    levels, expected = round_to(w, 4, 8), round_to(w.float(), 4, 8)
    assert levels.step.dtype == torch.float32
    assert torch.equal(levels.codes, expected.codes)
    assert torch.equal(levels.values(), expected.values())


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([F.symmetric_levels, F.affine_levels]),
    st.integers(2, 8),
    st.sampled_from([None, torch.float32, torch.bfloat16, torch.float16]),
    st.floats(-3, 3),
)
def test_no_number_moves_by_more_than_half_a_step(round_to, bits, dtype, shift):
    w = torch.randn(3, 24) + 10.0**shift
    levels = round_to(w, bits, 8, dtype)
    far = (levels.values(torch.float64) - w).abs().unflatten(-1, (3, 8))
    assert (far <= levels.step.double() / 2 * (1 + 1e-9)).all()


def test_steps_of_more_digits_than_the_numbers_find_the_nearest_level_too():
    """Float32's 1/3 is a little more than 1/3: 1/2 is nearer to it than to twice as much."""
    w = torch.tensor([1.0, 0.5]).float()
    assert F.symmetric_levels(w, 3, dtype=torch.float64).codes.tolist() == [[3, 1]]


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_numbers_that_lie_on_levels_stay(bits):
    codes = torch.arange(-(2 ** (bits - 1)), 2 ** (bits - 1))
    w = 0.25 * codes - 3
    torch.testing.assert_close(F.affine_levels(w, bits).values(), w, rtol=1e-12, atol=0)
    w = 0.25 * codes[1:]
    torch.testing.assert_close(F.symmetric_levels(w, bits).values(), w, rtol=1e-12, atol=0)


def test_groups_have_grids_of_their_own():
    w = torch.tensor([[1.0, -1.0, 100.0, -100.0]])
    whole, two = F.symmetric_levels(w, 2), F.symmetric_levels(w, 2, 2)
    assert whole.values().tolist() == [[0, 0, 100, -100]]
    assert two.values().tolist() == w.tolist()


@pytest.mark.parametrize("round_to", [F.symmetric_levels, F.affine_levels])
def test_the_last_group_of_a_row_may_be_shorter(round_to):
    w = torch.randn(3, 10)
    parts = [round_to(part, 3).values() for part in w.split(4, 1)]
    assert torch.equal(round_to(w, 3, 4).values(), torch.cat(parts, 1))
    assert torch.equal(round_to(w, 3, 64).values(), round_to(w, 3).values())


def test_one_outlier_widens_the_steps_of_its_group_alone():
    w = torch.rand(1, 64)
    wide = w.clone()
    wide[0, 0] = 10
    before, after = F.affine_levels(w, 4, 32).step, F.affine_levels(wide, 4, 32).step
    assert after[0, 0] > 9 * before[0, 0]
    assert after[0, 1] == before[0, 1]


@pytest.mark.parametrize("round_to", [F.symmetric_levels, F.affine_levels])
def test_zeros_stay_zero_and_constants_stay(round_to):
    assert round_to(torch.zeros(2, 4), 4).values().tolist() == [[0] * 4] * 2
    constant = torch.full((1, 4), -3.7)
    torch.testing.assert_close(round_to(constant, 4).values(), constant, rtol=1e-12, atol=0)


def test_the_error_of_uniform_numbers_has_the_variance_of_a_step():
    """Monte Carlo: the mean of 200,000 squares is known to 0.9 / √200,000 = 0.2 %."""
    w = torch.rand(1, 200_000) * 2 - 1
    levels = F.affine_levels(w, 4)
    measured = (levels.values() - w).square().mean()
    assert measured == pytest.approx(F.rounding_variance(levels.step).item(), rel=0.01)


def test_the_error_of_a_product_is_that_of_its_terms_added_up():
    """Of each group of 64 the least and the largest number do not move: 3 % less."""
    W, x = torch.rand(4000, 128), torch.randn(2, 128)
    levels = F.affine_levels(W, 3, 64)
    errors = x @ (levels.values() - W).T  # (2, 4000): 4,000 draws for each x
    expected = F.product_variance(x, levels).mean(1)
    torch.testing.assert_close(errors.square().mean(1), expected, rtol=0.1, atol=0)


def test_the_variance_of_a_product_by_hand():
    """x = (1, 2, 3), one step 2: (1 + 4 + 9) · 4/12; two groups of unequal steps add up."""
    x = torch.tensor([[1.0, 2.0, 3.0]])
    codes, steps = torch.zeros(1, 2, 2, dtype=torch.int8), torch.tensor([6.0, 0.0])
    levels = Levels(codes[:, :, :1].repeat(1, 1, 3)[:, :1], torch.full((1, 1, 1), 2.0))
    assert F.product_variance(x, levels).item() == pytest.approx(14 / 3)
    assert F.product_variance(x[0], levels).item() == pytest.approx(14 / 3)  # no batch
    few_digits = Levels(levels.codes, levels.step.bfloat16())
    assert F.product_variance(x, few_digits).item() == pytest.approx(14 / 3)
    levels = Levels(codes, steps.view(1, 2, 1))
    assert F.product_variance(torch.ones(1, 4), levels).item() == pytest.approx(6)
    levels = Levels(codes, torch.tensor([0.0, 6.0]).view(1, 2, 1), width=3)
    assert F.product_variance(x, levels).item() == pytest.approx(27)


def test_decibels_by_hand():
    assert F.decibels(torch.tensor([3.0, 4.0]), torch.tensor([3.0, 3.5])) == pytest.approx(20)
    assert F.decibels(torch.ones(2), torch.ones(2)) == math.inf


@pytest.mark.parametrize("bits", [4, 6, 8])
def test_uniform_numbers_have_the_expected_ratio(bits):
    """Numbers uniform between -1 and 1 have the crest √3; 1 % is 0.04 dB."""
    w = torch.rand(1, 100_000) * 2 - 1
    measured = F.decibels(w, F.symmetric_levels(w, bits).values())
    assert measured == pytest.approx(F.expected_decibels(bits, math.sqrt(3)), abs=0.1)


def test_a_bit_more_is_six_decibels_and_so_is_half_the_crest():
    gain = F.expected_decibels(8, 4) - F.expected_decibels(7, 4)
    assert gain == pytest.approx(20 * math.log10(127 / 63))
    assert F.expected_decibels(8, 2) - F.expected_decibels(8, 4) == pytest.approx(
        6.0206, abs=1e-4
    )


def test_the_ratio_of_two_bits_and_numbers_all_as_large_is_twelve():
    assert F.expected_decibels(2, 1) == pytest.approx(10 * math.log10(12))


def test_levels_in_a_format_of_few_digits_are_kept_in_it():
    w = torch.randn(20, 8)
    levels, even = (f(w, 4, 4, torch.bfloat16) for f in (F.affine_levels, F.symmetric_levels))
    assert levels.step.dtype == levels.value_of_zero().dtype == torch.bfloat16
    assert even.value_of_zero().tolist() == [[[0.0]] * 2] * 20
    for found in (levels, even):
        assert found.values().dtype == torch.bfloat16
        assert found.values(torch.float16).dtype == torch.float16
    assert (7 * even.step.double() >= w.view(20, 2, 4).abs().amax(-1, keepdim=True)).all()


@pytest.mark.parametrize("round_to", [F.symmetric_levels, F.affine_levels])
@pytest.mark.parametrize(
    ("w", "bits", "group", "message"),
    [
        (torch.ones(2, 6), 1, None, "bits=1 must be 2 … 8"),
        (torch.ones(2, 6), 9, None, "bits=9 must be 2 … 8"),
        (torch.ones(2, 6), 4, 0, "group=0 must be at least 1"),
        (torch.ones(0, 6), 4, None, "nothing to round"),
        (torch.tensor([1.0, math.nan, math.inf]), 4, None, "2 of 3 numbers are NaN"),
    ],
)
def test_what_cannot_be_rounded_is_refused(round_to, w, bits, group, message):
    with pytest.raises(InputError, match=message):
        round_to(w, bits, group)


def test_steps_beyond_their_format_are_refused():
    with pytest.raises(InputError, match=r"infinite in torch\.float16"):
        F.symmetric_levels(torch.tensor([1e9]), 2, dtype=torch.float16)


@pytest.mark.usefixtures("unchecked")
def test_errors_that_have_no_measure_are_refused():
    with pytest.raises(InputError, match="all numbers are 0"):
        F.decibels(torch.zeros(3), torch.ones(3))
    with pytest.raises(InputError, match=r"shapes differ: \(3,\) and \(2,\)"):
        F.decibels(torch.ones(3), torch.ones(2))
    with pytest.raises(InputError, match=r"crest=0\.5"):
        F.expected_decibels(4, 0.5)
    with pytest.raises(InputError, match="crest=inf"):
        F.expected_decibels(4, math.inf)
    with pytest.raises(InputError, match="rows of 4 weights meet 3 inputs"):
        F.product_variance(torch.ones(1, 3), F.affine_levels(torch.ones(2, 4), 4))


@pytest.mark.parametrize("name", ["bits", "group"])
def test_bits_and_groups_are_integers(name, unchecked):
    with pytest.raises(InputTypeError, match=rf"{name}=4\.0 must be an integer"):
        F.symmetric_levels(torch.ones(8), **{"bits": 4, name: 4.0})
