import math

import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError, NonFiniteLossError
from mathlm.optim import clip_grad_norm, grad_norm


def parameters(*gradients):
    result = []
    for g in gradients:
        p = nn.Parameter(torch.zeros_like(g))
        p.grad = g.clone()
        result.append(p)
    return result


def test_the_norm_is_that_of_all_parameters_as_one_vector():
    params = [
        *parameters(torch.tensor([3.0]), torch.tensor([[4.0], [12.0]])),
        nn.Parameter(torch.ones(9)),
    ]
    assert grad_norm(params).item() == pytest.approx(13, rel=1e-15)


def test_a_long_gradient_is_shortened_and_keeps_its_direction():
    params = parameters(torch.tensor([3.0]), torch.tensor([4.0]))
    assert clip_grad_norm(params, 2.5) == 5
    assert [p.grad.item() for p in params] == pytest.approx([1.5, 2.0], rel=1e-15)


def test_a_short_gradient_stays_bit_for_bit():
    g = torch.randn(7)
    (p,) = parameters(g)
    clip_grad_norm([p], g.norm().item() * (1 + 1e-15))
    assert torch.equal(p.grad, g)


def test_clipping_matches_torch_up_to_its_guard():
    ours, theirs = (parameters(torch.ones(5, 2), torch.full((3,), 7.0)) for _ in range(2))
    norm = clip_grad_norm(ours, 1.0)
    assert norm == pytest.approx(nn.utils.clip_grad_norm_(theirs, 1.0).item(), rel=1e-12)
    for p, q in zip(ours, theirs, strict=True):
        torch.testing.assert_close(p.grad, q.grad, rtol=1e-6, atol=0)


def test_without_bound_the_gradient_is_only_measured():
    (p,) = parameters(torch.tensor([3e30, 4e30]))
    assert clip_grad_norm([p]) == pytest.approx(5e30)
    assert p.grad.tolist() == [3e30, 4e30]


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_norm_that_is_not_finite_is_an_error_and_nothing_changes(bad):
    params = parameters(torch.ones(2), torch.tensor([1.0, bad]))
    text = rf"the norm of the gradient is {bad}, from 1 of 2 parameters, first of shape \(2,\)"
    with pytest.raises(NonFiniteLossError, match=text):
        clip_grad_norm(params, 0.1)
    assert params[0].grad.tolist() == [1, 1]


def test_a_norm_that_overflows_says_so():
    params = parameters(torch.full((4,), 3e38, dtype=torch.float32))
    with pytest.raises(NonFiniteLossError, match="every entry is finite"):
        clip_grad_norm(params, 1.0)


@pytest.mark.parametrize("bound", [0.0, -1.0, math.nan])
def test_a_bound_must_be_positive(bound):
    with pytest.raises(ConfigError, match="must be positive"):
        clip_grad_norm([], bound)


def test_no_gradient_has_the_norm_zero():
    assert clip_grad_norm([nn.Parameter(torch.ones(2))], 1.0) == 0
