import math

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention
from torch.utils._python_dispatch import TorchDispatchMode

from mathlm import functional as F
from mathlm.errors import InputError, InputTypeError
from mathlm.functional import (
    attention_weights,
    causal_mask,
    dot_product_attention,
    fused_attention,
)

FORMS = pytest.mark.parametrize("attention", [dot_product_attention, fused_attention])
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


@pytest.fixture
def qkv():
    B, H, T, S, K = 2, 3, 4, 6, 5
    return torch.randn(B, H, T, K), torch.randn(B, H, S, K), torch.randn(B, H, S, K)


def by_loops(q, k, v, mask):
    """One query and one key at a time, with Python floats."""
    y = torch.zeros(*q.shape[:-1], v.shape[-1])
    for b, h, t in torch.cartesian_prod(*map(torch.arange, q.shape[:3])).tolist():
        seen = [s for s in range(k.shape[2]) if mask[t, s]]
        scores = [
            sum((q[b, h, t] * k[b, h, s]).tolist()) / math.sqrt(q.shape[-1]) for s in seen
        ]
        powers = [math.exp(s) for s in scores]
        for power, s in zip(powers, seen, strict=True):
            y[b, h, t] += power / sum(powers) * v[b, h, s]
    return y


@FORMS
def test_attention_matches_loops_over_queries_and_keys(attention, qkv):
    mask = torch.tensor([[1, 0, 1, 1, 0, 0], [0] * 6, [1] * 6, [0, 0, 0, 0, 0, 1]]).bool()
    torch.testing.assert_close(attention(*qkv, mask), by_loops(*qkv, mask), **TIGHT)


def test_attention_matches_torch(qkv):
    mask = causal_mask(4, 6)
    theirs = scaled_dot_product_attention(*qkv, attn_mask=mask)
    torch.testing.assert_close(dot_product_attention(*qkv, mask), theirs, **TIGHT)


@pytest.mark.parametrize("T", [1, 2, 4, 6])
@pytest.mark.parametrize("with_bias", [False, True])
def test_fused_causal_attention_is_the_plain_form_with_the_causal_mask(T, with_bias, qkv):
    q, (_, k, v) = torch.randn(2, 3, T, 5), qkv
    bias = torch.randn(3, T, 6) if with_bias else None
    plain = dot_product_attention(q, k, v, causal_mask(T, 6), bias)
    torch.testing.assert_close(fused_attention(q, k, v, bias=bias, causal=True), plain, **TIGHT)


@pytest.mark.parametrize("shape", [(4, 6), (1, 6), (2, 1, 4, 6), (2, 1, 1, 6), (3, 4, 6)])
@pytest.mark.parametrize("with_bias", [False, True])
def test_fused_and_plain_attention_agree_with_their_gradients(shape, with_bias, qkv):
    mask = torch.rand(shape) < 0.5
    bias = torch.randn(3, 4, 6) if with_bias else None
    dy, values, gradients = torch.randn(2, 3, 4, 5), [], []
    for attention in (dot_product_attention, fused_attention):
        leaves = [x.clone().requires_grad_() for x in qkv]
        values.append(attention(*leaves, mask, bias))
        gradients.append(torch.autograd.grad(values[-1], leaves, dy))
    torch.testing.assert_close(values[0], values[1], **TIGHT)
    torch.testing.assert_close(gradients[0], gradients[1], **TIGHT)


@FORMS
def test_a_query_that_sees_nothing_gives_zero_and_gradient_zero(attention, qkv):
    q, k, v = (x.clone().requires_grad_() for x in qkv)
    mask = causal_mask(4, 6).index_fill(0, torch.tensor([2]), False)
    y = attention(q, k, v, mask)
    gradients = torch.autograd.grad(y, (q, k, v), torch.randn_like(y))
    assert (y[:, :, 2] == 0).all()
    assert (gradients[0][:, :, 2] == 0).all()
    assert all(g.isfinite().all() for g in gradients)


@FORMS
def test_a_blind_query_leaves_the_others_alone(attention, qkv):
    q, k, v = qkv
    mask = causal_mask(4, 6)
    rest = [0, 1, 3]
    y = attention(q, k, v, mask.index_fill(0, torch.tensor([2]), False))
    expected = attention(q[:, :, rest], k, v, mask[rest])
    torch.testing.assert_close(y[:, :, rest], expected, **TIGHT)


@FORMS
@pytest.mark.parametrize("poison", [1e6, math.inf, math.nan])
def test_what_stands_in_unseen_keys_and_values_does_not_matter(attention, poison, qkv):
    mask = torch.tensor([[1, 1, 0, 1, 0, 1]]).bool().expand(4, 6)
    dy, results = torch.randn(2, 3, 4, 5), []
    for value in (0.0, poison):
        q, k, v = (x.clone() for x in qkv)
        k[:, :, ~mask[0]] = v[:, :, ~mask[0]] = value
        leaves = [x.requires_grad_() for x in (q, k, v)]
        y = attention(*leaves, mask)
        results.append((y, *torch.autograd.grad(y, leaves, dy)))
    torch.testing.assert_close(results[0], results[1], **TIGHT)


@FORMS
def test_a_large_number_hidden_from_one_query_only_does_not_reach_it(attention, qkv):
    q, k, v = (x.clone() for x in qkv)
    mask = causal_mask(4, 6)
    clean = attention(q, k, v, mask)
    k[:, :, 5] = v[:, :, 5] = 1e6
    torch.testing.assert_close(attention(q, k, v, mask)[:, :, :3], clean[:, :, :3], **TIGHT)


@FORMS
@pytest.mark.parametrize("T", [1, 2, 3, 4])
def test_the_last_queries_are_aligned_with_the_last_keys(attention, T):
    q, k, v = torch.randn(3, 2, 2, 7, 5)
    whole = attention(q, k, v, causal_mask(7, 7))
    last = attention(q[:, :, -T:], k, v, causal_mask(T, 7))
    torch.testing.assert_close(last, whole[:, :, -T:], **TIGHT)


def test_causal_mask_aligns_last_query_with_last_key():
    expected = torch.tensor([[1, 1, 1, 1, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
    assert torch.equal(causal_mask(2, 5), expected)


def test_causal_mask_with_more_queries_than_keys_blinds_the_first():
    assert causal_mask(3, 1).flatten().tolist() == [False, False, True]


def test_a_window_of_two_shows_each_query_itself_and_one_before():
    expected = torch.tensor([[0, 1, 1, 0], [0, 0, 1, 1]], dtype=torch.bool)
    assert torch.equal(causal_mask(2, 4, window=2), expected)


def test_a_window_of_one_shows_each_query_only_itself():
    expected = torch.tensor([[0, 0, 1, 0], [0, 0, 0, 1]], dtype=torch.bool)
    assert torch.equal(causal_mask(2, 4, window=1), expected)


def test_the_causal_mask_of_fused_attention_lies_where_the_queries_do():
    q, k = torch.empty(2, 3, device="meta"), torch.empty(4, 3, device="meta")
    assert fused_attention(q, k, k, causal=True).is_meta


def test_the_causal_mask_lies_where_it_is_asked_for():
    assert causal_mask(2, 4, device=torch.device("meta")).device.type == "meta"


def test_attention_commutes_with_permutation_of_keys(qkv):
    q, k, v = qkv
    order = torch.randperm(6)
    ours = dot_product_attention(q, k[:, :, order], v[:, :, order])
    torch.testing.assert_close(ours, dot_product_attention(q, k, v), **TIGHT)


def test_attention_of_equal_scores_is_the_mean(qkv):
    q, k, v = qkv
    ours = dot_product_attention(torch.zeros_like(q), k, v)
    torch.testing.assert_close(ours, v.mean(2, keepdim=True).expand_as(ours), **TIGHT)


def test_two_keys_whose_scores_differ_by_log_3_are_weighted_1_to_3():
    """By hand: d_k = 4, scores 0 and 2 log 3 / √4 = log 3."""
    q, k = torch.tensor([[1.0, 0, 0, 0]]), torch.tensor([[0.0] * 4, [2 * math.log(3), 0, 0, 0]])
    y = dot_product_attention(q, k, torch.tensor([[0.0], [1.0]]))
    assert y.item() == pytest.approx(0.75, rel=1e-14)


def test_weights_of_scores_large_and_small_in_one_batch_are_finite():
    q = torch.tensor([[1e4, 0.0], [1e-4, 0.0]])
    weights = F.attention_weights(q, torch.tensor([[1e4, 0.0], [-1e4, 0.0]]))
    assert weights.isfinite().all()
    assert weights[1, 0].item() == pytest.approx(1 / (1 + math.exp(-math.sqrt(2))), rel=1e-12)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_both_forms_keep_the_dtype(dtype, qkv):
    q, k, v = (x.to(dtype) for x in qkv)
    bias = torch.randn(4, 6)
    assert dot_product_attention(q, k, v, causal_mask(4, 6)).dtype == dtype
    assert fused_attention(q, k, v, causal_mask(4, 6), bias).dtype == dtype
    assert fused_attention(q, k, v, None, bias).dtype == dtype


@FORMS
@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.ones(4, 6), InputTypeError, "mask must be bool.*got float32"),
        (torch.ones(4, 5).bool(), InputError, r"mask \(4, 5\) does not broadcast"),
        (torch.ones(6).bool(), InputError, r"mask \(6,\) does not broadcast"),
        (torch.ones(7, 2, 3, 4, 6).bool(), InputError, "does not broadcast"),
    ],
)
def test_a_mask_that_does_not_fit_is_refused(attention, mask, error, message, qkv):
    with pytest.raises(error, match=message):
        attention(*qkv, mask)


def test_a_mask_and_causal_together_are_refused(qkv):
    with pytest.raises(InputError, match="not both"):
        fused_attention(*qkv, causal_mask(4, 6), causal=True)


def test_a_window_of_nothing_is_refused():
    with pytest.raises(InputError, match="window=0 must be at least 1"):
        causal_mask(2, 2, window=0)


def test_no_keys_are_refused(qkv):
    q, k, v = qkv
    with pytest.raises(InputError, match="at least 1"):
        dot_product_attention(q, k[:, :, :0], v[:, :, :0])


@FORMS
def test_shapes_that_do_not_fit_are_refused(attention, unchecked, qkv):
    q, k, v = qkv
    with pytest.raises(InputError, match=r"k \(2, 3, 6, 4\).* q and k need one width"):
        attention(q, k[..., :-1], v)
    with pytest.raises(InputError, match=r"v \(2, 3, 5, 5\).* same number of positions"):
        attention(q, k, v[:, :, :-1])


@pytest.mark.parametrize("mask", [None, causal_mask(1, 1)])
def test_dropout_is_unbiased_over_many_draws(mask):
    q, k, v = torch.zeros(1, 2), torch.zeros(1, 2), torch.ones(1, 1).expand(1, 2)
    draws = [fused_attention(q, k, v, mask, dropout=0.5)[0, 0].item() for _ in range(400)]
    assert set(draws) == {0.0, 2.0}
    assert sum(draws) / 400 == pytest.approx(1.0, abs=0.2)  # 4 standard deviations


@pytest.mark.parametrize("hidden", ["nothing", "by a mask", "by causal order"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_a_scale_takes_the_place_of_one_over_the_root_of_the_width(hidden, with_bias, qkv):
    """Scores of queries √5 · 0.3 times as long, divided by √5, are those scaled by 0.3."""
    (q, k, v), bias = qkv, torch.randn(3, 4, 6) if with_bias else None
    mask = None if hidden == "nothing" else causal_mask(4, 6)
    long = q * math.sqrt(5) * 0.3
    causal = hidden == "by causal order"
    y = fused_attention(q, k, v, None if causal else mask, bias, causal=causal, scale=0.3)
    torch.testing.assert_close(y, dot_product_attention(long, k, v, mask, bias), **TIGHT)
    A = F.attention_weights(q, k, mask, bias, scale=0.3)
    torch.testing.assert_close(A, F.attention_weights(long, k, mask, bias), **TIGHT)


@pytest.mark.parametrize("seen", [None, (), (4,), (1, 1), (3, 1), (3, 4)])
def test_shared_heads_of_keys_equal_repeated_ones(seen):
    q, k, v = torch.randn(3, 4, 5, 3), torch.randn(3, 2, 5, 3), torch.randn(3, 2, 5, 3)
    inputs = [x.requires_grad_() for x in (q, k, v)]
    mask = None if seen is None else torch.rand(*seen, 5, 5) < 0.4
    shared = F.fused_attention(q, k, v, mask, causal=mask is None)
    all_k, all_v = (x.repeat_interleave(2, 1) for x in (k, v))
    repeated = F.fused_attention(q, all_k, all_v, mask, causal=mask is None)
    dy = torch.randn_like(shared)
    torch.testing.assert_close(shared, repeated, rtol=0, atol=1e-12)
    theirs = torch.autograd.grad(repeated, inputs, dy)
    for ours, expected in zip(torch.autograd.grad(shared, inputs, dy), theirs, strict=True):
        torch.testing.assert_close(ours, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(("G", "T", "S"), [(2, 2, 4), (1, 3, 3)])
def test_a_head_of_keys_is_shared_whatever_the_numbers_of_positions(G, T, S):
    """Also where there are as many queries as heads of keys, or as many keys as heads."""
    q, k, v = torch.randn(2, 4, T, 3), *torch.randn(2, 2, G, S, 3)
    all_k, all_v = (x.repeat_interleave(4 // G, 1) for x in (k, v))
    expected = dot_product_attention(q, all_k, all_v)
    torch.testing.assert_close(fused_attention(q, k, v), expected, **TIGHT)


def test_without_heads_there_may_be_any_number_of_queries():
    q, k, v = torch.randn(2, 4, 5), torch.randn(2, 3, 5), torch.randn(2, 3, 5)
    for mask in (None, torch.rand(2, 4, 3) < 0.5):
        expected = dot_product_attention(q, k, v, mask)
        torch.testing.assert_close(fused_attention(q, k, v, mask), expected, **TIGHT)


@pytest.mark.parametrize(
    ("of_k", "of_v"), [((1, 3), (1, 3)), ((1, 0), (1, 0)), ((1, 2), (1, 1)), ((2, 2), (2, 2))]
)
def test_heads_of_keys_that_do_not_divide_those_of_queries_are_refused(of_k, of_v, unchecked):
    q, k, v = torch.randn(1, 4, 2, 3), torch.randn(*of_k, 2, 3), torch.randn(*of_v, 2, 3)
    with pytest.raises(InputError, match="divide"):
        F.fused_attention(q, k, v)


@pytest.mark.parametrize("attend", [dot_product_attention, fused_attention])
@pytest.mark.parametrize("hidden", ["query", "key"])
def test_what_one_sequence_of_a_batch_hides_does_not_matter(attend, hidden):
    """All else is visible: a look at the other sequences or at one axis alone misses it."""
    q, k, v = torch.randn(3, 2, 4, 3)
    mask = torch.ones(2, 4, 4, dtype=torch.bool)
    if hidden == "query":
        mask[1, 2], q[1, 2] = False, math.nan
    else:
        mask[1, :, 2], k[1, 2], v[1, 2] = False, math.nan, math.nan
    leaves = [x.requires_grad_() for x in (q, k, v)]
    y = attend(*leaves, mask)
    assert all(x.isfinite().all() for x in (y, *torch.autograd.grad(y.sum(), leaves)))


@pytest.mark.parametrize("attend", [dot_product_attention, fused_attention])
def test_masks_may_be_mapped_over(attend):
    """Inside vmap no value of the mask can be looked at."""
    q, k, v = torch.randn(3, 4, 3)
    masks = torch.ones(2, 4, 4, dtype=torch.bool)
    masks[1, 2] = masks[:, :, 3] = False
    k[3] = v[3] = math.nan
    mapped = torch.vmap(lambda mask: attend(q, k, v, mask))(masks)
    torch.testing.assert_close(
        mapped, attend(q.expand(2, 4, 3), k.expand(2, 4, 3), v.expand(2, 4, 3), masks)
    )


class Operations(TorchDispatchMode):
    """The names of the operations that run, in their order."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        self.names.append(operation.overloadpacket.__name__)
        return operation(*args, **(kwargs or {}))


@FORMS
@pytest.mark.parametrize("place", ["cpu", "meta"])
def test_a_mask_is_looked_at_only_where_that_neither_waits_nor_breaks_a_graph(
    attention, place, monkeypatch
):
    """What is hidden is hidden all the same."""
    q, k, v = torch.randn(3, 4, 3)
    mask = torch.ones(4, 4, dtype=torch.bool)
    mask[:, 3], k[3], v[3] = False, math.nan, math.nan
    with Operations() as ran:
        attention(q, k, v, mask)
    assert "_local_scalar_dense" in ran.names
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: place == "cpu")
    with Operations() as ran:
        y = attention(*(x.to(place) for x in (q, k, v, mask)))
    assert "_local_scalar_dense" not in ran.names
    assert y.is_meta or y.isfinite().all()


@pytest.mark.parametrize("scale", [None, 1 / 16])
def test_scores_in_float16_may_exceed_its_range_before_they_are_scaled(scale):
    """256 · 32 · 32 is 4 times its largest number; divided by 16 the scores are 16384, 8192."""
    q = torch.full((1, 256), 32.0, dtype=torch.float16)
    k = torch.cat((q, q / 2))
    assert attention_weights(q, k, scale=scale).tolist() == [[1, 0]]
    assert torch.equal(dot_product_attention(q, k, k), k[:1])
    q, k = torch.randn(2, 3, 4, 5).half()
    exact = attention_weights(q.double(), k.double(), scale=scale)
    weights = attention_weights(q, k, scale=scale)
    assert weights.dtype == torch.float16
    torch.testing.assert_close(weights.double(), exact, rtol=0.02, atol=1e-3)


@pytest.mark.parametrize("heads", [(), (3,), (2, 3)])
@pytest.mark.parametrize("bias", [torch.tensor(0.5), torch.tensor([0.0, 3.0, -1.0, 2.0])])
@pytest.mark.parametrize("mask", [None, causal_mask(4, 4)])
def test_a_bias_of_each_key_is_one_for_all_queries(heads, bias, mask):
    q, k, v = torch.randn(3, *heads, 4, 8)
    expected = dot_product_attention(q, k, v, mask, bias)
    torch.testing.assert_close(
        dot_product_attention(q, k, v, mask, bias.expand(4, 4)), expected
    )
    torch.testing.assert_close(fused_attention(q, k, v, mask, bias), expected)
