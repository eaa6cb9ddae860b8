import pytest
import torch
from torch import nn

from mathlm.optim import SGD

FUSED = pytest.mark.parametrize("fused", [False, True], ids=["lines", "kernel"])


def run(make, start, steps=100, seed=1):
    """Where ``start`` is after steps with the gradients of a quadratic and noise."""
    generator = torch.Generator().manual_seed(seed)
    curvature = torch.rand(start.shape, generator=generator) + 0.1
    p = nn.Parameter(start.clone())
    optimizer = make([p])
    for _ in range(steps):
        p.grad = curvature * p.detach() + torch.randn(p.shape, generator=generator)
        optimizer.step()
    return p.detach()


@FUSED
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize(("momentum", "nesterov"), [(0.0, False), (0.9, False), (0.9, True)])
def test_a_hundred_steps_are_those_of_torch(fused, weight_decay, momentum, nesterov):
    options = {"momentum": momentum, "nesterov": nesterov, "weight_decay": weight_decay}
    start = torch.randn(5, 7)
    ours = run(lambda p: SGD(p, 0.05, fused=fused, **options), start)
    theirs = run(lambda p: torch.optim.SGD(p, 0.05, **options), start)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


def test_the_steps_are_those_of_the_compiled_kernel_bit_for_bit():
    """A line at a time, other bits come out."""
    start = torch.randn(50, 7)
    theirs = run(lambda p: torch.optim.SGD(p, 0.05, 0.9, fused=True), start)
    assert torch.equal(run(lambda p: SGD(p, 0.05, 0.9), start), theirs)


@FUSED
def test_averaged_momentum_is_torch_with_a_shorter_step(fused):
    start = torch.randn(5, 7)
    ours = run(lambda p: SGD(p, 0.5, 0.9, averaged=True, fused=fused), start)
    theirs = run(lambda p: torch.optim.SGD(p, 0.5 * (1 - 0.9), 0.9), start)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)


@FUSED
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, [-1, -2]),
        ({"momentum": 0.5}, [-1, -2.5]),
        ({"momentum": 0.5, "averaged": True}, [-0.5, -1.25]),
        ({"momentum": 0.5, "nesterov": True}, [-1.5, -3.25]),
    ],
    ids=["plain", "momentum", "averaged", "nesterov"],
)
def test_two_steps_by_hand(fused, options, expected):
    """β = 1/2, η = 1, g = 1: sums 1, 3/2; means 1/2, 3/4; looks ahead 1 + 1/2, 1 + 3/4."""
    p, found = nn.Parameter(torch.zeros(2)), []
    optimizer = SGD([p], lr=1.0, fused=fused, **options)
    for _ in range(2):
        p.grad = torch.ones(2)
        optimizer.step()
        found.append(p[0].item())
    assert found == expected


@FUSED
def test_the_penalty_has_the_gradient_of_half_the_square(fused):
    p = nn.Parameter(torch.tensor([2.0, -4.0]))
    p.grad = torch.zeros(2)
    SGD([p], lr=0.5, weight_decay=0.1, fused=fused).step()
    torch.testing.assert_close(p.detach(), 0.95 * torch.tensor([2.0, -4.0]), rtol=1e-15, atol=0)


def test_without_momentum_there_is_nothing_to_remember():
    p = nn.Parameter(torch.ones(2))
    p.grad = torch.ones(2)
    optimizer = SGD([p], lr=0.5)
    optimizer.step()
    assert p not in optimizer.state


@FUSED
def test_momentum_that_is_switched_on_later_begins_at_zero(fused):
    p = nn.Parameter(torch.zeros(2))
    optimizer = SGD([p], lr=1.0, fused=fused)
    for momentum in (0.0, 0.5, 0.5):
        optimizer.param_groups[0]["momentum"] = momentum
        p.grad = torch.ones(2)
        optimizer.step()
    assert p[0].item() == -1 - 1 - 1.5
