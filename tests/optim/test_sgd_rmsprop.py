import math

import pytest
import torch
from optim.test_sgd import FUSED, run
from torch import nn

from mathlm.optim import RMSProp


@FUSED
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("eps", [1e-8, 0.1])
def test_a_hundred_steps_are_those_of_torch(fused, weight_decay, eps):
    start = torch.randn(5, 7)
    same = {"lr": 0.02, "weight_decay": weight_decay, "eps": eps}
    ours = run(lambda p: RMSProp(p, decay=0.9, fused=fused, **same), start)
    theirs = run(lambda p: torch.optim.RMSprop(p, alpha=0.9, **same), start)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_numbers_that_are_not_given_are_those_of_torch():
    start = torch.randn(5, 7)
    theirs = run(torch.optim.RMSprop, start)
    torch.testing.assert_close(run(RMSProp, start), theirs, rtol=1e-12, atol=1e-12)


@FUSED
def test_two_steps_by_hand(fused):
    """β = 3/4, g = 1: v = 1/4, 7/16, so the steps are 2 and 4/√7 times η."""
    p = nn.Parameter(torch.zeros(1))
    optimizer = RMSProp([p], lr=1.0, decay=0.75, eps=1e-300, fused=fused)
    for expected in (-2, -2 - 4 / math.sqrt(7)):
        p.grad = torch.ones(1)
        optimizer.step()
        assert p.item() == pytest.approx(expected, rel=1e-15)


@FUSED
def test_the_size_of_the_gradient_does_not_matter(fused):
    start = torch.zeros(3)
    small, large = (nn.Parameter(start.clone()) for _ in range(2))
    for p, size in ((small, 1e-3), (large, 1e3)):
        optimizer = RMSProp([p], eps=1e-30, fused=fused)
        for i in range(5):
            p.grad = size * torch.tensor([1.0, -2.0, 0.5 + i])
            optimizer.step()
    torch.testing.assert_close(small, large, rtol=1e-12, atol=0)
