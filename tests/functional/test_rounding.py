"""Rounding to narrower formats, against NumPy's and torch's own conversions."""

from fractions import Fraction

import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import float_spacing, round_scaled, round_stochastic, round_to

FORMATS = [torch.float32, torch.bfloat16, torch.float16]


def numbers_of_all_sizes(dtype):
    """Random bits: every exponent, subnormals, infinities and NaN of ``dtype`` among them."""
    bits = {torch.float32: torch.int32, torch.float64: torch.int64}[dtype]
    limits = torch.iinfo(bits)
    generator = torch.Generator().manual_seed(0)
    draw = torch.randint(limits.min, limits.max, (20_000,), generator=generator, dtype=bits)
    special = torch.tensor([0.0, -0.0, np.inf, -np.inf, np.nan], dtype=dtype)
    return torch.cat([special, draw.view(dtype)])


def same_bits(a, b):
    """Equal, signs of zeros and places of NaN included."""
    both = a.isnan() == b.isnan()
    return (both & (a.isnan() | ((a == b) & (a.signbit() == b.signbit())))).all()


EIGHT = [torch.float8_e4m3fn, torch.float8_e5m2]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_float32_rounds_as_torch_converts(dtype):
    x = numbers_of_all_sizes(torch.float32)
    assert same_bits(round_to(x, dtype), x.to(dtype).float())


@pytest.mark.parametrize(
    ("dtype", "peer"), [(FORMATS[0], np.float32), (FORMATS[2], np.float16)]
)
def test_float64_rounds_as_numpy_converts(dtype, peer):
    x = torch.cat([numbers_of_all_sizes(torch.float64), torch.randn(20_000) * 10])
    with np.errstate(all="ignore"):
        expected = torch.from_numpy(x.numpy().astype(peer).astype(np.float64))
    assert same_bits(round_to(x, dtype), expected)


@pytest.mark.parametrize("dtype", FORMATS)
def test_spacing_is_the_gap_between_neighbors(dtype):
    x = (torch.randn(2000) * 10.0 ** torch.randint(-6, 4, (2000,))).to(dtype).abs()
    above = torch.nextafter(x, torch.tensor(torch.inf, dtype=dtype))
    gap = above.double() - x.double()
    assert torch.equal(float_spacing(x.double(), dtype), gap)


def test_spacing_of_known_numbers():
    """Near 1, 2^-10 and 2^-7; near 4096, 4 and 32; the smallest float16 is 2^-24."""
    x = torch.tensor([1.0, 4096.0, 0.0])
    assert float_spacing(x, torch.float16).tolist() == [2**-10, 4.0, 2**-24]
    assert float_spacing(x, torch.bfloat16).tolist()[:2] == [2**-7, 32.0]


def test_ties_go_to_the_even_neighbor():
    """2049 lies between 2048 and 2050 in float16, 2051 between 2050 and 2052."""
    x = torch.tensor([2049.0, 2051.0, -2049.0])
    assert round_to(x, torch.float16).tolist() == [2048.0, 2052.0, -2048.0]


def test_a_float64_is_rounded_once():
    """1 + 2^-8 + 2^-40 is above the middle; by way of float32 it would be the middle itself."""
    x = torch.tensor([1 + 2.0**-8 + 2.0**-40])
    assert round_to(x, torch.bfloat16).item() == 1 + 2**-7


def test_the_largest_number_and_half_a_spacing_more():
    """65504 + 16 is the first number that float16 rounds to infinity."""
    x = torch.tensor([65519.99, 65520.0, -65520.0])
    assert round_to(x, torch.float16).tolist() == [65504.0, np.inf, -np.inf]


@pytest.mark.parametrize("dtype", FORMATS)
def test_stochastic_rounding_takes_a_neighbor(dtype):
    x = torch.randn(5000)
    y, s = round_stochastic(x, dtype), float_spacing(x, dtype)
    assert torch.equal(round_to(y, dtype), y)
    assert ((y - x).abs() < s).all()


def test_stochastic_rounding_is_right_in_the_mean():
    """1 + 0.3 · 2^-7 goes up with probability 0.3: 30,000 ± 145 times of 100,000."""
    x = torch.full((100_000,), 1 + 0.3 * 2.0**-7)
    y = round_stochastic(x, torch.bfloat16, torch.Generator().manual_seed(0))
    assert set(y.tolist()) == {1.0, 1 + 2.0**-7}
    assert abs(int((y > 1).sum()) - 30_000) < 4 * 145


def test_stochastic_rounding_keeps_what_a_sum_in_bfloat16_loses():
    """1 + 1000 · 2^-10 is 1.98; rounded to the nearest each time, it stays 1."""
    nearest = drawn = torch.ones(2000)
    generator = torch.Generator().manual_seed(0)
    for _ in range(1000):
        nearest = round_to(nearest + 2**-10, torch.bfloat16)
        drawn = round_stochastic(drawn + 2**-10, torch.bfloat16, generator)
    assert (nearest == 1).all()
    assert drawn.mean().item() == pytest.approx(1 + float(Fraction(1000, 1024)), abs=0.01)


def test_equal_generators_draw_equally_whatever_the_default_dtype_and_device():
    x = torch.randn(100)
    first, second = (torch.Generator().manual_seed(5) for _ in range(2))
    drawn = round_stochastic(x, torch.bfloat16, first)
    torch.set_default_dtype(torch.float32)  # conftest sets it anew for each test
    with torch.device("meta"):  # where nothing is computed
        assert torch.equal(round_stochastic(x, torch.bfloat16, second), drawn)


@pytest.mark.parametrize("f", [round_to, round_stochastic, round_scaled])
def test_rounded_numbers_have_the_dtype_of_the_number(f):
    assert f(torch.randn(4, dtype=torch.float32), torch.bfloat16).dtype == torch.float32


@pytest.mark.parametrize("f", [round_to, round_stochastic])
def test_numbers_that_are_not_finite_stay(f):
    x = torch.tensor([np.inf, -np.inf, np.nan])
    assert same_bits(f(x, torch.float16), x)


@pytest.mark.parametrize("f", [round_to, round_stochastic, float_spacing])
def test_other_formats_are_refused(f):
    with pytest.raises(InputError, match=r"dtype=torch.int8 is not one of torch.float32"):
        f(torch.ones(2), torch.int8)
    with pytest.raises(InputTypeError, match=r"float32 or float64 .* got torch.float16"):
        f(torch.ones(2, dtype=torch.float16), torch.bfloat16)


@pytest.mark.parametrize("dtype", EIGHT)
def test_every_number_of_eight_bits_is_kept_and_all_between_go_to_a_nearest_one(dtype):
    """All 256 bit patterns stay; any other number goes to one that none is nearer to."""
    held = torch.arange(256, dtype=torch.uint8).view(dtype).float()
    held = held[held.isfinite()]
    assert torch.equal(round_to(held, dtype), held)
    largest = torch.finfo(dtype).max
    x = torch.randn(2000, dtype=torch.float64) * 10.0 ** torch.randint(-6, 3, (2000,))
    x = x.clamp(-largest, largest)
    nearest = (x[:, None] - held).abs().min(1).values
    torch.testing.assert_close((round_to(x, dtype) - x).abs(), nearest, rtol=0, atol=0)


@pytest.mark.parametrize("dtype", EIGHT)
def test_eight_bits_round_as_torch_converts(dtype):
    x = numbers_of_all_sizes(torch.float32)
    x = x[(x.abs() <= torch.finfo(dtype).max) | x.isnan()]  # beyond, versions differ
    assert same_bits(round_to(x, dtype), x.to(dtype).float())


def test_beyond_its_largest_number_e4m3_has_no_infinity_and_e5m2_has():
    """448 = 1.75 · 2^8: half a spacing more, 464, is a tie that goes to it (1.75 is even).

    Beyond, E4M3 has NaN, as the specification of the Open Compute Project says for a conversion
    that does not saturate.
    """
    x = torch.tensor([448.0, 464.0, 465.0, 57344.0, 70000.0])
    assert round_to(x, EIGHT[0])[:2].tolist() == [448.0, 448.0]
    assert round_to(x, EIGHT[0])[2:].isnan().all()
    assert round_to(x, EIGHT[1])[3:].tolist() == [57344.0, np.inf]


def test_a_scale_brings_every_block_into_range_by_a_power_of_two():
    """Blocks of two: 1000 needs 4 (448 · 2 < 1000 ≤ 448 · 4), 0.001 needs 2^-18."""
    x = torch.tensor([[1000.0, 0.3, 0.001, 0.0]])
    found = round_scaled(x, EIGHT[0], block=2)
    first = round_to(x[:, :2] / 4, EIGHT[0]) * 4
    second = round_to(x[:, 2:] * 2.0**18, EIGHT[0]) / 2**18
    assert torch.equal(found, torch.cat([first, second], 1))
    assert torch.equal(round_scaled(x, EIGHT[0]), round_to(x / 4, EIGHT[0]) * 4)
    assert torch.equal(round_scaled(8 * x, EIGHT[0], 2), 8 * found)
    assert not round_scaled(torch.zeros(4), EIGHT[0]).any()


def test_without_blocks_rows_share_a_scale_and_in_blocks_of_one_numbers_have_their_own():
    """With a scale of 4, 0.001 lies below half of the smallest number, 2^-9."""
    x = torch.tensor([1000.0, 0.001])
    assert round_scaled(x[:, None], EIGHT[0]).tolist() == [[1024.0], [0.0]]
    alone = [round_scaled(number, EIGHT[0]) for number in x]
    assert alone[1] > 0
    assert torch.equal(round_scaled(x, EIGHT[0], block=1), torch.stack(alone))


def test_blocks_that_do_not_fit_and_numbers_that_are_not_finite_have_no_scale():
    with pytest.raises(
        InputError, match=r"blocks of 3 do not divide the last axis of \(2, 4\)"
    ):
        round_scaled(torch.ones(2, 4), EIGHT[0], block=3)
    for shape, block in (((4,), 0), ((4,), -2), ((), 1)):
        with pytest.raises(InputError, match=f"blocks of {block} do not divide"):
            round_scaled(torch.ones(shape), EIGHT[0], block)
    with pytest.raises(InputError, match="NaN and infinity have no scale"):
        round_scaled(torch.tensor([np.inf]), EIGHT[0])


def test_what_is_not_finite_has_no_spacing():
    with pytest.raises(InputError, match="NaN and infinity have no neighbors"):
        float_spacing(torch.tensor([1.0, np.nan]), torch.float16)
