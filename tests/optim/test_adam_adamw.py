import copy
import math

import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError, InputTypeError
from mathlm.optim import AdamW

FUSED = pytest.mark.parametrize("fused", [False, True], ids=["lines", "kernel"])


def run(make, gradients, start):
    """Where ``start`` is after a step for each gradient."""
    p = nn.Parameter(start.clone())
    optimizer = make([p])
    for g in gradients:
        p.grad = g.clone()
        optimizer.step()
    return p.detach()


@FUSED
@pytest.mark.parametrize("weight_decay", [0.0, 0.1])
@pytest.mark.parametrize("size", [1.0, 1e-6])
def test_adamw_matches_torch(fused, weight_decay, size):
    options = {"lr": 0.01, "betas": (0.9, 0.95), "weight_decay": weight_decay}
    start, gradients = torch.randn(5, 7), [size * torch.randn(5, 7) for _ in range(10)]
    ours = run(lambda p: AdamW(p, fused=fused, **options), gradients, start)
    theirs = run(lambda p: torch.optim.AdamW(p, **options), gradients, start)
    torch.testing.assert_close(ours - start, theirs - start, rtol=1e-12, atol=1e-15)


@FUSED
def test_epsilon_is_added_after_the_bias_correction(fused):
    g, lr, eps = 1e-6, 0.1, 1e-8
    moved = run(
        lambda p: AdamW(p, lr=lr, eps=eps, weight_decay=0.0, fused=fused),
        [torch.tensor([g])],
        torch.zeros(1),
    )
    assert moved.item() == pytest.approx(-lr * g / (g + eps), rel=1e-12)
    inside = -lr * g * (1 - 0.9) / (1 - 0.9) / (g + eps / math.sqrt(1 - 0.999))
    assert moved.item() != pytest.approx(inside, rel=1e-2)


@FUSED
def test_the_first_step_has_the_size_of_the_learning_rate(fused):
    gradient = torch.tensor([3.0, -0.2, 1e-3])
    moved = run(
        lambda p: AdamW(p, lr=0.5, eps=0.0, weight_decay=0.0, fused=fused),
        [gradient],
        torch.zeros(3),
    )
    torch.testing.assert_close(moved, -0.5 * gradient.sign(), rtol=1e-12, atol=0)


@FUSED
def test_without_gradient_signal_only_the_decay_acts(fused):
    moved = run(
        lambda p: AdamW(p, lr=0.5, weight_decay=0.1, fused=fused),
        [torch.zeros(3)],
        torch.ones(3),
    )
    torch.testing.assert_close(moved, torch.full((3,), 0.95), rtol=1e-12, atol=0)


@FUSED
def test_a_parameter_without_gradient_stays_and_its_clock_stands(fused):
    used, idle = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2))
    optimizer = AdamW([used, idle], fused=fused)
    for _ in range(3):
        used.grad = torch.ones(2)
        optimizer.step()
    assert torch.equal(idle, torch.ones(2))
    assert idle not in optimizer.state
    assert optimizer.state[used]["step"] == 3


@FUSED
def test_parameters_with_clocks_of_their_own_match_torch(fused):
    def steps(make):
        torch.manual_seed(3)
        a, b = nn.Parameter(torch.ones(4)), nn.Parameter(torch.ones(4))
        optimizer = make([{"params": [a]}, {"params": [b], "lr": 0.3, "weight_decay": 0.0}])
        for i in range(6):
            a.grad, b.grad = torch.randn(4), torch.randn(4) if i % 2 else None
            optimizer.step()
        return torch.cat([a, b]).detach()

    ours = steps(lambda groups: AdamW(groups, fused=fused))
    torch.testing.assert_close(ours, steps(torch.optim.AdamW), rtol=1e-12, atol=1e-15)


@FUSED
def test_a_copied_state_continues_as_the_original(fused):
    def continued(optimizer, p):
        for g in (1.0, -2.0):
            p.grad = torch.full((3,), g)
            optimizer.step()
        return p.detach().clone()

    p = nn.Parameter(torch.ones(3))
    optimizer = AdamW([p], fused=fused)
    continued(optimizer, p)
    q = nn.Parameter(p.detach().clone())
    other = AdamW([q], fused=fused)
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    assert torch.equal(continued(optimizer, p), continued(other, q))


def test_both_forms_agree_in_float32():
    start = torch.randn(50, dtype=torch.float32)
    gradients = [torch.randn(50, dtype=torch.float32) for _ in range(20)]
    lines, kernel = (
        run(lambda p, f=f: AdamW(p, fused=f), gradients, start) for f in (False, True)
    )
    torch.testing.assert_close(lines, kernel, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(
    ("option", "text"),
    [
        ({"lr": -1.0}, "lr=-1.0 must be finite and not negative"),
        ({"lr": math.nan}, "lr=nan must be finite"),
        ({"eps": -1e-8}, "eps=-1e-08 must be"),
        ({"weight_decay": math.inf}, "weight_decay=inf must be"),
        ({"betas": (0.9, 1.0)}, r"betas=\(0.9, 1.0\) must lie in \[0, 1\)"),
    ],
)
def test_numbers_outside_their_range_are_refused(option, text):
    with pytest.raises(ConfigError, match=text):
        AdamW([nn.Parameter(torch.ones(1))], **option)
    with pytest.raises(ConfigError, match=text):
        AdamW([{"params": [nn.Parameter(torch.ones(1))]} | option])


def test_complex_parameters_are_refused():
    with pytest.raises(
        InputTypeError, match=r"real floating-point parameters, got torch.complex"
    ):
        AdamW([nn.Parameter(torch.ones(2, dtype=torch.complex64))])


def test_sparse_gradients_are_refused():
    table = nn.Embedding(5, 2, sparse=True)
    table(torch.tensor([1])).sum().backward()
    before = table.weight.detach().clone()
    with pytest.raises(InputTypeError, match=r"dense gradients, got a sparse one .* \(5, 2\)"):
        AdamW(table.parameters()).step()
    assert torch.equal(table.weight, before)


def test_a_nan_gradient_is_refused_and_nothing_moves():
    p, q = nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(3))
    optimizer = AdamW([p, q])
    p.grad, q.grad = torch.ones(2), torch.tensor([1.0, math.nan, math.inf])
    with pytest.raises(
        ArithmeticError, match=r"2 of 3 entries of the gradient .* shape \(3,\) are not finite"
    ):
        optimizer.step()
    assert torch.equal(p, torch.ones(2))
