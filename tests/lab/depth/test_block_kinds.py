import pytest
import torch
from torch import nn

from lab.depth import block_kinds as kinds
from mathlm.errors import ConfigError
from mathlm.layers import LayerNorm

IDS = torch.arange(66).view(2, 33) * 7 % 256
BATCH = {"ids": IDS[:, :-1], "targets": IDS[:, 1:]}


def halves(kind, model, x):
    """The stream behind the first block, by its definition."""
    block = model.blocks[0]
    rotation = model.position(torch.arange(x.shape[1]))
    a = lambda x: block.attention(x, rotation=rotation)  # noqa: E731
    f, m, n = block.feed_forward, block.attention_norm, block.feed_forward_norm
    return {
        "pre-norm": lambda: (y := x + a(m(x))) + f(n(y)),
        "post-norm": lambda: n((y := m(x + a(x))) + f(y)),
        "no-norm": lambda: (y := x + a(x)) + f(y),
        "no-residual": lambda: f(n(a(m(x)))),
        "branch-norm": lambda: (y := x + m(a(x))) + n(f(y)),
        "deep-norm": lambda: n(2**0.25 * (y := m(2**0.25 * x + a(x))) + f(y)),
    }[kind]()


@pytest.mark.parametrize("kind", kinds.BLOCKS)
def test_every_kind_is_its_definition(kind):
    model = kinds.build(kind, 1)
    logits = model(IDS)
    x = halves(kind, model, model.token_embedding(IDS))
    if kind in ("pre-norm", "no-residual", "branch-norm"):
        x = model.final_norm(x)
    torch.testing.assert_close(logits, model.head(x), rtol=1e-10, atol=1e-12)


def test_only_norms_inside_need_one_at_the_end():
    ends = {kind: type(kinds.build(kind, 1).final_norm) for kind in kinds.BLOCKS}
    assert ends == {
        "pre-norm": LayerNorm,
        "post-norm": nn.Identity,
        "no-norm": nn.Identity,
        "no-residual": LayerNorm,
        "branch-norm": LayerNorm,
        "deep-norm": nn.Identity,
    }


def test_all_kinds_start_from_the_same_weights():
    first, *others = (kinds.build(kind, 2, seed=3) for kind in kinds.BLOCKS)
    for other in others:
        assert torch.equal(
            first.blocks[1].attention.W_q.weight, other.blocks[1].attention.W_q.weight
        )
        assert torch.equal(first.token_embedding.weight, other.token_embedding.weight)


def test_matrices_keep_the_size_of_what_they_read():
    model = kinds.build("pre-norm", 4, d_model=64)
    W = model.blocks[2].feed_forward.W_out.weight
    assert W.var().item() == pytest.approx(1 / 256, rel=0.1)
    assert model.token_embedding.weight.var().item() == pytest.approx(1, rel=0.05)


def test_gradients_are_those_of_the_mean_loss():
    model = kinds.build("post-norm", 2)
    found = kinds.block_gradients(model, BATCH)
    logits = model(BATCH["ids"]).flatten(0, 1)
    nn.functional.cross_entropy(logits, BATCH["targets"].flatten()).backward()
    squares = [sum(p.grad.square().sum() for p in b.parameters()) for b in model.blocks]
    assert found == pytest.approx([s.sqrt().item() for s in squares], rel=1e-10)


def test_norms_keep_gradients_in_range_and_residuals_alone_do_not():
    """Pre-norm gradients fall toward the top, where the stream is large; see Xiong et al."""
    normed, bare = (
        kinds.block_gradients(kinds.build(kind, 16), BATCH) for kind in ("pre-norm", "no-norm")
    )
    assert 1.5 < normed[0] / normed[-1] < 8
    assert bare[0] > 1000 * normed[0]


def test_a_kind_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match="kind='dense' must be one of pre-norm, post-norm"):
        kinds.build("dense", 1)


def test_deep_norm_scales_what_the_branches_write_and_not_where_they_look():
    plain, deep = (
        kinds.build(kind, 2, seed=3).blocks[1] for kind in ("post-norm", "deep-norm")
    )
    for name in ("W_v", "W_o"):
        ratio = getattr(deep.attention, name).weight / getattr(plain.attention, name).weight
        torch.testing.assert_close(ratio, torch.full_like(ratio, 0.5))  # 16^(-1/4)
    assert torch.equal(deep.attention.W_q.weight, plain.attention.W_q.weight)
    assert deep.alpha == pytest.approx(4**0.25)


def test_the_start_of_xavier_counts_outputs_too():
    W = (
        kinds.build("pre-norm", 4, start="xavier", d_model=64)
        .blocks[0]
        .feed_forward.W_in.weight
    )
    assert W.var().item() == pytest.approx(2 / 320, rel=0.1)
    with pytest.raises(ConfigError, match="start='he' must be one of full, xavier"):
        kinds.build("pre-norm", 1, start="he")
