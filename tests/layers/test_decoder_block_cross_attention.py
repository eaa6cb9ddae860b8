import pytest
import torch
from torch import nn

from mathlm import reference as ref
from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.layers import CrossAttention, MemoryCache

TIGHT = {"rtol": 1e-12, "atol": 1e-13}
B, T, S, D, H = 2, 4, 6, 12, 3
FAR = torch.arange(S) < torch.tensor([[S], [3]])  # the second memory ends after 3


def make(**changes):
    layer = CrossAttention(D, H, **{"bias": True} | changes)
    for p in layer.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return layer


@pytest.fixture
def streams():
    return torch.randn(B, T, D), torch.randn(B, S, D)


def theirs(layer):
    """The same weights in the attention of torch."""
    other = nn.MultiheadAttention(D, H, batch_first=True)
    maps = (layer.W_q, layer.W_k, layer.W_v)
    other.in_proj_weight.data = torch.cat([W.weight for W in maps])
    other.in_proj_bias.data = torch.cat([W.bias for W in maps])
    other.out_proj = layer.W_o
    return other


@pytest.mark.parametrize("padded", [False, True])
def test_it_is_the_attention_of_torch_with_another_source_of_keys(padded, streams):
    layer, (x, m) = make(), streams
    mask = FAR[:, None, None] if padded else None
    expected = theirs(layer)(x, m, m, key_padding_mask=~FAR if padded else None)[0]
    torch.testing.assert_close(layer(x, m, mask=mask), expected, **TIGHT)


@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("d_head", [None, 5])
def test_it_is_the_attention_of_the_reference_with_a_memory(bias, d_head, streams):
    layer, (x, m), mask = make(bias=bias, d_head=d_head), streams, torch.rand(B, H, T, S) < 0.6
    weights = {name: p.detach().numpy() for name, p in layer.named_parameters()}
    y, _ = ref.multi_head_attention(x.numpy(), weights, H, mask.numpy(), m.numpy())
    torch.testing.assert_close(layer(x, m, mask=mask).detach(), torch.from_numpy(y), **TIGHT)


def test_the_order_of_the_memory_does_not_matter(streams):
    layer, (x, m) = make(), streams
    torch.testing.assert_close(layer(x, m[:, torch.randperm(S)]), layer(x, m), **TIGHT)


def test_each_query_is_answered_alone(streams):
    layer, (x, m) = make(), streams
    torch.testing.assert_close(layer(x[:, 2:3], m), layer(x, m)[:, 2:3], **TIGHT)


def test_equal_keys_give_each_query_the_mean_of_the_values(streams):
    layer, (x, m), taps = make(), streams, {}
    nn.init.zeros_(layer.W_k.weight)
    y = layer(x, m, taps=taps)
    mean = layer.W_o(layer.W_v(m).mean(1, keepdim=True)).expand(B, T, D)
    torch.testing.assert_close(y, mean, **TIGHT)
    torch.testing.assert_close(taps["weights"], torch.full((B, H, T, S), 1 / S), **TIGHT)


@pytest.mark.parametrize("mask", [None, FAR[:, None, None], torch.rand(T, S) < 0.5])
def test_taps_change_nothing_and_hold_what_is_computed(mask, streams):
    layer, (x, m), taps = make(), streams, {}
    y = layer(x, m, mask=mask, taps=taps)
    torch.testing.assert_close(y, layer(x, m, mask=mask), **TIGHT)
    assert {n: tuple(t.shape) for n, t in taps.items()} == {
        "q": (B, H, T, 4), "k": (B, H, S, 4), "v": (B, H, S, 4),
        "weights": (B, H, T, S), "heads": (B, H, T, 4),
    }  # fmt: skip
    torch.testing.assert_close(taps["heads"], taps["weights"] @ taps["v"], **TIGHT)


@pytest.mark.parametrize("mask", [FAR[:, None, None], FAR[1].expand(T, S)])
def test_poison_where_no_query_looks_reaches_neither_values_nor_gradients(mask, streams):
    layer, (x, m) = make(), streams
    seen, results = FAR if mask.ndim == 4 else FAR[1].expand(B, S), []
    for poison in (0.0, float("nan")):
        y = layer(x, m.masked_fill(~seen.unsqueeze(-1), poison), mask=mask)
        results.append([y, *torch.autograd.grad(y.square().sum(), layer.parameters())])
    torch.testing.assert_close(results[1], results[0], **TIGHT)


@pytest.mark.parametrize("mask", [FAR[:, None, None], FAR[1].expand(T, S)])
def test_poison_in_a_cache_reaches_neither_values_nor_taps(mask, streams):
    layer, (x, m), results = make(), streams, []
    seen = FAR if mask.ndim == 4 else FAR[1].expand(B, S)
    for poison in (0.0, float("nan")):
        cache, taps = MemoryCache(), {}
        poisoned = m.masked_fill(~seen.unsqueeze(-1), poison)
        with torch.no_grad():
            first = layer(x, poisoned, mask=mask, cache=cache)
            again = layer(x, poisoned.clone(), mask=mask, cache=cache, taps=taps)
        results.append([first, again, taps["weights"], taps["heads"]])
    torch.testing.assert_close(results[1], results[0], **TIGHT)
    torch.testing.assert_close(results[0][1], results[0][0], **TIGHT)


def test_a_query_that_sees_nothing_gives_the_bias(streams):
    layer, (x, m), mask = make(), streams, torch.ones(T, S) > 0
    mask[1] = False
    torch.testing.assert_close(layer(x, m, mask=mask)[:, 1], layer.W_o.bias.expand(B, D))


def test_a_scale_of_one_leaves_the_scores_as_they_are(streams):
    """Queries half as long, since √d_k is 2."""
    layer, plain, (x, m) = make(), make(scale=1.0), streams
    plain.load_state_dict(layer.state_dict())
    for p in (plain.W_q.weight, plain.W_q.bias):
        p.data /= 2
    torch.testing.assert_close(plain(x, m), layer(x, m), **TIGHT)
    taps, far = {}, {}
    layer(x, m, taps=taps), plain(x, m, taps=far)
    torch.testing.assert_close(far["weights"], taps["weights"], **TIGHT)


def test_the_cache_gives_the_same_and_computes_the_memory_once(streams):
    layer, (x, m), cache = make().requires_grad_(False), streams, MemoryCache()
    calls = []
    layer.W_k.register_forward_hook(lambda *_: calls.append(1))
    y = [layer(x[:, t : t + 1], m, cache=cache) for t in range(T)]
    assert len(calls) == 1
    torch.testing.assert_close(torch.cat(y, 1), layer(x, m), **TIGHT)


def test_the_cache_serves_a_mask_that_shows_more_than_the_first(streams):
    layer, (x, m), cache = make().requires_grad_(False), streams, MemoryCache()
    layer(x, m, mask=FAR[:, None, None], cache=cache)
    torch.testing.assert_close(layer(x, m, cache=cache), layer(x, m), **TIGHT)


def test_another_memory_is_refused_by_the_cache_and_an_equal_one_is_not(streams):
    layer, (x, m), cache = make().requires_grad_(False), streams, MemoryCache()
    layer(x, m, cache=cache)
    assert torch.equal(layer(x, m.clone(), cache=cache), layer(x, m, cache=cache))
    with pytest.raises(InputError, match=r"another memory \(2, 6, 12\) than .* \(2, 6, 12\)"):
        layer(x, m + 1, cache=cache)


def test_a_cache_refuses_gradients(streams):
    with pytest.raises(InputError, match=r"holds no gradients: run under torch\.no_grad"):
        make()(*streams, cache=MemoryCache())


def test_dropout_acts_in_training_only_and_not_on_taps(streams):
    layer = make(dropout=0.5)
    assert not torch.equal(layer(*streams), layer(*streams))
    with pytest.raises(InputError, match=r"call model\.eval\(\) first"):
        layer(*streams, taps={})
    layer.eval()
    assert torch.equal(layer(*streams), layer(*streams))


@pytest.mark.parametrize(
    ("mask", "error", "message"),
    [
        (torch.ones(T, S), InputTypeError, "mask must be bool"),
        (torch.ones(B, T, S) > 0, InputError, r"shape \(2, 4, 6\) has 3 axes"),
        (torch.ones(T, S + 1) > 0, InputError, r"mask \(4, 7\) does not broadcast"),
    ],
)
def test_masks_that_do_not_fit_are_refused(mask, error, message, streams, unchecked):
    with pytest.raises(error, match=message):
        make()(*streams, mask=mask)


def test_heads_that_do_not_divide_are_refused():
    with pytest.raises(ConfigError, match="n_heads=5 must divide d_model=12"):
        CrossAttention(12, 5)
