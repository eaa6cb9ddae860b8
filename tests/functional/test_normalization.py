import pytest
import torch
from torch.nn import functional as torch_F

from mathlm.functional import layer_norm, rms_norm

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
