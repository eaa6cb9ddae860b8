import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError
from mathlm.optim import Muon
from mathlm.optim.muon import orthogonalize

SHAPES = pytest.mark.parametrize("shape", [(8, 3), (3, 8), (5, 5)])
OPTIONS = pytest.mark.parametrize(
    ("nesterov", "scale"),
    [(True, "original"), (False, "original"), (True, "match_rms_adamw")],
)


def run(make, shape, steps=100):
    """Displacement of a matrix under random gradients."""
    generator = torch.Generator().manual_seed(4)
    start = torch.randn(shape, generator=generator)
    p = nn.Parameter(start.clone())
    optimizer = make([p])
    for _ in range(steps):
        p.grad = torch.randn(shape, generator=generator)
        optimizer.step()
    return p.detach() - start


@SHAPES
@OPTIONS
def test_the_lines_are_those_of_torch_in_double_precision(monkeypatch, shape, nesterov, scale):
    """Torch casts to bfloat16 inside; here its cast is a copy."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.clone)
    same = {"lr": 0.02, "momentum": 0.9, "nesterov": nesterov, "weight_decay": 0.1}
    ours = run(lambda p: Muon(p, scale=scale, fused=False, **same), shape)
    theirs = run(lambda p: torch.optim.Muon(p, adjust_lr_fn=scale, **same), shape)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-11)


@SHAPES
@OPTIONS
def test_the_kernel_is_that_of_torch_bit_for_bit(shape, nesterov, scale):
    same = {"lr": 0.02, "momentum": 0.9, "nesterov": nesterov, "weight_decay": 0.1}
    ours = run(lambda p: Muon(p, scale=scale, **same), shape)
    theirs = run(lambda p: torch.optim.Muon(p, adjust_lr_fn=scale, **same), shape)
    assert torch.equal(ours, theirs)


def test_the_numbers_that_are_not_given_are_those_of_torch():
    assert torch.equal(run(Muon, (8, 3)), run(torch.optim.Muon, (8, 3)))


@SHAPES
def test_lines_and_kernel_agree_to_the_rounding_of_bfloat16(shape):
    lines, kernel = (
        run(lambda p, f=f: Muon(p, lr=1.0, weight_decay=0.0, fused=f), shape, 1)
        for f in (False, True)
    )
    assert 0 < (lines - kernel).abs().max() < 5e-2  # five passes, of slope 3.4 at 0


@pytest.mark.parametrize("nesterov", [True, False])
def test_a_momentum_in_bfloat16_is_the_mean_of_the_gradients(nesterov):
    """100 I, then -100 I: 0.05 · 100 = 5, then 0.95 · 5 - 5 = -0.25, in each diagonal entry."""
    p = nn.Parameter(torch.zeros(4, 4, dtype=torch.bfloat16))
    optimizer = Muon([p], lr=0.01, nesterov=nesterov)
    for sign in (1, -1):
        p.grad = sign * 100 * torch.eye(4, dtype=torch.bfloat16)
        optimizer.step()
    m = optimizer.state[p]["m"].float()
    torch.testing.assert_close(m, -0.25 * torch.eye(4).float(), rtol=0, atol=5 / 128)


def test_singular_values_follow_the_polynomial():
    U, s, Vt = torch.linalg.svd(u := torch.randn(4, 7), full_matrices=False)
    s = s / s.norm()
    for _ in range(5):
        s = 3.4445 * s - 4.7750 * s**3 + 2.0315 * s**5
    torch.testing.assert_close(orthogonalize(u, 1e-7), U * s @ Vt, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("fused", [False, True])
def test_without_gradient_signal_only_the_decay_acts(fused):
    p = nn.Parameter(torch.ones(3, 2))
    p.grad = torch.zeros(3, 2)
    Muon([p], lr=0.5, weight_decay=0.1, fused=fused).step()
    torch.testing.assert_close(p.detach(), torch.full((3, 2), 0.95), rtol=1e-12, atol=0)


def test_unknown_scales_are_refused():
    with pytest.raises(ConfigError, match="'mine' is not known; it is one of original, match"):
        Muon([{"params": [nn.Parameter(torch.ones(2, 2))], "scale": "mine"}])
