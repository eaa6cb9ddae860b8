import math

import pytest
import torch

from mathlm import functional as F
from mathlm import reference as ref
from mathlm.errors import InputError

B, T, H, N, P = 2, 13, 3, 4, 5
TIGHT = {"rtol": 1e-10, "atol": 1e-11}


def drawn(n=T):
    """q, k (of length 1), v, beta and log decays."""
    q, k = torch.randn(2, B, n, H, N)
    k = k / k.norm(dim=-1, keepdim=True)
    beta, log_decay = torch.rand(B, n, H), -torch.rand(B, n, H)
    return q, k, torch.randn(B, n, H, P), beta, log_decay


def test_recurrence_scan_and_decayed_attention_are_one_function():
    q, k, v, _, log_decay = drawn()
    y, state = F.selective_scan(q, k, v, log_decay)
    states = F.decay_scan(log_decay, k[..., None] * v[..., None, :])
    torch.testing.assert_close((q[..., None, :] @ states)[..., 0, :], y, **TIGHT)
    torch.testing.assert_close(states[:, -1], state, **TIGHT)
    torch.testing.assert_close(F.decayed_attention(q, k, v, log_decay), y, **TIGHT)


@pytest.mark.parametrize("chunk", [1, 3, 4, 13, 64])
def test_chunks_of_any_size_give_the_recurrence(chunk):
    q, k, v, _, log_decay = drawn()
    first = torch.randn(B, H, N, P)
    expected = F.selective_scan(q, k, v, log_decay, first)
    torch.testing.assert_close(
        F.ssd_chunked(q, k, v, log_decay, chunk, first), expected, **TIGHT
    )


@pytest.mark.parametrize("chunk", [1, 4, 13, 64])
def test_chunks_of_the_delta_rule_give_its_recurrence(chunk):
    args, first = drawn(), torch.randn(B, H, N, P)
    expected = F.delta_rule(*args, first)
    torch.testing.assert_close(F.delta_rule_chunked(*args, chunk, first), expected, **TIGHT)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_delta_rule_in_16_bits_is_that_of_its_rounded_inputs(dtype):
    """Some dozen roundings on the way to a number of the size of the largest."""
    args = [x.to(dtype) for x in drawn(70)]
    exact, last = F.delta_rule(*[x.double() for x in args])
    y, state = F.delta_rule_chunked(*args)
    assert y.dtype == state.dtype == dtype
    off = 16 * torch.finfo(dtype).eps
    assert (y.double() - exact).abs().max() < off * exact.abs().max()
    assert (state.double() - last).abs().max() < off * last.abs().max()


@pytest.mark.parametrize("chunk", [1, 4, 64])
def test_gates_for_each_row_are_a_recurrence_with_a_diagonal_matrix(chunk):
    q, k, v, _, _ = drawn()
    log_decay, state = -torch.rand(B, T, H, N), torch.randn(B, H, N, P)
    y, last = F.gated_linear_attention(q, k, v, log_decay, chunk, state)
    for t in range(T):
        state = torch.diag_embed(log_decay[:, t].exp()) @ state
        state = state + k[:, t, :, :, None] @ v[:, t, :, None]
        torch.testing.assert_close(y[:, t], (q[:, t, :, None] @ state)[..., 0, :], **TIGHT)
    torch.testing.assert_close(last, state, **TIGHT)


def test_equal_gates_of_all_rows_are_the_scalar_decay():
    q, k, v, _, log_decay = drawn()
    rows = log_decay[..., None].expand(-1, -1, -1, N)
    torch.testing.assert_close(
        F.gated_linear_attention(q, k, v, rows), F.ssd_chunked(q, k, v, log_decay), **TIGHT
    )


def test_torch_and_numpy_agree_and_autograd_finds_the_backward_by_hand():
    args = [x.requires_grad_() for x in drawn()]
    for name, chosen, chunked in (
        ("selective_scan", [0, 1, 2, 4], F.ssd_chunked),
        ("delta_rule", [0, 1, 2, 3, 4], F.delta_rule_chunked),
    ):
        tensors = [args[i] for i in chosen]
        y = chunked(*tensors, chunk=4)[0]
        arrays = [x.detach().transpose(1, 2).numpy() for x in tensors]  # (B, H, T, ...)
        expected, cache = getattr(ref, name)(*arrays)
        torch.testing.assert_close(y.transpose(1, 2).detach().numpy(), expected, **TIGHT)
        dy = torch.randn_like(y)
        found = getattr(ref, f"{name}_backward")(dy.transpose(1, 2).numpy(), cache)
        for a, b in zip(torch.autograd.grad(y, tensors, dy), found, strict=True):
            torch.testing.assert_close(a.transpose(1, 2).numpy(), b, **TIGHT)


def test_a_key_that_is_written_again_is_overwritten_by_the_delta_rule():
    k = torch.eye(N)[[0, 1, 0]][None, :, None]  # e1, e2, e1
    v, ones = torch.randn(1, 3, 1, P), torch.ones(1, 3, 1)
    _, state = F.delta_rule(k, k, v, ones)
    torch.testing.assert_close(state[0, 0, :2], v[0, [2, 1], 0], **TIGHT)
    _, chunked = F.delta_rule_chunked(k, k, v, ones)
    torch.testing.assert_close(chunked, state, **TIGHT)
    _, summed = F.selective_scan(k, k, v, 0 * ones)
    torch.testing.assert_close(summed[0, 0, 0], v[0, 0, 0] + v[0, 2, 0], **TIGHT)


@pytest.mark.slow
def test_transformers_computes_the_same_gated_delta_rule():
    modeling = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    q, k, v, beta, log_decay = (x.float() for x in drawn())
    theirs, last = modeling.torch_chunk_gated_delta_rule(
        q, k, v, log_decay, beta, chunk_size=4, output_final_state=True
    )
    y, state = F.delta_rule_chunked(q / N**0.5, k, v, beta, log_decay, chunk=5)
    torch.testing.assert_close(theirs, y, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(last, state, rtol=1e-4, atol=1e-5)


def test_strong_decay_neither_overflows_nor_loses_its_gradient():
    q, k, v, beta, log_decay = drawn()
    log_decay = (400 * log_decay).requires_grad_()
    rows = log_decay[..., None].expand(-1, -1, -1, N)
    for y in (
        F.ssd_chunked(q, k, v, log_decay)[0],
        F.gated_linear_attention(q, k, v, rows)[0],
        F.delta_rule_chunked(q, k, v, beta, log_decay)[0],
    ):
        (grad,) = torch.autograd.grad(y.sum(), log_decay, retain_graph=True)
        assert y.isfinite().all()
        assert grad.isfinite().all()


@pytest.mark.parametrize("reset", [-math.inf, -1e9])
@pytest.mark.parametrize("chunk", [4, 64])
def test_a_token_that_forgets_all_leaves_what_comes_after_it_exact(reset, chunk):
    """As where one document ends and the next begins; in a chunk, and at its border."""
    q, k, v, beta, log_decay = drawn()
    log_decay[0, [2, 8], 1] = log_decay[1, 5] = reset
    log_decay.requires_grad_()
    rows = log_decay[..., None].expand(-1, -1, -1, N)
    first = torch.randn(B, H, N, P)
    scan, delta = F.selective_scan, F.delta_rule
    for found, expected in (
        (F.decayed_attention(q, k, v, log_decay), scan(q, k, v, log_decay)[0]),
        (F.ssd_chunked(q, k, v, log_decay, chunk, first), scan(q, k, v, log_decay, first)),
        (
            F.gated_linear_attention(q, k, v, rows, chunk, first),
            scan(q, k, v, log_decay, first),
        ),
        (
            F.delta_rule_chunked(q, k, v, beta, log_decay, chunk, first),
            delta(q, k, v, beta, log_decay, first),
        ),
    ):
        torch.testing.assert_close(found, expected, **TIGHT)
        slopes = [
            torch.autograd.grad(sum(x.sum() for x in ys), log_decay, retain_graph=True)
            for ys in (found, expected)
        ]
        torch.testing.assert_close(*slopes, **TIGHT)


def test_small_decays_keep_their_digits_after_large_ones():
    """32 tokens at -100 and 32 at -0.01, in float32: a few roundings of the largest output."""
    q, k, v, _, log_decay = (x.float() for x in drawn(64))
    log_decay[:, :32], log_decay[:, 32:] = -100.0, -0.01
    expected = F.selective_scan(*(x.double() for x in (q, k, v, log_decay)))[0]
    off = (F.ssd_chunked(q, k, v, log_decay)[0] - expected).abs().max()
    assert off < 32 * torch.finfo(torch.float32).eps * expected.abs().max()


def test_zero_order_hold_solves_the_equation_exactly():
    """A step of 1 is two steps of 1/2, and the gain at rate 0 is the step itself."""
    delta, a = torch.tensor([1.0, 1.0, 1.0]), torch.tensor([-2.0, 0.0, -1e-9])
    decay, gain = F.zero_order_hold(delta, a)
    half, half_gain = F.zero_order_hold(delta / 2, a)
    torch.testing.assert_close(decay, half * half, **TIGHT)
    torch.testing.assert_close(gain, half * half_gain + half_gain, **TIGHT)
    assert gain[1] == 1.0
    assert abs(decay[0] - 0.1353352832) < 1e-9
    assert abs(gain[0] - 0.4323323584) < 1e-9  # (1 - e^-2)/2


def test_zero_order_hold_has_the_gradient_of_its_series_at_rate_zero():
    """(e^(aΔ) - 1)/a = Δ + aΔ²/2 + …; at a = Δ = 1 it is e - 1, its slopes e and 1."""
    delta = torch.tensor([3.0, 0.0, 1.0], requires_grad=True)
    a = torch.tensor([0.0, -2.0, 1.0], requires_grad=True)
    _, gain = F.zero_order_hold(delta, a)
    of_delta, of_a = torch.autograd.grad(gain.sum(), (delta, a))
    torch.testing.assert_close(of_delta, torch.tensor([1.0, 1.0, math.e]), **TIGHT)
    torch.testing.assert_close(of_a, torch.tensor([4.5, 0.0, 1.0]), **TIGHT)


@pytest.mark.parametrize("size", [1e-7, 1e-4, 1e-2, 0.0999, 0.1, 0.1001, 1.0])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_zero_order_hold_keeps_the_digits_of_small_rates(size, dtype):
    """Value and slope of (e^z - 1)/z, Σ zᵏ/(k+1)! and Σ k zᵏ⁻¹/(k+1)!, on both sides of 0."""
    for z in (size, -size):
        a = torch.tensor(z, dtype=dtype, requires_grad=True)
        _, gain = F.zero_order_hold(torch.ones((), dtype=dtype), a)
        (slope,) = torch.autograd.grad(gain, a)
        z = a.item()  # as rounded
        value = math.fsum(z**k / math.factorial(k + 1) for k in range(30))
        expected = math.fsum(k * z ** (k - 1) / math.factorial(k + 1) for k in range(1, 30))
        # at 0.1 the slope e^z/z - (e^z - 1)/z² is 20 times less than its terms
        close = 30 * torch.finfo(dtype).eps
        assert gain.item() == pytest.approx(value, rel=close, abs=0)
        assert slope.item() == pytest.approx(expected, rel=close, abs=0)


def test_decay_mask_by_hand():
    L = F.decay_mask(torch.tensor([0.9, 0.5, 0.2]).log())
    torch.testing.assert_close(
        L, torch.tensor([[1, 0, 0], [0.5, 1, 0], [0.1, 0.2, 1.0]]), **TIGHT
    )
    L = F.decay_mask(torch.tensor([0.9, 0.0, 0.2]).log())  # the second forgets the first
    torch.testing.assert_close(L, torch.tensor([[1, 0, 0], [0, 1, 0], [0, 0.2, 1.0]]), **TIGHT)


def test_short_convolution_is_that_of_torch_and_goes_on_from_its_past():
    x, conv = torch.randn(2, 9, 5), torch.nn.Conv1d(5, 5, 4, groups=5, padding=3)
    expected = conv(x.mT)[..., :9].mT
    y = F.causal_convolution(x, conv.weight[:, 0], conv.bias)
    torch.testing.assert_close(y, expected, **TIGHT)
    plain = F.causal_convolution(x, conv.weight[:, 0])
    torch.testing.assert_close(plain, expected - conv.bias, **TIGHT)
    late = F.causal_convolution(x[:, 5:], conv.weight[:, 0], conv.bias, x[:, 2:5])
    torch.testing.assert_close(late, expected[:, 5:], **TIGHT)
    with pytest.raises(InputError, match="past has 2 tokens; a window of 4 needs 3"):
        F.causal_convolution(x, conv.weight[:, 0], None, x[:, :2])


def test_shapes_that_do_not_fit_are_refused(unchecked):
    q, k, v, beta, log_decay = drawn()
    with pytest.raises(InputError, match=r"\(2, 13, 3, 4\), \(2, 12, 3, 4\)"):
        F.selective_scan(q, k[:, 1:], v, log_decay)
    with pytest.raises(InputError, match=r"state \(3, 4, 5\) must be"):
        F.ssd_chunked(q, k, v, log_decay, 4, torch.zeros(H, N, P))
    with pytest.raises(InputError, match="T=13 tokens, chunks of 0"):
        F.ssd_chunked(q, k, v, log_decay, 0)
    with pytest.raises(InputError, match="T=13 tokens, chunks of 0"):
        F.delta_rule_chunked(q, k, v, beta, log_decay, 0)
    with pytest.raises(InputError, match="T=13 tokens, chunks of 0"):
        F.gated_linear_attention(q, k, v, log_decay[..., None].expand(k.shape), 0)
    with pytest.raises(InputError, match=r"beta \(2, 12, 3\) and log_decay"):
        F.delta_rule(q, k, v, beta[:, 1:], log_decay)
    with pytest.raises(InputError, match="needs the shape of k"):
        F.gated_linear_attention(q, k, v, log_decay[..., None])


@pytest.mark.parametrize("short", [{0}, {3}, {2, 3}, {0, 1}])
def test_each_argument_must_have_all_tokens(unchecked, short):
    q, k, v, _, log_decay = drawn()
    cut = [x[:, 1:] if i in short else x for i, x in enumerate((q, k, v, log_decay))]
    with pytest.raises(InputError, match="q, k, v and log_decay have shapes"):
        F.selective_scan(*cut)


def test_one_token_is_a_sequence_and_none_is_not():
    q, k, v, _, log_decay = drawn(1)
    y, state = F.selective_scan(q, k, v, log_decay)
    torch.testing.assert_close(y, (q * k).sum(-1, keepdim=True) * v, **TIGHT)
    torch.testing.assert_close(state, k[:, 0, :, :, None] * v[:, 0, :, None], **TIGHT)
    with pytest.raises(InputError, match="T=0 tokens"):
        F.selective_scan(*(x[:, 1:] for x in (q, k, v, log_decay)))
