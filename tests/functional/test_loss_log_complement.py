"""log(1 - exp(x)) to the last digits, near certainty and far from it."""

import math

import mpmath
import pytest
import torch

from mathlm.errors import InputError
from mathlm.functional import log1mexp

POINTS = [-(10.0**k) for k in range(-12, 3)] + [-0.5, -0.69, -math.log(2), -0.7, -3.0, -700.0]


def exact(x):
    """By 60 digits."""
    with mpmath.workdps(60):
        return float(mpmath.log(1 - mpmath.exp(mpmath.mpf(x))))


@pytest.mark.parametrize(
    ("dtype", "tolerance"), [(torch.float64, 1e-12), (torch.float32, 1e-6)]
)
def test_it_is_the_logarithm_of_what_is_left(dtype, tolerance):
    """From x = -1e-12 to x = -700; relative, so also where the value itself is 1e-304."""
    x = torch.tensor(POINTS, dtype=dtype)
    expected = torch.tensor([exact(value) for value in x.tolist()])
    found = log1mexp(x).double()
    small = expected.abs() < torch.finfo(dtype).tiny
    assert (found - expected)[small].abs().le(tolerance).all()
    torch.testing.assert_close(found[~small], expected[~small], rtol=tolerance, atol=0)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_its_gradient_is_finite_and_that_of_the_definition(dtype):
    """d/dx log(1 - eˣ) = -1 / expm1(-x), also beyond where exp overflows."""
    x = torch.tensor([*POINTS, -800.0, -1e-30], dtype=dtype, requires_grad=True)
    log1mexp(x).sum().backward()
    assert x.grad.isfinite().all()
    expected = -1 / torch.expm1(-x.detach())
    rtol = 1e-12 if dtype == torch.float64 else 1e-5
    torch.testing.assert_close(x.grad, expected, rtol=rtol, atol=torch.finfo(dtype).tiny)


@pytest.mark.parametrize("wrong", [0.0, -0.0, 1e-300, 3.0, math.nan, math.inf])
def test_what_is_no_logarithm_of_a_probability_below_one_is_refused(wrong):
    with pytest.raises(InputError, match=rf"log1mexp needs x < 0, got {wrong}:"):
        log1mexp(torch.tensor([-1.0, wrong]))


def test_certain_failure_leaves_everything():
    assert log1mexp(torch.tensor([-math.inf])).item() == 0.0
