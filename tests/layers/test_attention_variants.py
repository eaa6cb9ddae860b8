"""Attention of current models against modules of transformers 5.23.0, and its own laws."""

import warnings

import pytest
import torch
from models.variant_families import in_double

from mathlm import functional as F
from mathlm.errors import ConfigError, InputError
from mathlm.layers import (
    Block,
    BranchNormBlock,
    CappedHead,
    CenteredRMSNorm,
    FeedForward,
    KeyValueCache,
    RMSNorm,
    SandwichBlock,
    ScaledEmbedding,
    SelfAttention,
    VariantAttention,
)

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
B, T, D, H, G, K = 2, 9, 12, 4, 2, 6
CAUSAL = torch.ones(T, T, dtype=torch.bool).tril()
ADDED = torch.zeros(1, 1, T, T).masked_fill(~CAUSAL, -torch.inf)


def qwen_attention():
    """Theirs with a gate inside q_proj, centered norms of heads, and 4 of 8 features turned."""
    from transformers import Qwen3NextConfig
    from transformers.models.qwen3_next.modeling_qwen3_next import Qwen3NextAttention

    config = Qwen3NextConfig(
        hidden_size=D, num_attention_heads=H, num_key_value_heads=G, head_dim=8,
        rms_norm_eps=1e-6, attention_bias=False, num_hidden_layers=1,
    )  # fmt: skip
    config._attn_implementation = "eager"
    return Qwen3NextAttention(config, 0).eval()


@pytest.mark.slow  # imports their model
def test_gate_norm_and_partial_rotation_are_those_of_qwen3_next():
    with warnings.catch_warnings(), in_double():
        warnings.simplefilter("ignore")
        theirs = qwen_attention()
        for p in theirs.parameters():
            p.data = torch.randn_like(p)
        x, (cos, sin) = torch.randn(B, T, D), F.rotary_table(T, 4)
        doubled = tuple(torch.cat((t, t), -1)[None] for t in (cos, sin))
        expected = theirs(x, doubled, ADDED)[0]
    ours = VariantAttention(D, H, G, 8, qk_norm="head", centered=True, gate=True, norm_eps=1e-6)
    q, g = theirs.q_proj.weight.unflatten(0, (H, 2, 8)).unbind(1)
    weights = {"W_q": q.flatten(0, 1), "W_g": g.flatten(0, 1), "W_k": theirs.k_proj.weight}
    weights |= {"W_v": theirs.v_proj.weight, "W_o": theirs.o_proj.weight}
    state = {f"{n}.weight": w for n, w in weights.items()}
    norms = {"q_norm.gamma": theirs.q_norm.weight, "k_norm.gamma": theirs.k_norm.weight}
    ours.load_state_dict(state | norms)
    torch.testing.assert_close(ours(x, rotation=(cos, sin)), expected, rtol=1e-10, atol=1e-11)


def test_sinks_are_those_of_gpt_oss():
    from transformers.models.gpt_oss.modeling_gpt_oss import eager_attention_forward

    ours = VariantAttention(D, H, G, K, sinks=True).eval()
    ours.sinks.data = torch.randn(H)
    ours.num_key_value_groups = H // G  # what their function reads of a module
    q, k, v = torch.randn(B, H, T, K), torch.randn(B, G, T, K), torch.randn(B, G, T, K)
    theirs = eager_attention_forward(ours, q, k, v, ADDED, scaling=K**-0.5)[0]
    torch.testing.assert_close(ours.heads(q, k, v).transpose(1, 2), theirs, **TIGHT)


def test_with_no_option_it_is_plain_attention():
    plain, ours = (
        SelfAttention(D, H, G, K, qk_norm=True),
        VariantAttention(D, H, G, K, qk_norm="head"),
    )
    ours.load_state_dict(plain.state_dict())
    x, rotation = torch.randn(B, T, D), F.rotary_table(T, K)
    torch.testing.assert_close(ours(x, rotation=rotation), plain(x, rotation=rotation), **TIGHT)


def test_a_cap_beyond_all_scores_changes_nothing_and_a_low_one_does():
    plain, x = SelfAttention(D, H, G, K), 3 * torch.randn(B, T, D)
    far, near = (VariantAttention(D, H, G, K, score_cap=c) for c in (1e6, 0.5))
    for layer in (far, near):
        layer.load_state_dict(plain.state_dict())
    torch.testing.assert_close(far(x), plain(x), rtol=1e-8, atol=1e-8)
    assert (near(x) - plain(x)).abs().max() > 1e-2


OPTIONS = {
    "window and cap": {"window": 3, "score_cap": 1.0},
    "window and sink": {"window": 3, "sinks": True},
    "gate": {"gate": True},
    "norm of all heads": {"qk_norm": "all"},
}


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("sliding", [False, True])
def test_with_a_cache_it_is_the_whole_for_every_split(options, sliding):
    layer, x, (cos, sin) = (
        VariantAttention(D, H, G, K, **options),
        torch.randn(B, T, D),
        (F.rotary_table(T, 4)),
    )
    whole = layer(x, rotation=(cos, sin))
    with torch.no_grad():
        for at in range(1, T):
            window = options.get("window") if sliding else None
            cache = KeyValueCache(1, B, G, T, K, window=window).layers[0]
            parts = [
                layer(x[:, s], rotation=(cos[s], sin[s]), cache=cache)
                for s in (slice(at), slice(at, T))
            ]
            torch.testing.assert_close(torch.cat(parts, 1), whole, **TIGHT)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_past_does_not_see_the_future_nor_what_is_behind_the_window(options):
    layer, x = VariantAttention(D, H, G, K, **options), torch.randn(1, T, D)
    J = torch.autograd.functional.jacobian(layer, x)[0, :, :, 0].abs().sum((1, 3))
    window = options.get("window", T)
    assert ((J > 0) == torch.ones(T, T, dtype=torch.bool).tril().triu(1 - window)).all()


def test_taps_show_weights_that_give_what_is_read():
    layer, x, taps = VariantAttention(D, H, G, K, sinks=True), torch.randn(B, T, D), {}
    layer.sinks.data += 1
    torch.testing.assert_close(layer(x, taps=taps), layer(x), **TIGHT)
    assert (taps["weights"].sum(-1) < 1).all()


def test_taps_without_evaluation_are_refused():
    layer = VariantAttention(D, H, G, K, sinks=True, dropout=0.1).train()
    with pytest.raises(InputError, match=r"call model\.eval"):
        layer(torch.randn(B, T, D), taps={})


def block_of(kind, scale=1.0):
    norms = [RMSNorm(D) for _ in range(4)]
    more = {"attention_out_norm": norms[2], "feed_forward_out_norm": norms[3]}
    parts = norms[0], SelfAttention(D, H), norms[1], FeedForward(D, 4 * D, "swiglu", False)
    return kind(*parts, **(more if kind is SandwichBlock else {}))


@pytest.mark.parametrize("kind", [BranchNormBlock, SandwichBlock])
def test_what_a_branch_adds_has_the_size_of_its_gain_whatever_its_weights(kind):
    """‖norm(f)‖ = √D with gain 1, and scaling W_o and W_out changes nothing."""
    block, x, taps = block_of(kind), torch.randn(B, T, D), {}
    y = block(x, taps=taps)
    for name in ("attention_out", "feed_forward_out"):
        size = taps[name].norm(dim=-1)
        assert (size <= D**0.5).all()
        assert (size > 0.95 * D**0.5).all()
    block.attention.W_o.weight.data *= 10
    block.feed_forward.W_out.weight.data *= 10
    torch.testing.assert_close(block(x), y, rtol=2e-2, atol=2e-2)  # ε is not scaled


def test_the_norms_stand_where_the_equations_say():
    x = torch.randn(B, T, D)
    after, both = block_of(BranchNormBlock), block_of(SandwichBlock)
    a = x + after.attention_norm(after.attention(x))
    a = a + after.feed_forward_norm(after.feed_forward(a))
    torch.testing.assert_close(after(x), a, **TIGHT)
    b = x + both.attention_out_norm(both.attention(both.attention_norm(x)))
    b = b + both.feed_forward_out_norm(both.feed_forward(both.feed_forward_norm(b)))
    torch.testing.assert_close(both(x), b, **TIGHT)
    assert (block_of(Block)(x) - x).abs().max() > 0


def test_centered_norm_starts_as_the_plain_one_and_table_and_head_scale_and_cap():
    x = torch.randn(B, D)
    torch.testing.assert_close(CenteredRMSNorm(D)(x), RMSNorm(D)(x), **TIGHT)
    table, head = ScaledEmbedding(7, 16), CappedHead(D, 7, 0.1)
    assert torch.equal(table(torch.tensor([3])), 4 * table.weight[3:4])
    torch.testing.assert_close(head(x), 0.1 * torch.tanh(x @ head.weight.mT / 0.1), **TIGHT)


def test_errors_name_the_numbers():
    with pytest.raises(ConfigError, match="d_model=0"):
        CenteredRMSNorm(0)
    with pytest.raises(ConfigError, match="n_kv_heads=3 must divide n_heads=4"):
        VariantAttention(D, 4, 3)
