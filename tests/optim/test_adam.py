import copy
import math

import pytest
import torch
from optim.test_sgd import FUSED, run
from torch import nn

from mathlm.optim import Adam, AdamEpsilonHat, AdamW

KINDS = [
    pytest.param(lambda p, **o: Adam(p, fused=False, **o), id="lines"),
    pytest.param(lambda p, **o: Adam(p, fused=True, **o), id="kernel"),
]


def moves(make, size, steps=5):
    """Displacement of eight numbers under small random gradients."""
    p, generator = nn.Parameter(torch.zeros(8)), torch.Generator().manual_seed(2)
    optimizer = make([p])
    for _ in range(steps):
        p.grad = size * torch.randn(8, generator=generator)
        optimizer.step()
    return p.detach()


@FUSED
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("eps", [1e-8, 0.1])
def test_a_hundred_steps_are_those_of_torch(fused, weight_decay, eps):
    start = torch.randn(5, 7)
    same = {"lr": 0.02, "weight_decay": weight_decay, "eps": eps, "betas": (0.8, 0.95)}
    ours = run(lambda p: Adam(p, fused=fused, **same), start)
    theirs = run(lambda p: torch.optim.Adam(p, **same), start)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    ("make", "peer"),
    [(Adam, torch.optim.Adam), (AdamW, torch.optim.AdamW)],
    ids=["Adam", "AdamW"],
)
def test_the_steps_are_those_of_the_compiled_kernel_bit_for_bit(make, peer):
    """A line at a time, other bits come out."""
    start = torch.randn(50, 7)
    assert torch.equal(run(make, start), run(lambda p: peer(p, fused=True), start))


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("g", [3.0, -0.2, 1e-6])
def test_the_first_step_is_the_sign_of_the_gradient(make, g):
    p = nn.Parameter(torch.zeros(1))
    p.grad = torch.tensor([g])
    make([p], lr=0.1).step()
    assert p.item() == pytest.approx(-0.1 * g / (abs(g) + 1e-8), rel=1e-12)


@FUSED
def test_tiny_gradients_move_as_in_torch(fused):
    ours = moves(lambda p: Adam(p, fused=fused), 1e-6)
    torch.testing.assert_close(ours, moves(torch.optim.Adam, 1e-6), rtol=1e-12, atol=0)


@pytest.mark.parametrize("make", KINDS)
def test_the_two_places_of_epsilon_differ_for_small_gradients(make):
    small, large = (
        (moves(make, s) / moves(AdamEpsilonHat, s) - 1).abs().max() for s in (1e-6, 1)
    )
    assert small > 0.1
    assert large < 1e-5


def test_epsilon_hat_is_epsilon_over_the_bias_correction():
    """Adam with ε = ε̂ / √(1-β₂ᵗ) in step t takes the same steps."""
    start, gradients = torch.randn(6), 1e-7 * torch.randn(30, 6)
    p, q = (nn.Parameter(start.clone()) for _ in range(2))
    hat, plain = AdamEpsilonHat([p], weight_decay=1e-7), Adam([q], weight_decay=1e-7)
    for t, g in enumerate(gradients, 1):
        plain.param_groups[0]["eps"] = 1e-8 / math.sqrt(1 - 0.999**t)
        p.grad, q.grad = g.clone(), g.clone()
        hat.step()
        plain.step()
    torch.testing.assert_close(p - start, q - start, rtol=1e-11, atol=1e-15)


def test_a_copied_state_of_the_epsilon_hat_form_continues_bit_for_bit():
    p = nn.Parameter(torch.ones(3))
    optimizer = AdamEpsilonHat([p])
    p.grad = torch.tensor([1.0, -2.0, 1e-9])
    optimizer.step()
    q = nn.Parameter(p.detach().clone())
    other = AdamEpsilonHat([q])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    q.grad = p.grad.clone()
    optimizer.step()
    other.step()
    assert torch.equal(p, q)


@pytest.mark.parametrize("make", KINDS)
def test_a_penalty_is_rescaled_by_the_gradients_and_a_decay_is_not(make):
    """Over 50 steps with gradients ±s: the penalty hardly moves the entry with the large s."""

    def shrinkage(make, weight_decay):
        p = nn.Parameter(torch.ones(2))
        optimizer = make([p], lr=0.01, weight_decay=weight_decay)
        for i in range(50):
            p.grad = (-1.0) ** i * torch.tensor([0.1, 10.0])
            optimizer.step()
        return p.detach()

    coupled = shrinkage(make, 0.0) - shrinkage(make, 0.1)
    apart = shrinkage(AdamW, 0.0) - shrinkage(AdamW, 0.1)
    assert coupled[0] > 20 * coupled[1]
    assert apart[0].item() == pytest.approx(apart[1].item(), rel=1e-2)
