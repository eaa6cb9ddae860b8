import pytest
import torch

from lab.depth import random_stacks
from mathlm.errors import ConfigError, InputError
from mathlm.layers import Block, FeedForward, LayerNorm, PostNormBlock, SelfAttention

TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def turn(D):
    """A random rotation; the signs make every direction as likely as its opposite."""
    Q, R = torch.linalg.qr(torch.randn(D, D))
    return Q * R.diagonal().sign()


def unit_maps(count, D=96, gain=1.0):
    """No attention, and random turns of the feed-forward input: each branch keeps its size."""
    turns = [turn(D) for _ in range(count)]
    return [(lambda y: 0 * y, lambda y, Q=Q: gain * y @ Q) for Q in turns]


def test_a_feed_forward_network_keeps_the_mean_square():
    """Half of the hidden mean square is cut off by ReLU; the factor 2 behind it makes up."""
    x = torch.randn(2, 200, 64)
    for gain in (1.0, 0.5):
        found = [f(x).square().mean() for _, f in random_stacks.random_maps(8, 64, 4, 0, gain)]
        assert torch.stack(found).mean().item() == pytest.approx(gain**2, rel=0.1)


def test_sums_of_unit_branches_grow_with_the_root_of_the_depth():
    """Independent directions: the squares add, rms² = 1 + l."""
    x, dy = torch.randn(2, 4, 16, 96)
    run = random_stacks.profile("pre-norm", unit_maps(63), x, dy)
    found = torch.tensor(run["rms"]) / run["rms"][0]
    torch.testing.assert_close(found, torch.arange(1.0, 65).sqrt(), rtol=0.05, atol=0)


def test_a_product_of_halves_vanishes_and_a_sum_with_halves_does_not():
    """Turns by half in a row: 2^-l exactly. Added to the stream: √(1 + 1/4)^l."""
    x, dy = torch.randn(2, 4, 16, 96)
    maps = [(lambda y: y, f) for _, f in unit_maps(20, gain=0.5)]
    plain = random_stacks.profile("plain", maps, x, dy)
    assert plain["gradient"][0] == pytest.approx(2.0**-20)
    assert plain["rms"][-1] / plain["rms"][0] == pytest.approx(2.0**-20)
    summed = random_stacks.profile("residual", unit_maps(20, gain=0.5), x, dy)
    assert summed["gradient"][0] == pytest.approx(1.25**10, rel=0.1)


def test_tokens_alike_stay_alike_and_halved_branches_halve_twice_a_block():
    """Attention of equal tokens is one linear map, and ReLU keeps a positive factor."""
    x, dy = torch.randn(1, 1, 64).expand(1, 8, 64), torch.randn(1, 8, 64)
    ends = []
    for gain in (1.0, 0.5):
        maps = random_stacks.random_maps(12, 64, 4, seed=0, gain=gain)
        run = random_stacks.profile("plain", maps, x, dy)
        ends.append(run["rms"][-1])
        assert max(run["spread"]) < 1e-14
    assert ends[1] / ends[0] == pytest.approx(2.0**-24, rel=1e-9)


@pytest.mark.parametrize("small", [1e-2, 1e-3])
def test_one_attention_cubes_a_small_spread(small):
    """Dong et al. (2021): halve the spread in front, and an eighth is left behind."""
    common, apart, dy = torch.randn(1, 1, 64), torch.randn(1, 16, 64), torch.randn(1, 16, 64)
    maps = random_stacks.random_maps(1, 64, 4, seed=0)
    behind = [
        random_stacks.profile("attention-only", maps, common + e * apart, dy)["spread"][1]
        for e in (small, small / 2)
    ]
    assert behind[0] / behind[1] == pytest.approx(8, rel=0.5 * small**0.5)


@pytest.mark.parametrize(("kind", "block"), [("pre-norm", Block), ("post-norm", PostNormBlock)])
def test_a_step_is_that_of_the_block_of_the_package(kind, block):
    attention, feed_forward = SelfAttention(12, 3), FeedForward(12, 48, "relu")
    theirs = block(LayerNorm(12), attention, LayerNorm(12), feed_forward)
    x = torch.randn(2, 5, 12)
    ours = random_stacks.STACKS[kind](x, attention, feed_forward)
    torch.testing.assert_close(ours, theirs(x), **TIGHT)


def test_the_gradient_at_the_bottom_is_that_of_the_whole_stack():
    maps, (x, dy) = random_stacks.random_maps(3, 16, 4, seed=1), torch.randn(2, 1, 4, 16)
    run = random_stacks.profile("post-norm", maps, x, dy)
    x.requires_grad_()
    y = x
    for a, f in maps:
        y = random_stacks.STACKS["post-norm"](y, a, f)
    (g,) = torch.autograd.grad(y, x, dy)
    assert run["gradient"][0] == pytest.approx((g.norm() / dy.norm()).item(), rel=1e-12)


def test_a_profile_has_one_row_more_than_blocks_and_ends_with_the_gradient_given():
    draw = torch.Generator().manual_seed(0)
    x, dy = torch.randn(2, 4, 16, 64, generator=draw, dtype=torch.float64)
    run = random_stacks.profile("post-norm", random_stacks.random_maps(3, 64, 4, seed=0), x, dy)
    assert len(run["rms"]) == len(run["gradient"]) == 4
    assert run["gradient"][-1] == pytest.approx(1)


def test_profiles_of_nothing_are_refused():
    x = torch.ones(1, 2, 4, dtype=torch.float64)
    with pytest.raises(ConfigError, match="nope"):
        random_stacks.profile("nope", [], x, x)
    with pytest.raises(InputError, match="0 everywhere"):
        random_stacks.profile("plain", [], x, 0 * x)


def test_normalized_queries_and_keys_have_scores_that_do_not_grow():
    """With q̂ and k̂ of mean square 1 the weights do not change if the stream is doubled."""
    ((attend, _),) = random_stacks.random_maps(1, 16, 2, seed=0, normalized=True)
    ((plain, _),) = random_stacks.random_maps(1, 16, 2, seed=0)
    x = torch.randn(1, 5, 16, dtype=torch.float64)
    torch.testing.assert_close(attend(8 * x), 8 * attend(x), rtol=1e-3, atol=1e-4)
    assert not torch.allclose(plain(8 * x), 8 * plain(x), rtol=0.1)


def test_deep_norm_is_post_norm_with_a_weight_on_the_stream():
    maps = random_stacks.random_maps(2, 16, 2, seed=0)
    x = torch.randn(1, 5, 16, dtype=torch.float64)
    alpha, n = 4**0.25, random_stacks.normalize
    y = x
    for a, f in maps:
        y = n(alpha * y + a(y))
        y = n(alpha * y + f(y))
    run = random_stacks.profile("deep-norm", maps, x, torch.ones_like(x))
    assert run["spread"][-1] == pytest.approx(
        random_stacks.token_spread(y).mean().item(), rel=1e-10
    )


def test_with_the_norm_on_the_branch_gradients_need_normalized_queries():
    """The stream that queries read grows, and with it the slopes of softmax."""
    maps = {on: random_stacks.random_maps(48, 32, 2, 0, normalized=on) for on in (True, False)}
    x, dy = torch.randn(2, 1, 16, 32, dtype=torch.float64)
    found = {on: random_stacks.profile("branch-norm", m, x, dy) for on, m in maps.items()}
    assert found[True]["gradient"][0] < 40
    assert found[False]["gradient"][0] > 5 * found[True]["gradient"][0]
