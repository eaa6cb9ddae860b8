import math

import pytest
import torch
from torch.testing import assert_close

from mathlm.align import token_entropies
from mathlm.errors import InputError

ASKED = torch.zeros(1, 1, dtype=torch.int64)


def entropy(logits):
    return token_entropies(torch.tensor(logits)[None, None], ASKED).item()


def test_by_hand():
    """Uniform over 4: ln 4. Probabilities 1/2, 1/4, 1/4: 1.5 ln 2. One of them sure: 0."""
    assert entropy([0.0] * 4) == pytest.approx(math.log(4), abs=1e-15)
    quarters = [math.log(2), 0.0, 0.0]
    assert entropy(quarters) == pytest.approx(1.5 * math.log(2), abs=1e-15)
    assert entropy([1000.0, 0.0, 0.0]) == 0


def test_tokens_that_cannot_come_count_nothing_and_have_a_gradient():
    """-inf beside two equal logits: ln 2, and no NaN on the way back."""
    logits = torch.tensor([[[0.0, 0.0, -math.inf]]], requires_grad=True)
    found = token_entropies(logits, ASKED)
    found.backward()
    assert found.item() == pytest.approx(math.log(2), abs=1e-15)
    assert logits.grad.isfinite().all()


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scale", [0.0, 1e-9, 1e-4, 1.0, 30.0, 1e4])
def test_it_lies_between_zero_and_the_logarithm_of_the_vocabulary(dtype, scale):
    for V in (1, 2, 3, 50, 257):
        logits = (scale * torch.randn(4, 25, V)).to(dtype)
        found = token_entropies(logits, torch.zeros(4, 25, dtype=torch.int64))
        top = torch.tensor(math.log(V), dtype=found.dtype)
        assert ((found >= 0) & (found <= top)).all()


def test_half_precision_is_taken_in_float32():
    logits, targets = torch.randn(2, 3, 50).bfloat16(), torch.zeros(2, 3, dtype=torch.int64)
    found = token_entropies(logits, targets)
    assert torch.equal(found, token_entropies(logits.float(), targets))


def test_it_is_that_of_torchs_distribution_and_so_is_its_gradient():
    logits = torch.randn(2, 3, 5, requires_grad=True)
    targets = torch.zeros(2, 3, dtype=torch.int64)
    other = torch.distributions.Categorical(logits=logits).entropy()
    assert_close(token_entropies(logits, targets), other, rtol=0, atol=1e-14)
    grads = [
        torch.autograd.grad(x.square().sum(), logits)[0]
        for x in (token_entropies(logits, targets), other)
    ]
    assert_close(*grads, rtol=0, atol=1e-13)


@pytest.mark.parametrize("poison", [1e6, math.nan, math.inf])
def test_what_is_not_asked_changes_no_bit(poison):
    """A sentinel there made the entropies of another library negative."""
    targets = torch.tensor([[-100, 1, 2], [0, -100, -100]])

    def run(left_out):
        logits = torch.randn(2, 3, 5, generator=torch.Generator().manual_seed(0))
        logits[targets == -100] = left_out
        logits.requires_grad_()
        found = token_entropies(logits, targets)
        found.sum().backward()
        return found.detach(), logits.grad

    for clean, poisoned in zip(run(1.0), run(poison), strict=True):
        assert torch.equal(clean, poisoned)
        assert (poisoned[targets == -100] == 0).all()


def test_bad_logits_are_refused(unchecked):
    with pytest.raises(InputError, match=r"a logit is NaN or \+inf"):
        entropy([0.0, math.nan])
    with pytest.raises(InputError, match=r"logits \(1, 2, 3\) and targets \(1, 1\) do not fit"):
        token_entropies(torch.zeros(1, 2, 3), ASKED)
