import pytest
import torch
from torch.testing import assert_close

from mathlm.align import whiten
from mathlm.errors import InputError


def test_mean_zero_and_spread_one_over_what_counts():
    """Numbers 1, 3, 5, 7: mean 4, spread √5."""
    mask = torch.tensor([[True, True, False], [True, True, False]])
    x = torch.tensor([[1.0, 3.0, 99.0], [5.0, 7.0, -99.0]])
    expected = torch.tensor([[-3.0, -1, 0], [1, 3, 0]]) / (5**0.5 + 1e-4)
    assert_close(whiten(x, mask), expected, rtol=0, atol=1e-15)
    assert_close(whiten(x[:, :2]), expected[:, :2], rtol=0, atol=1e-15)


@pytest.mark.parametrize("poison", [1e6, float("nan"), float("inf")])
def test_what_the_mask_leaves_out_changes_no_bit(poison):
    mask = torch.rand(4, 5) > 0.4
    x = torch.randn(4, 5)
    assert torch.equal(whiten(x, mask), whiten(x.masked_fill(~mask, poison), mask))


@pytest.mark.parametrize("number", [0.1, 1 / 3, 1e10])
def test_equal_numbers_give_exactly_zero(number):
    assert torch.equal(whiten(torch.full((3, 7), number)), torch.zeros(3, 7))


def test_noise_far_below_eps_is_not_blown_up():
    assert whiten(1 + 1e-9 * torch.tensor([1.0, -1.0])).abs().max() < 1.01e-5


def test_a_mask_of_rows_is_refused(unchecked):
    with pytest.raises(InputError, match=r"x \(2, 3\), mask \(2,\)"):
        whiten(torch.randn(2, 3), torch.tensor([True, False]))


def test_what_has_no_spread_is_refused():
    with pytest.raises(InputError, match="1 number counts: a spread needs at least two"):
        whiten(torch.ones(2), torch.tensor([True, False]))
    with pytest.raises(InputError, match="number of entry 1 is nan"):
        whiten(torch.tensor([0.0, float("nan")]))
