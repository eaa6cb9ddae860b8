import math

import pytest
import torch

from mathlm import reference as ref
from mathlm.functional import z_loss


def test_log_probabilities_cost_nothing_and_a_shift_costs_its_square():
    """log Σ exp of log-probabilities is 0, so after a shift by 3 it is 3."""
    logp = torch.randn(5, 7).log_softmax(-1)
    assert z_loss(logp).abs().max().item() < 1e-28
    assert torch.allclose(z_loss(logp + 3.0), torch.tensor(9.0), rtol=1e-12)


def test_equal_logits_cost_the_square_of_the_logarithm_of_their_number():
    assert z_loss(torch.zeros(10)).item() == pytest.approx(math.log(10) ** 2, rel=1e-14)


def test_torch_and_numpy_agree_where_rows_are_far_apart():
    z = torch.tensor([[0.1, -0.3, 0.2], [1e4, 9e3, 1e4], [-1e4, -1e4, -9e3]])
    expected = torch.from_numpy(ref.z_loss(z.numpy())[0])
    assert torch.allclose(z_loss(z), expected, rtol=1e-12)


def test_the_gradient_is_that_of_the_derivation():
    z = torch.randn(2, 3, 5, requires_grad=True)
    dy = torch.randn(2, 3)
    z_loss(z).backward(dy)
    p, log_z = z.detach().softmax(-1), z.detach().logsumexp(-1)
    assert torch.allclose(z.grad, 2 * (dy * log_z)[..., None] * p, rtol=1e-12)
    assert torch.autograd.gradcheck(z_loss, torch.randn(3, 4, requires_grad=True))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_logits_are_taken_in_float32(dtype):
    z = (30 * torch.randn(4, 9)).to(dtype)
    assert z_loss(z).dtype == torch.float32
    assert torch.allclose(z_loss(z).double(), z_loss(z.double()), rtol=1e-5)
