import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import first_pool, l2_normalize, mean_pool

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
MASK = torch.tensor([[True, True, False], [False, True, False]])
NAN = float("nan")


def test_the_mean_is_taken_over_the_tokens_that_count():
    """(1, 2) and (3, 6) have the mean (2, 4); one vector is its own mean."""
    hidden = torch.tensor([[[1.0, 2], [3, 6], [9, 9]], [[7, 7], [5, 8], [0, 0]]])
    assert mean_pool(hidden, MASK).tolist() == [[2, 4], [5, 8]]


def test_without_a_mask_every_token_counts():
    hidden = torch.randn(3, 5, 4)
    torch.testing.assert_close(mean_pool(hidden), hidden.mean(1), **TIGHT)
    torch.testing.assert_close(mean_pool(hidden, torch.ones(3, 5) > 0), hidden.mean(1), **TIGHT)


@pytest.mark.parametrize("pool", [mean_pool, first_pool])
def test_without_a_mask_nothing_is_made_on_another_device_than_the_vectors(pool):
    hidden = torch.randn(2, 3, 4)
    expected = pool(hidden)
    with torch.device("meta"):  # where tensors are made unless it is said
        assert torch.equal(pool(hidden), expected)


@pytest.mark.parametrize("pool", [mean_pool, first_pool])
def test_what_stands_at_padding_does_not_matter(pool):
    hidden = torch.randn(2, 3, 4)
    expected = pool(hidden, MASK)
    poisoned = hidden.masked_fill(~MASK.unsqueeze(-1), NAN).requires_grad_()
    y = pool(poisoned, MASK)
    y.square().sum().backward()
    assert torch.equal(y, expected)
    assert (poisoned.grad[~MASK] == 0).all()
    assert poisoned.grad[MASK].isfinite().all()


def test_the_mean_has_the_gradient_of_finite_differences():
    hidden = torch.randn(2, 3, 2, requires_grad=True)
    assert torch.autograd.gradcheck(lambda h: mean_pool(h, MASK), hidden)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_sum_beyond_half_precision_still_has_its_mean(dtype):
    """100 times 1024 is beyond 65504, the largest number of float16."""
    pooled = mean_pool(torch.full((1, 100, 2), 1024.0, dtype=dtype))
    assert pooled.dtype == dtype
    assert pooled.tolist() == [[1024, 1024]]


def test_the_first_token_that_counts_is_found_on_either_side_of_padding():
    hidden = torch.arange(6.0).view(2, 3, 1)
    assert first_pool(hidden, MASK).tolist() == [[0], [4]]
    assert first_pool(hidden).tolist() == [[0], [3]]


@pytest.mark.parametrize("pool", [mean_pool, first_pool])
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.tensor([[True] * 3, [False] * 3]), InputError, "sequence 1 has no token"),
        (torch.ones(2, 4) > 0, InputError, r"mask \(2, 4\) must be \(2, 3\)"),
        (torch.ones(1, 3) > 0, InputError, r"mask \(1, 3\) must be \(2, 3\)"),
        (torch.ones(2, 3), InputTypeError, "mask must be bool, True = counts, got float32"),
        (torch.ones(2, 3).long(), InputTypeError, "mask must be bool, .* got int64"),
    ],
)
def test_masks_that_do_not_fit_are_refused(pool, mask, error, message):
    with pytest.raises(error, match=message):
        pool(torch.randn(2, 3, 4), mask)


@pytest.mark.parametrize("pool", [mean_pool, first_pool])
def test_a_sequence_of_no_tokens_is_refused(pool):
    with pytest.raises(InputError, match="sequence 0 has no token that counts"):
        pool(torch.randn(2, 0, 4))


def test_three_and_four_become_three_and_four_fifths():
    torch.testing.assert_close(
        l2_normalize(torch.tensor([3.0, -4.0])), torch.tensor([0.6, -0.8]), **TIGHT
    )


def test_normalizing_agrees_with_torch():
    x = torch.randn(2, 3, 5)
    expected = torch.nn.functional.normalize(x, dim=-1)
    torch.testing.assert_close(l2_normalize(x), expected, **TIGHT)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200, 1e308])
def test_the_length_is_1_where_squares_overflow_or_vanish(scale):
    y = l2_normalize(torch.tensor([[1.0, -1.0]]) * scale)
    torch.testing.assert_close(y, torch.tensor([[1.0, -1.0]]) / math.sqrt(2), **TIGHT)


def test_half_precision_vectors_have_length_1_too():
    y = l2_normalize(torch.full((1, 64), 60_000.0, dtype=torch.float16))
    assert y.dtype == torch.float16
    assert y.double().square().sum().item() == pytest.approx(1.0, rel=1e-3)


def test_normalizing_has_the_gradient_of_finite_differences():
    x = torch.randn(3, 4, requires_grad=True)
    assert torch.autograd.gradcheck(l2_normalize, x)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ([0.0, 0.0], r"vector at \[1\] has no direction: its largest entry is 0\.0"),
        ([1.0, math.inf], r"vector at \[1\] .* its largest entry is inf"),
        ([NAN, 1.0], r"vector at \[1\] .* its largest entry is nan"),
    ],
)
def test_a_vector_without_direction_is_refused_with_its_place(row, message):
    with pytest.raises(InputError, match=message):
        l2_normalize(torch.tensor([[1.0, 2.0], row]))


def test_an_empty_vector_is_refused():
    with pytest.raises(InputError, match=r"x has shape \(3, 0\): there are no entries"):
        l2_normalize(torch.zeros(3, 0))


@pytest.mark.parametrize("pool", [mean_pool, first_pool])
@pytest.mark.usefixtures("unchecked")
def test_hidden_states_that_are_no_batch_of_vectors_are_refused(pool):
    """A mean of integers would be cut to integers; a fourth axis would be taken for T."""
    with pytest.raises(InputTypeError, match=r"floating-point numbers, got torch.int64"):
        pool(torch.ones(2, 3, 4, dtype=torch.int64))
    with pytest.raises(InputTypeError, match=r"floating-point numbers, got list"):
        pool([[[1.0]]])
    for shape in ((2, 3), (1, 2, 3, 4)):
        with pytest.raises(InputError, match=r"hidden has shape .*, expected .B, T, D."):
            pool(torch.ones(shape))
    with pytest.raises(InputTypeError, match=r"mask must be a bool tensor, .* got list"):
        pool(torch.ones(1, 2, 3), [[True, True]])
