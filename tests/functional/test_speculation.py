import math

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.functional import (
    acceptance_probability,
    best_draft_length,
    expected_operations,
    expected_speedup,
    expected_tokens,
    output_distribution,
    residual_distribution,
)

P, Q = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.3, 0.5]], dtype=torch.float64)


def pairs(*batch, V=7):
    """Distributions with some tokens of probability 0 on either side, or on both."""
    p, q = torch.rand(2, *batch, V) * (torch.rand(2, *batch, V) < 0.7)
    p[..., 0] += 0.1
    q[..., -1] += 0.1
    return p / p.sum(-1, keepdim=True), q / q.sum(-1, keepdim=True)


def test_a_pair_by_hand():
    """min(p, q) = 0.2, 0.3, 0.2; p exceeds q at the first token only, by 0.3."""
    assert acceptance_probability(P, Q).item() == pytest.approx(0.7, abs=1e-15)
    expected = torch.tensor([1.0, 0.0, 0.0])
    assert torch.allclose(residual_distribution(P, Q), expected, atol=1e-15)


def test_the_three_forms_of_the_acceptance_agree():
    p, q = pairs(4, 5)
    drawn = torch.where(q > 0, q * (p / q).clamp(max=1.0), 0.0).sum(-1)
    assert torch.allclose(acceptance_probability(p, q), drawn, atol=1e-15)
    distance = (p - q).abs().sum(-1) / 2
    assert torch.allclose(acceptance_probability(p, q), 1 - distance, atol=1e-15)


def test_what_comes_out_is_distributed_as_the_target():
    p, q = pairs(200)
    assert torch.allclose(output_distribution(p, q), p, atol=1e-15)


def test_what_comes_out_does_not_change_with_the_draft():
    """Nor does it at a token that the draft never gives."""
    p, q = (x.requires_grad_() for x in pairs(200))
    (dq,) = torch.autograd.grad(output_distribution(p, q), q, torch.randn(200, 7))
    assert ((q == 0) & (p > 0)).any()
    assert dq[p > 0].abs().max() < 1e-12


@pytest.mark.parametrize("diagonal", [0.0, 1.0, 1e6])
def test_no_joint_draw_of_both_agrees_more_often(diagonal):
    """Tables scaled to the margins p and q; their diagonals start as heavy as they like."""
    p, q = torch.randn(2, 30, 4).softmax(-1)
    table = torch.rand(30, 4, 4) + diagonal * torch.eye(4)
    for _ in range(1000):
        table *= (p / table.sum(2)).unsqueeze(2)
        table *= (q / table.sum(1)).unsqueeze(1)
    agree, most = table.diagonal(dim1=1, dim2=2).sum(1), acceptance_probability(p, q)
    assert (agree < most + 1e-6).all()
    assert (agree > most - 1e-3).all() == (diagonal == 1e6)


def test_a_replacement_is_never_a_token_that_the_draft_prefers():
    p, q = pairs(50)
    r = residual_distribution(p, q)
    assert (r[q >= p] == 0).all()
    assert torch.allclose(r.sum(-1), torch.ones(50))


def test_equal_distributions_are_always_accepted_and_leave_the_target():
    p, _ = pairs(3)
    assert torch.allclose(acceptance_probability(p, p), torch.ones(3))
    assert torch.equal(residual_distribution(p, p), p)
    assert torch.allclose(output_distribution(p, p), p, atol=1e-15)


def test_an_acceptance_is_a_probability_in_single_precision_too():
    p = torch.randn(50, 1000, dtype=torch.float32).softmax(-1)
    assert (p.sum(-1) > 1).any()
    alpha = acceptance_probability(p, p)
    assert ((alpha > 1 - 1e-6) & (alpha <= 1)).all()
    assert expected_tokens(alpha.max().item(), 4) == pytest.approx(5)


def test_where_both_agree_the_gradient_is_that_of_the_target():
    """The residual is p there; 0 / 0 would leave NaN."""
    p = P.clone().requires_grad_()
    residual_distribution(p, P)[0].backward()
    assert p.grad.tolist() == [1.0, 0.0, 0.0]


def test_disjoint_distributions_are_never_accepted():
    p, q = torch.tensor([0.5, 0.5, 0.0]), torch.tensor([0.0, 0.0, 1.0])
    assert acceptance_probability(p, q).item() == 0
    assert torch.equal(output_distribution(p, q), p)


@pytest.mark.parametrize("draft_length", [0, 1, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
def test_tokens_of_a_round_are_the_mean_over_how_many_are_accepted(alpha, draft_length):
    """i < γ accepted with probability αⁱ (1 - α), all γ with α^γ; one token more each time."""
    mean = sum((i + 1) * alpha**i * (1 - alpha) for i in range(draft_length))
    mean += (draft_length + 1) * alpha**draft_length
    assert expected_tokens(alpha, draft_length) == pytest.approx(mean, rel=1e-14)
    closed = (1 - alpha ** (draft_length + 1)) / (1 - alpha)
    assert expected_tokens(alpha, draft_length) == pytest.approx(closed, rel=1e-14)


def test_perfect_draft_tokens_are_all_kept():
    assert expected_tokens(1, 5) == 6


def test_speedups_of_the_paper():
    """Leviathan et al. (2023), Table 1, for a draft that costs nothing."""
    arguments = ((0.6, 2), (0.7, 3), (0.8, 2), (0.8, 5), (0.9, 2), (0.9, 10))
    speed = [round(expected_speedup(a, n, 0.0), 2) for a, n in arguments]
    assert speed == [1.96, 2.53, 2.44, 3.69, 2.71, 6.86]
    operations = [round(expected_operations(a, n), 2) for a, n in arguments]
    assert operations == [1.53, 1.58, 1.23, 1.63, 1.11, 1.60]


def test_each_draft_token_of_the_draft_adds_its_operations():
    """(3 · 0.1 + 4) steps' worth of operations for 1 + 0.5 + 0.25 + 0.125 tokens."""
    assert expected_operations(0.5, 3, 0.1) == pytest.approx(4.3 / 1.875, rel=1e-14)


def test_reading_several_tokens_may_cost_more_than_reading_one():
    """1 + 0.5 tokens in 0.25 + 1.25 steps."""
    assert expected_speedup(0.5, 1, 0.25, verify=1.25) == pytest.approx(1.0)


def test_no_draft_tokens_change_nothing():
    assert expected_speedup(0.5, 0, 0.3, verify=2.0) == 1.0


@pytest.mark.parametrize("cost", [0.01, 0.1, 0.5, 0.9, 1.5])
@pytest.mark.parametrize("alpha", [0.05, 0.4, 0.8, 1.0])
def test_drafting_pays_exactly_if_a_draft_token_is_accepted_oftener_than_it_costs(alpha, cost):
    draft_length = best_draft_length(alpha, cost)
    assert (draft_length > 0) == (alpha > cost)
    gains = [expected_speedup(alpha, n, cost) for n in range(65)]
    assert gains[draft_length] == max(gains)


@pytest.mark.parametrize(("alpha", "cost"), [(0.8, 0.05), (0.6, 0.02), (0.9, 0.2)])
def test_one_draft_token_more_pays_as_long_as_its_chance_exceeds_cost_times_speedup(
    alpha, cost
):
    pays = [alpha ** (n + 1) > cost * expected_speedup(alpha, n, cost) for n in range(65)]
    assert best_draft_length(alpha, cost) == pays.index(False)


def test_free_and_perfect_draft_tokens_are_made_without_end():
    assert best_draft_length(1, 0, most=9) == 9


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: expected_tokens(1.2, 3), r"alpha=1.2 is outside 0..1"),
        (lambda: expected_tokens(math.nan, 3), r"alpha=nan is outside"),
        (lambda: expected_tokens(0.5, -1), "-1 draft tokens: give 0 or more"),
        (lambda: expected_speedup(0.5, 3, -0.1), "cost=-0.1 must be finite"),
        (lambda: expected_operations(0.5, 3, -0.1), "cost=-0.1 must be finite"),
        (lambda: expected_speedup(0.5, 3, math.inf), "cost=inf must be finite"),
        (lambda: expected_speedup(0.5, 3, 0.1, 0), "verify=0 must be finite and positive"),
        (lambda: expected_speedup(0.5, 3, 0.1, math.inf), "verify=inf must be finite"),
        (lambda: best_draft_length(0.5, 0.1, -2), "-2 draft tokens"),
        (lambda: acceptance_probability(P, 2 * Q), "q is no distribution.*up to 1;"),
        (lambda: residual_distribution(P - 0.3, Q), "p is no distribution.*entry is -0.1"),
        (lambda: output_distribution(P * math.nan, Q), "p is no distribution.*nan"),
        (lambda: acceptance_probability(P[:0], Q[:0]), r"p \(0,\) and q \(0,\)"),
    ],
)
def test_what_is_no_probability_is_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_sum_may_be_off_by_half_of_the_digits():
    """√eps of double precision is 2⁻²⁶."""
    assert acceptance_probability(*torch.tensor([[0.5, 0.5 + 2.0**-26]] * 2)) == 1
    with pytest.raises(InputError, match=r"p is no distribution"):
        acceptance_probability(*torch.tensor([[0.5, 0.5 + 2.0**-26 + 2.0**-50]] * 2))


def test_other_shapes_and_dtypes_are_refused(unchecked):
    with pytest.raises(InputError, match=r"p \(3,\) and q \(1, 3\) must be of one shape"):
        acceptance_probability(P, Q[None])
    with pytest.raises(InputTypeError, match=r"p is torch\.float64 and q torch\.float32"):
        acceptance_probability(P, Q.float())
    with pytest.raises(InputTypeError, match="one floating-point dtype"):
        acceptance_probability(P.long(), Q.long())
