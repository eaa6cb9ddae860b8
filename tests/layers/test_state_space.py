import pytest
import torch

from mathlm import functional as F
from mathlm.errors import ConfigError
from mathlm.layers import GatedDeltaNet, GatedRMSNorm, LinearStateCache, Mamba2

D, H, P, N = 10, 4, 3, 5
TIGHT = {"rtol": 1e-10, "atol": 1e-11}
LAYERS = pytest.mark.parametrize("kind", [Mamba2, GatedDeltaNet])


@LAYERS
@pytest.mark.parametrize("split", [1, 2, 6, 10])
def test_every_split_into_prefill_and_decode_gives_the_same_values(kind, split):
    layer, x, cache = kind(D, H, P, N, chunk=4), torch.randn(2, 11, D), LinearStateCache()
    whole, first = layer(x), layer(x[:, :split], cache=cache)
    later = [layer(x[:, t : t + 1], cache=cache) for t in range(split, 11)]
    torch.testing.assert_close(torch.cat((first, *later), 1), whole, **TIGHT)


@LAYERS
def test_no_position_sees_a_later_one_and_the_cache_does_not_grow(kind):
    layer, x, cache = kind(D, H, P, N), torch.randn(1, 9, D), LinearStateCache()
    changed = x.clone()
    changed[:, 6:] += 1
    torch.testing.assert_close(layer(changed)[:, :6], layer(x)[:, :6], **TIGHT)
    layer(x, cache=cache)
    size = cache.nbytes
    layer(x, cache=cache)
    assert cache.nbytes == size > 0


@LAYERS
def test_a_cache_holds_no_more_memory_than_it_says(kind):
    cache = LinearStateCache()
    with torch.no_grad():
        kind(D, H, P, N)(torch.randn(1, 500, D), cache=cache)
    held = (cache.past, cache.state)
    assert sum(t.untyped_storage().nbytes() for t in held) == cache.nbytes


def test_mamba2_is_its_equation():
    layer, x = Mamba2(D, H, P, N, n_groups=2), torch.randn(2, 6, D)
    layer.D.data = torch.randn(H)
    z, mixed, dt = layer.in_proj(x).split((H * P, H * P + 4 * N, H), -1)
    conv = torch.nn.functional.conv1d(
        torch.nn.functional.pad(mixed.mT, (3, 0)), layer.conv1d.weight, layer.conv1d.bias,
        groups=mixed.shape[-1],
    ).mT  # fmt: skip
    values, b, c = F.silu(conv).split((H * P, 2 * N, 2 * N), -1)
    delta, a = torch.nn.functional.softplus(dt + layer.dt_bias), -layer.A_log.exp()
    heads = []
    for h in range(H):
        group = slice(h // 2 * N, (h // 2 + 1) * N)
        state, out = torch.zeros(2, N, P), []
        for t in range(6):
            token = values[:, t, h * P : (h + 1) * P]
            state = (delta[:, t, h] * a[h]).exp()[:, None, None] * state
            state = state + b[:, t, group, None] * (delta[:, t, h, None] * token)[:, None]
            out.append((c[:, t, None, group] @ state)[:, 0] + layer.D[h] * token)
        heads.append(torch.stack(out, 1))
    expected = layer.out_proj(layer.norm(torch.cat(heads, -1), z))
    torch.testing.assert_close(layer(x), expected, **TIGHT)


@pytest.mark.slow
def test_the_delta_layer_computes_what_that_of_qwen3_next_computes():
    modeling = pytest.importorskip("transformers.models.qwen3_next.modeling_qwen3_next")
    config = modeling.Qwen3NextConfig(
        hidden_size=D, linear_num_value_heads=H, linear_num_key_heads=H, linear_key_head_dim=N,
        linear_value_head_dim=P, linear_conv_kernel_dim=4, rms_norm_eps=0.0,
        num_hidden_layers=1, layer_types=["linear_attention"],
    )  # fmt: skip
    theirs, ours = (
        modeling.Qwen3NextGatedDeltaNet(config, 0).float(),
        GatedDeltaNet(D, H, P, N, norm_eps=0.0).float(),
    )
    theirs.in_proj_qkvz.weight.data *= 10  # lest the ε that they add to |k|² be seen
    qkvz = theirs.in_proj_qkvz.weight.unflatten(0, (H, -1)).split((N, N, P, P), 1)
    q, k, v, z = (w.flatten(0, 1) for w in qkvz)
    b, a = theirs.in_proj_ba.weight.unflatten(0, (H, 2)).unbind(1)
    theirs.dt_bias.data, theirs.norm.weight.data = torch.randn(H), torch.rand(P)
    weights = {
        "W_qkv.weight": torch.cat((q, k, v)), "W_z.weight": z, "W_b.weight": b, "W_a.weight": a,
        "conv1d.weight": theirs.conv1d.weight, "dt_bias": theirs.dt_bias,
        "A_log": theirs.A_log, "norm.gamma": theirs.norm.weight,
        "W_o.weight": theirs.out_proj.weight,
    }  # fmt: skip
    ours.load_state_dict(weights)
    x = torch.randn(2, 11, D).float()
    torch.testing.assert_close(ours(x), theirs(x), rtol=1e-4, atol=1e-5)


def test_the_delta_layer_normalizes_keys_so_that_their_scale_does_not_matter():
    layer, x = GatedDeltaNet(D, H, P, N, d_conv=1), torch.randn(1, 8, D)
    layer.conv1d.weight.data.fill_(50.0)  # silu is linear for what is large and positive
    layer.W_qkv.weight.data.abs_()
    before = layer(x.abs())
    layer.W_qkv.weight.data[: 2 * H * N] *= 3.0
    torch.testing.assert_close(layer(x.abs()), before, rtol=1e-6, atol=1e-8)


def test_the_gated_norm_normalizes_each_group_by_itself():
    norm, y, gate = GatedRMSNorm(6, 2, eps=0.0), torch.randn(3, 6), torch.randn(3, 6)
    out = norm(y, gate)
    torch.testing.assert_close(out.unflatten(-1, (2, 3)).square().mean(-1), torch.ones(3, 2))
    scaled = torch.cat((7 * y[:, :3], y[:, 3:]), -1)
    torch.testing.assert_close(norm(scaled, gate), out)


def test_steps_start_between_a_thousandth_and_a_tenth():
    step = torch.nn.functional.softplus(Mamba2(D, 64, 2, 2).dt_bias)
    assert 0.001 <= step.min() < 0.01 < step.max() <= 0.1


@LAYERS
def test_sizes_are_checked(kind):
    with pytest.raises(ConfigError, match="d_state=0"):
        kind(D, H, P, 0)


def test_groups_must_divide_heads():
    with pytest.raises(ConfigError, match="n_groups=3 must divide n_heads=4"):
        Mamba2(D, H, P, N, n_groups=3)
