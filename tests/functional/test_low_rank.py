import math

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from mathlm.errors import InputError
from mathlm.functional import (
    gated_prefix,
    influence,
    lora_scale,
    low_rank_update,
    merged_weight,
)
from mathlm.functional.low_rank import ReadNarrow
from mathlm.train.memory import LiveBytes


def factors(outputs=3, inputs=5, rank=2, dtype=None):
    return torch.randn(rank, inputs, dtype=dtype), torch.randn(outputs, rank, dtype=dtype)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_update_is_the_product_with_the_matrix_written_out(batch):
    A, B = factors()
    x = torch.randn(*batch, 5)
    expected = x @ (0.7 * B @ A).T
    torch.testing.assert_close(low_rank_update(x, A, B, 0.7), expected, rtol=1e-12, atol=1e-13)


def test_scale_of_both_forms():
    """α/r = 32/16 = 2, α/√r = 32/4 = 8; at rank 1 both are α."""
    assert lora_scale(16, 32) == 2
    assert lora_scale(16, 32, rank_stabilized=True) == 8
    assert lora_scale(1, 0.5) == lora_scale(1, 0.5, rank_stabilized=True) == 0.5


@pytest.mark.parametrize("stabilized", [False, True])
def test_entries_of_the_update_keep_their_size_only_with_the_root_of_the_rank(stabilized):
    """Independent entries: those of B A grow as √r, and times α/r fall as 1/√r."""
    sizes = []
    for r in (4, 256):
        A, B = factors(200, 200, r)
        sizes.append((lora_scale(r, 8, stabilized) * B @ A).std())
    expected = 1 if stabilized else 1 / 8
    assert sizes[1] / sizes[0] == pytest.approx(expected, rel=0.1)


def test_dropout_keeps_the_mean_of_the_update_and_none_is_exact():
    A, B = factors()
    x = torch.randn(5).expand(40_000, 5)
    mean = low_rank_update(x, A, B, 1.0, 0.3).mean(0)
    spread = low_rank_update(x, A, B, 1.0, 0.3).std(0) / math.sqrt(len(x))
    assert ((mean - low_rank_update(x[0], A, B)).abs() < 5 * spread).all()
    assert torch.equal(low_rank_update(x, A, B, 1.0, 0), low_rank_update(x, A, B))


def test_dropout_has_the_probability_that_is_asked_for():
    """Of ones, a tenth stays, ten times as large."""
    one = torch.ones(1, 1)
    y = low_rank_update(torch.ones(10_000, 1), one, one, dropout=0.9)
    torch.testing.assert_close(y, torch.where(y > 0, 10.0, 0.0))
    assert (y > 0).double().mean().item() == pytest.approx(0.1, abs=0.02)


def test_an_update_of_one_precision_can_be_differentiated_twice():
    args = [t.requires_grad_() for t in (torch.randn(4, 5), *factors())]
    assert torch.autograd.gradgradcheck(low_rank_update, args)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float64])
@pytest.mark.parametrize("dropout", [0, 0.5])
def test_inputs_of_another_precision_meet_factors_of_single(dtype, dropout):
    A, B = factors(dtype=torch.float32)
    x, updates = torch.randn(4, 5, dtype=dtype), []
    for inputs in (x, x.float()):
        torch.manual_seed(1)
        updates.append(low_rank_update(inputs, A, B, 1.0, dropout))
    assert torch.equal(*updates)


@pytest.mark.parametrize("batch", [(), (4,), (2, 3)])
def test_gradients_of_half_precision_inputs_are_those_of_the_sums_in_full(batch):
    A, B = (t.requires_grad_() for t in factors(dtype=torch.float32))
    x = torch.randn(*batch, 5, dtype=torch.bfloat16, requires_grad=True)
    wide = x.detach().float().requires_grad_()
    dy = torch.randn(*batch, 3, dtype=torch.float32)
    found = torch.autograd.grad(low_rank_update(x, A, B, 0.7), (x, A, B), dy)
    dx, dA, dB = torch.autograd.grad(0.7 * wide @ A.T @ B.T, (wide, A, B), dy)
    torch.testing.assert_close(found[1:], (dA, dB))
    assert found[0].dtype == torch.bfloat16
    torch.testing.assert_close(found[0].float(), dx, rtol=2**-8, atol=1e-6)


def test_inputs_of_half_precision_go_through_the_transforms_of_torch_func():
    """The norm of s B A, the Jacobian of each output by its input; gradients of each sample."""
    A, B = factors(dtype=torch.float32)
    x = torch.randn(4, 5, dtype=torch.bfloat16)
    found = influence(lambda x: low_rank_update(x, A, B, 0.7), x)
    expected = (0.7 * (B @ A).norm()).expand(4).diag()
    torch.testing.assert_close(found.float(), expected, rtol=0.02, atol=0)
    loss = torch.func.grad(lambda A, x: low_rank_update(x, A, B).sum())
    each = torch.func.vmap(loss, (None, 0))(A, x)
    right = torch.stack([loss(A, row) for row in x])
    torch.testing.assert_close(each, right)
    torch.testing.assert_close(each, B.sum(0)[:, None] * x.float()[:, None])


@pytest.mark.parametrize(("of_x", "of_A"), [(True, False), (False, True), (True, True)])
def test_a_gradient_that_nobody_asks_for_is_not_computed(of_x, of_A):
    """Each is a product of 2 · 4 · 2 · 5 operations: four inputs, rank 2, width 5."""
    A = torch.randn(2, 5, dtype=torch.float32, requires_grad=of_A)
    x = torch.randn(4, 5, dtype=torch.bfloat16, requires_grad=of_x)
    y = ReadNarrow.apply(x, A)
    with FlopCounterMode(display=False) as counter:
        y.sum().backward()
    assert counter.get_total_flops() == 80 * (of_x + of_A)


def test_inputs_of_half_precision_are_not_kept_in_full():
    """Of 64 inputs of width 5 autograd keeps A x (64, 2) and nothing of size (64, 5)."""
    A, B = (t.requires_grad_() for t in factors(dtype=torch.float32))
    x = torch.randn(64, 5, dtype=torch.bfloat16)
    with LiveBytes() as memory:
        y = low_rank_update(x, A, B)
    assert memory.live == 4 * (y.numel() + 64 * 2)


def test_gradients_flow_where_the_format_is_chosen_for_each_operation():
    A, B = (t.requires_grad_() for t in factors(dtype=torch.float32))
    x = torch.randn(4, 5, dtype=torch.bfloat16, requires_grad=True)
    with torch.autocast("cpu", torch.bfloat16):
        y = low_rank_update(x, A, B)
    dx, dA, dB = torch.autograd.grad(y.float().sum(), (x, A, B))
    assert [t.dtype for t in (dx, dA, dB)] == [torch.bfloat16, torch.float32, torch.float32]
    torch.testing.assert_close(dx.float(), (A.T @ B.sum(0)).expand(4, 5), rtol=0.05, atol=0.05)


@pytest.mark.parametrize("same", [False, True])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_merging_rounds_the_sum_once(dtype, same):
    """Each entry is the nearest of its format to the sum: no neighbor is nearer."""
    A, B = factors(40, 50, dtype=dtype if same else torch.float32)
    W = torch.randn(40, 50).to(dtype)
    exact = W.double() + 0.01 * (B.double() @ A.double())
    merged = merged_weight(W, A, B, 0.01)
    step = 2.0 ** (exact.abs().log2().floor() - (7 if dtype == torch.bfloat16 else 10))
    assert merged.dtype == dtype
    assert ((merged.double() - exact).abs() <= step / 2 * (1 + 1e-4) + 1e-7).all()


def test_an_update_below_half_a_step_of_the_format_is_lost():
    """Beside 1, bfloat16 has 1 + 1/128: an update of 1/300 leaves 1, one of 1/200 does not."""
    W = torch.ones(1, 2, dtype=torch.bfloat16)
    A, B = torch.tensor([[1 / 300, 1 / 200]]).float(), torch.ones(1, 1).float()
    assert merged_weight(W, A, B).tolist() == [[1, 1 + 1 / 128]]


@pytest.mark.parametrize(("scale", "score"), [(None, 0.5), (3.0, 3.0)])
def test_a_prefix_by_hand(scale, score):
    """d_k = 4; q · k is 0 and log 3, so the second weighs 3^score times the first."""
    q, k = torch.ones(1, 1, 1, 4), torch.zeros(1, 2, 4)
    v, k[0, 1, 2] = torch.zeros(1, 2, 4), math.log(3)
    v[0, 1] = torch.arange(4.0)
    z, weights = gated_prefix(q, k, v, torch.tensor([-2.0]), scale=scale)
    second = 3**score / (1 + 3**score)
    assert weights.flatten().tolist() == pytest.approx([1 - second, second], rel=1e-14)
    torch.testing.assert_close(z[0, 0, 0], -2 * second * torch.arange(4.0))


def test_query_heads_of_a_group_share_a_prefix():
    q, k, v = torch.randn(2, 4, 3, 5), torch.randn(2, 6, 5), torch.randn(2, 6, 5)
    gate = torch.randn(4)
    z, weights = gated_prefix(q, k, v, gate)
    for h, g in enumerate((0, 0, 1, 1)):
        expected = (q[:, h] @ k[g].T / 5**0.5).softmax(-1)
        torch.testing.assert_close(weights[:, h], expected)
        torch.testing.assert_close(z[:, h], gate[h] * (expected @ v[g]))


@pytest.mark.parametrize("rank", [0, -2])
def test_no_rank_is_refused(rank):
    with pytest.raises(InputError, match=f"rank={rank} must be at least 1"):
        lora_scale(rank, 8)


@pytest.mark.parametrize("alpha", [0, -1.0, math.nan, math.inf])
def test_a_strength_that_is_no_positive_number_is_refused(alpha):
    with pytest.raises(InputError, match="must be positive and finite"):
        lora_scale(4, alpha)
