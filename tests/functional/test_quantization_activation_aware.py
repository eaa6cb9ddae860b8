import math

import pytest
import torch

from mathlm import functional as F
from mathlm.errors import InputError


def test_scales_by_hand():
    """a = (1, 4, 16), α = 1/2: powers 1, 2, 4, divided by √(4 · 1)."""
    s = F.activation_scale(torch.tensor([1.0, 4.0, 16.0]), 0.5)
    torch.testing.assert_close(s, torch.tensor([0.5, 1.0, 2.0]))
    s = F.activation_scale(torch.tensor([1.0, 4.0]), 1)  # divided by √(4 · 1)
    torch.testing.assert_close(s, torch.tensor([0.5, 2.0]))


def test_without_a_power_and_without_inputs_nothing_is_scaled():
    assert F.activation_scale(torch.tensor([1.0, 5.0]), 0).tolist() == [1, 1]
    assert F.activation_scale(torch.zeros(2), 0.5).tolist() == [1, 1]
    half = F.activation_scale(torch.tensor([256.0, 1024.0], dtype=torch.float16), 1)
    assert half.tolist() == [0.5, 2]  # though 256 · 1024 is more than any number of float16
    assert half.dtype == torch.float16


def test_an_input_that_is_never_there_has_a_finite_scale():
    """The floor is 1/10,000 of the largest: s = (1/100, 1) / √(1/100) at α = 1/2."""
    s = F.activation_scale(torch.tensor([0.0, 3.0]), 0.5)
    torch.testing.assert_close(s, torch.tensor([0.1, 10.0]))


@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_scaling_by_one_number_changes_nothing(dtype):
    w = torch.randn(5, 16)
    plain = F.affine_levels(w, 4, 8, dtype).values(w.dtype)
    torch.testing.assert_close(F.aware_rounding(w, torch.full((16,), 4.0), 4, 8, dtype), plain)


def test_the_error_of_a_column_falls_with_its_scale():
    """Column 0 is not the largest of its group, so that Δ stays and its error is divided."""
    w = torch.rand(4000, 8)
    w[:, 0] *= 0.1
    w[:, 1], w[:, 2] = 0.0, 1.0  # the group's least and largest
    s = torch.ones(8)
    s[0] = 4
    plain, aware = (F.aware_rounding(w, f, 4) - w for f in (torch.ones(8), s))
    ratio = plain[:, 0].square().mean() / aware[:, 0].square().mean()
    assert ratio == pytest.approx(16, rel=0.15)
    torch.testing.assert_close(aware[:, 3:], plain[:, 3:])


def test_output_error_by_hand():
    """x (W - Ŵ)ᵀ of (1, 2) and (3, 0) with the error (1, 1): 3² and 3², mean 9."""
    x, w = torch.tensor([[1.0, 2.0], [3.0, 0.0]]), torch.zeros(1, 2)
    assert F.output_error(w, w - 1, x) == 9


@pytest.mark.parametrize(("group", "dtype"), [(None, None), (8, torch.bfloat16)])
def test_one_large_input_makes_scaling_worth_while(group, dtype):
    w, x = torch.randn(64, 32), torch.randn(200, 32)
    x[:, 5] *= 30
    size = x.abs().mean(0)
    s, errors = F.best_activation_scale([w], x, size, 4, group, dtype=dtype)
    assert min(errors) < 0.2 * errors[0]
    assert s.argmax() == 5
    rounded = F.aware_rounding(w, s, 4, group, dtype)
    assert F.output_error(w, rounded, x) == pytest.approx(min(errors))


def test_matrices_that_share_a_scale_are_judged_together():
    w, x = [torch.randn(8, 16), torch.randn(4, 16)], torch.randn(50, 16).exp()
    size = x.abs().mean(0)
    _, both = F.best_activation_scale(w, x, size, 3)
    alone = [F.best_activation_scale([v], x, size, 3)[1] for v in w]
    torch.testing.assert_close(torch.tensor(both), torch.tensor(alone).sum(0))


def test_scales_out_of_range_are_refused():
    with pytest.raises(InputError, match=r"alpha=1\.5 must be 0 … 1"):
        F.activation_scale(torch.ones(2), 1.5)
    for bad in (-1.0, math.nan, math.inf):
        with pytest.raises(InputError, match="negative, NaN or infinite"):
            F.activation_scale(torch.tensor([1.0, bad]), 0.5)
    w, x, size = torch.ones(1, 2), torch.ones(1, 2), torch.ones(2)
    with pytest.raises(InputError, match="0 matrices, 1 inputs and 10 values"):
        F.best_activation_scale([], x, size, 4)
    with pytest.raises(InputError, match="1 matrices, 0 inputs and 10 values"):
        F.best_activation_scale([w], x[:0], size, 4)
    with pytest.raises(InputError, match="1 matrices, 1 inputs and 0 values"):
        F.best_activation_scale([w], x, size, 4, alphas=[])
