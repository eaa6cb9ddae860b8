import pytest
import torch
from torch.nn import functional as torch_F

from mathlm import reference
from mathlm.errors import InputError, InputTypeError
from mathlm.functional import (
    batch_norm,
    batch_statistics,
    fixed_batch_norm,
    layer_norm,
    rms_norm,
)

TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def by_definition(x, gamma, beta, eps):
    centered = x - x.mean(-1, keepdim=True)
    return gamma * centered / (centered.square().mean(-1, keepdim=True) + eps).sqrt() + beta


def test_layer_norm_of_1_2_3_4_by_hand():
    """Mean 5/2, biased variance 5/4: (1 - 5/2) / √(5/4) = -3/√5."""
    y = layer_norm(torch.tensor([1.0, 2, 3, 4]), torch.ones(4), torch.zeros(4), eps=0.0)
    expected = torch.tensor([-3.0, -1, 1, 3]) / 5**0.5
    torch.testing.assert_close(y, expected, **TIGHT)


def test_rms_norm_of_3_4_by_hand():
    """Mean square 25/2."""
    y = rms_norm(torch.tensor([3.0, 4.0]), torch.tensor([1.0, 2.0]), eps=0.0)
    torch.testing.assert_close(y, torch.tensor([3.0, 8.0]) / 12.5**0.5, **TIGHT)


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_small_activations_show_which_eps_is_used(eps):
    x, gamma, beta = 1e-4 * torch.randn(5, 8), torch.randn(8), torch.randn(8)
    torch.testing.assert_close(
        layer_norm(x, gamma, beta, eps), by_definition(x, gamma, beta, eps), **TIGHT
    )
    other = by_definition(x, gamma, beta, 1e-8)
    assert not torch.allclose(layer_norm(x, gamma, beta, eps), other, rtol=1e-6)


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_rms_norm_adds_eps_inside_the_root(eps):
    x, gamma = 1e-4 * torch.randn(5, 8), torch.randn(8)
    expected = gamma * x / (x.square().mean(-1, keepdim=True) + eps).sqrt()
    torch.testing.assert_close(rms_norm(x, gamma, eps), expected, **TIGHT)


@pytest.mark.parametrize("constant", [0.0, 0.1, 3.0, 1e6 / 3])
def test_layer_norm_of_equal_entries_is_the_shift(constant):
    beta = torch.randn(7)
    assert torch.equal(layer_norm(torch.full((2, 7), constant), torch.randn(7), beta)[1], beta)


def test_layer_norm_does_not_see_shift_and_scale():
    x, gamma, beta = torch.randn(3, 8), torch.randn(8), torch.randn(8)
    y = layer_norm(x, gamma, beta, eps=0.0)
    torch.testing.assert_close(
        layer_norm(5 * x + 7, gamma, beta, eps=0.0), y, rtol=1e-10, atol=1e-12
    )


def test_layer_norm_matches_torch_with_and_without_shift():
    x, gamma, beta = torch.randn(2, 3, 8), torch.randn(8), torch.randn(8)
    assert torch.equal(layer_norm(x, gamma), torch_F.layer_norm(x, (8,), gamma))
    assert torch.equal(layer_norm(x, gamma, beta), torch_F.layer_norm(x, (8,), gamma, beta))


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_statistics_of_half_precision_are_taken_in_float32(norm):
    """A mean of 4096 numbers near 100, summed in bfloat16, is off by far more than rounding."""
    x = (100 + torch.randn(4096)).bfloat16()
    gamma = torch.ones(4096)
    expected = norm(x.double(), gamma)
    torch.testing.assert_close(norm(x, gamma).double(), expected, rtol=2**-8, atol=1e-4)


@pytest.mark.parametrize("norm", [layer_norm, rms_norm])
def test_bfloat16_in_gives_bfloat16_out_under_autocast(norm):
    x = torch.randn(3, 8, dtype=torch.bfloat16)
    with torch.autocast("cpu", torch.bfloat16):
        assert norm(x, torch.ones(8, dtype=torch.float32)).dtype == torch.bfloat16
        assert norm(x.float(), torch.ones(8, dtype=torch.float32)).dtype == torch.float32


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_layer_norm_with_another_eps_is_not_that_of_torch(eps):
    x, gamma, beta = 1e-4 * torch.randn(5, 8), torch.randn(8), torch.randn(8)
    theirs = torch_F.layer_norm(x, (8,), gamma, beta, eps)
    torch.testing.assert_close(layer_norm(x, gamma, beta, eps), theirs, **TIGHT)
    for other in {1e-12, 1e-6, 1e-5} - {eps}:
        assert not torch.allclose(layer_norm(x, gamma, beta, other), theirs, rtol=1e-6)


def test_gain_and_shift_of_another_precision_take_that_of_the_input():
    x = torch.randn(3, 8).float()
    y = layer_norm(x, torch.randn(8), torch.randn(8))
    assert y.dtype == rms_norm(x, torch.randn(8)).dtype == torch.float32


MASK = torch.tensor([[True, True, False], [True, False, True]])


@pytest.mark.parametrize("shape", [(9, 6), (2, 3, 6)])
@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_batch_norm_is_that_of_torch(shape, eps):
    x, gamma, beta = 1e-4 * torch.randn(shape) + 3, torch.randn(6), torch.randn(6)
    rows = x.flatten(0, -2)
    theirs = torch_F.batch_norm(rows, None, None, gamma, beta, True, eps=eps).view(shape)
    close = {"rtol": 1e-12, "atol": 1e-10}  # x is 3 ± 1e-4: four digits go in x - μ
    torch.testing.assert_close(batch_norm(x, gamma, beta, eps), theirs, **close)


@pytest.mark.parametrize("mask", [None, MASK])
def test_batch_norm_of_both_halves_agree_with_their_gradients(mask, rng):
    arrays, dy = [rng.normal(size=s) for s in ((2, 3, 6), 6, 6)], rng.normal(size=(2, 3, 6))
    leaves = [torch.from_numpy(a).requires_grad_() for a in arrays]
    y = batch_norm(*leaves, mask=mask)
    numpy_mask = None if mask is None else mask.numpy()
    expected, cache = reference.batch_norm(*arrays, mask=numpy_mask)
    theirs = [expected, *reference.batch_norm_backward(dy, cache)]
    ours = [y, *torch.autograd.grad(y, leaves, torch.from_numpy(dy))]
    for a, b in zip(ours, theirs, strict=True):
        torch.testing.assert_close(a.detach(), torch.from_numpy(b), rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("constant", [0.1, 3.0, 1e6 / 3])
def test_batch_norm_of_a_feature_with_one_value_is_its_shift(constant):
    x, beta = torch.randn(5, 7), torch.randn(7)
    x[:, 2] = constant
    assert (batch_norm(x, torch.randn(7), beta)[:, 2] == beta[2]).all()


def test_statistics_are_the_mean_and_the_biased_variance():
    x = torch.randn(5, 7)
    mean, var = batch_statistics(x)
    torch.testing.assert_close(mean, x.mean(0), **TIGHT)
    torch.testing.assert_close(var, x.var(0, correction=0), **TIGHT)


def test_two_vectors_are_a_batch_and_eps_may_be_0():
    """Mean 2, variance 1."""
    y = batch_norm(torch.tensor([[1.0], [3.0]]), torch.ones(1), eps=0.0)
    assert y.flatten().tolist() == [-1, 1]


def test_eps_is_1e_5_where_none_is_given():
    """With mean 0: a variance of 0, and a mean square of 1e-6."""
    x, one = torch.full((3, 4), 1e-3), torch.ones(4)
    fixed = fixed_batch_norm(x, 0 * one, 0 * one, one)
    torch.testing.assert_close(fixed, x / 1e-5**0.5, **TIGHT)
    torch.testing.assert_close(rms_norm(x, one), x / 1.1e-5**0.5, **TIGHT)


def test_padding_takes_no_part_in_batch_norm():
    x, gamma, beta = torch.randn(2, 3, 6), torch.randn(6), torch.randn(6)
    alone = batch_norm(x[MASK], gamma, beta)
    x[~MASK] = torch.nan
    x.requires_grad_()
    y = batch_norm(x, gamma, beta, mask=MASK)
    y.pow(3).sum().backward()
    torch.testing.assert_close(y[MASK], alone, **TIGHT)
    assert (y[~MASK] == 0).all()
    assert (x.grad[~MASK] == 0).all()
    assert x.grad.isfinite().all()


def test_padding_takes_no_part_where_the_statistics_are_given():
    """Mean 1, variance 4: each of the 4 vectors of threes becomes one of ones, then γ + β."""
    x, gamma, beta = torch.full((2, 3, 6), 3.0), torch.randn(6), torch.randn(6)
    x[~MASK] = torch.nan
    gamma.requires_grad_()
    y = fixed_batch_norm(x, torch.ones(6), 4 * torch.ones(6), gamma, beta, eps=0.0, mask=MASK)
    y.sum().backward()
    assert torch.equal(y, MASK.unsqueeze(-1) * (gamma + beta))
    assert torch.equal(gamma.grad, 4 * torch.ones(6))


def test_batch_norm_of_half_precision_takes_its_statistics_in_float32():
    x = (100 + torch.randn(4096, 2)).bfloat16()
    mean, var = batch_statistics(x)
    assert mean.dtype == var.dtype == torch.float32
    torch.testing.assert_close(mean.double(), x.double().mean(0), rtol=1e-6, atol=0)
    assert batch_norm(x, torch.ones(2)).dtype == torch.bfloat16


@pytest.mark.parametrize(
    ("x", "options", "error", "message"),
    [
        (torch.ones(1, 6), {}, InputError, r"1 of the vectors of x \(1, 6\) count"),
        (torch.ones(6), {}, InputError, "one vector is no batch"),
        (torch.ones(2, 6), {"mask": torch.tensor([True, False])}, InputError, "1 of the"),
        (torch.ones(2, 6), {"mask": torch.ones(2, 1).bool()}, InputError, r"must be \(2,\)"),
        (torch.ones(2, 6), {"mask": torch.ones(2)}, InputTypeError, "got float32"),
        (torch.ones(2, 6), {"eps": 0.0}, InputError, r"eps=0\.0 must be positive"),
        (torch.ones(2, 6), {"eps": -1.0}, InputError, r"eps=-1\.0 must be positive"),
    ],
)
def test_batches_without_a_variance_are_refused(x, options, error, message):
    with pytest.raises(error, match=message):
        batch_norm(x, torch.ones(6), torch.zeros(6), **options)


def test_a_mask_that_does_not_fit_is_refused_where_the_statistics_are_given():
    one = torch.ones(6)
    with pytest.raises(InputError, match=r"mask \(2, 1\) must be \(2,\)"):
        fixed_batch_norm(torch.ones(2, 6), one, one, one, mask=torch.ones(2, 1).bool())


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("shape", [(4,), (1,), (2, 1), ()])
def test_a_gain_without_one_entry_a_feature_is_refused(shape):
    x, gain = torch.ones(2, 3), torch.ones(shape)
    for call in (
        lambda: rms_norm(x, gain),
        lambda: layer_norm(x, gain, torch.ones(3)),
        lambda: layer_norm(x, torch.ones(3), gain),
    ):
        with pytest.raises(InputError, match=r"has shape .*expected \(3,\): one entry for"):
            call()
