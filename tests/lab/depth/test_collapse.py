import math

import pytest
import torch

from lab.depth.collapse import token_spread
from mathlm.errors import InputError


def test_spread_of_two_tokens_by_hand():
    """(3, 0) and (0, 4): the mean is (3/2, 2), each is 5/2 away, so √(2 · 25/4) / 5."""
    x = torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    assert token_spread(x).item() == pytest.approx(math.sqrt(0.5), rel=1e-14)


def test_tokens_that_are_alike_have_no_spread_and_opposite_ones_have_1():
    x = torch.randn(2, 1, 6).expand(2, 8, 6)
    assert token_spread(x).tolist() == [0, 0] or token_spread(x).max() < 1e-15
    assert token_spread(torch.stack([x[0, 0], -x[0, 0]])).item() == pytest.approx(1)


def test_no_other_matrix_of_equal_rows_is_nearer():
    x = torch.randn(7, 5)
    other = x.mean(0) + 0.1 * torch.randn(20, 5)
    distances = torch.linalg.matrix_norm(x - other.unsqueeze(1)) / torch.linalg.matrix_norm(x)
    assert (distances > token_spread(x)).all()


def test_independent_tokens_have_a_spread_of_the_root_of_1_minus_1_over_their_number():
    x = torch.randn(400, 16, 64)
    assert token_spread(x).mean().item() == pytest.approx(math.sqrt(15 / 16), abs=1e-3)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_spread_does_not_see_scale(scale):
    x = torch.randn(3, 7, 5)
    torch.testing.assert_close(token_spread(scale * x), token_spread(x), rtol=1e-12, atol=0)


def test_every_sequence_of_a_batch_has_its_own_spread():
    x = torch.randn(2, 3, 7, 5)
    assert token_spread(x).shape == (2, 3)
    assert token_spread(x)[1, 2] == token_spread(x[1, 2])


def test_the_gradient_is_that_of_finite_differences():
    x = torch.randn(4, 3, requires_grad=True)
    assert torch.autograd.gradcheck(token_spread, x)


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.zeros(2, 4, 3), r"largest entry of sequence \[0\] is 0\.0"),
        (torch.full((4, 3), math.nan), r"largest entry of sequence \[\] is nan"),
        (torch.ones(0, 3), r"shape \(0, 3\): there are no tokens"),
    ],
)
def test_sequences_without_a_size_are_refused(x, message):
    with pytest.raises(InputError, match=message):
        token_spread(x)
