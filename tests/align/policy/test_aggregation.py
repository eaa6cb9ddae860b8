"""Three ways to one number, with the numbers of three answers of different length."""

import pytest
import torch

from mathlm.align import fixed_length_mean, sequence_mean, sequence_sum, token_mean
from mathlm.errors import InputError, InputTypeError

MASK = torch.tensor([[True, False, False], [True, True, True]])


def losses(left_out=0.0):
    return torch.tensor([[2.0, left_out, left_out], [1.0, 1.0, 1.0]])


def mean(pair):
    return float(pair[0] / pair[1])


def test_two_answers_of_one_and_three_tokens_by_hand():
    """(2 + 1)/2, 5/4 and (2 + 3)/(2 · 4)."""
    assert mean(sequence_mean(losses(), MASK)) == 1.5
    assert mean(token_mean(losses(), MASK)) == 1.25
    assert mean(fixed_length_mean(losses(), MASK, 4)) == 0.625


def test_sums_and_counts_add_up_over_any_parts_of_a_batch():
    for way in (sequence_mean, token_mean, lambda x, m: fixed_length_mean(x, m, 4)):
        whole = way(losses(), MASK)
        parts = [way(losses()[i : i + 1], MASK[i : i + 1]) for i in range(2)]
        assert float(whole[0]) == sum(float(total) for total, _ in parts)
        assert whole[1] == sum(count for _, count in parts)


@pytest.mark.parametrize("poison", [1e6, float("nan"), float("inf")])
def test_what_the_mask_leaves_out_changes_no_bit(poison):
    for way in (sequence_mean, token_mean, lambda x, m: fixed_length_mean(x, m, 4)):
        found = []
        for left_out in (0.0, poison):
            loss = losses(left_out).requires_grad_()
            total, _ = way(loss.square(), MASK)
            total.backward()
            found.append((total.detach(), loss.grad[MASK]))
        assert torch.equal(found[0][0], found[1][0])
        assert torch.equal(found[0][1], found[1][1])
    assert sequence_sum(losses(poison), MASK).tolist() == [2, 3]


def test_a_mask_of_another_shape_is_refused_where_it_would_be_stretched(unchecked):
    with pytest.raises(InputError, match=r"the shapes differ: x \(2, 3\), mask \(2, 1\)"):
        sequence_sum(torch.ones(2, 3), MASK[:, :1])


def test_a_sequence_without_tokens_is_named():
    mask = torch.tensor([[True, True, True], [False, False, False]])
    with pytest.raises(InputError, match="sequence 1 has no token that counts; leave empty"):
        sequence_mean(losses(), mask)
    assert sequence_sum(losses(), mask)[1] == 0


def test_nothing_to_average_is_an_error():
    with pytest.raises(InputError, match="no token counts: the mask is False everywhere"):
        token_mean(losses(), torch.zeros_like(MASK))
    with pytest.raises(InputError, match="the longest sequence has 0 tokens, length=4"):
        fixed_length_mean(losses(), torch.zeros_like(MASK), 4)


def test_a_length_that_an_answer_exceeds_is_refused():
    with pytest.raises(InputError, match="the longest sequence has 3 tokens, length=2"):
        fixed_length_mean(losses(), MASK, 2)
    assert fixed_length_mean(losses(), MASK, 3)[1] == 2


def test_a_mask_of_numbers_is_refused(unchecked):
    with pytest.raises(InputTypeError, match="mask must be bool, got int64"):
        token_mean(losses(), MASK.long())
