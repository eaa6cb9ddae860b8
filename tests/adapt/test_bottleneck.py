import copy

import pytest
import torch

from mathlm import adapt
from mathlm import reference as ref
from mathlm.errors import ConfigError, InputError
from mathlm.generate import generate
from mathlm.layers import Bottleneck
from mathlm.models import GPT, GPTConfig

V, D, L, W = 11, 16, 2, 4


@pytest.fixture
def base():
    return GPT(GPTConfig(vocab_size=V, context=16, d_model=D, n_layers=L, n_heads=4)).eval()


def moved(model):
    with torch.no_grad():
        for p in adapt.trainable(model).values():
            p.normal_(std=0.3)
    return model


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16])
def test_it_starts_as_the_model_bit_for_bit(base, dtype):
    model = adapt.add_adapters(copy.deepcopy(base.to(dtype)), W, seed=0)
    ids = torch.randint(V, (2, 7))
    assert torch.equal(model(ids), base(ids))


@pytest.mark.parametrize("activation", ["relu", "gelu", "gelu_tanh", "silu"])
def test_a_bottleneck_is_the_one_written_by_hand(activation):
    layer, x, dy = Bottleneck(D, W, activation), torch.randn(2, 3, D), torch.randn(2, 3, D)
    for p in layer.parameters():
        torch.nn.init.normal_(p)
    x.requires_grad_()
    own = [p.detach().numpy() for p in (x, *layer.parameters())]
    y, cache = ref.bottleneck(*own, activation)
    torch.testing.assert_close(layer(x), torch.as_tensor(y), rtol=1e-12, atol=1e-12)
    theirs = torch.autograd.grad(layer(x), [x, *layer.parameters()], dy)
    for ours, g in zip(ref.bottleneck_backward(dy.numpy(), cache), theirs, strict=True):
        torch.testing.assert_close(g, torch.as_tensor(ours), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("places", [("attention",), ("attention", "feed_forward")])
def test_what_is_trained_is_counted_exactly(base, places):
    model = adapt.add_adapters(base, W, places=places)
    assert adapt.count_trainable(model)[0] == L * len(places) * (2 * D * W + W + D)
    assert all("_adapter." in name for name in adapt.trainable(model))


def test_attention_out_is_what_the_adapter_makes_of_attention(base):
    model, taps = moved(adapt.add_adapters(base, W)), {}
    model(torch.randint(V, (2, 7)), taps=taps)
    heads, block = taps["blocks.0.attention.heads"], model.blocks[0]
    a = block.attention.W_o(heads.transpose(1, 2).flatten(2))
    torch.testing.assert_close(taps["blocks.0.attention_out"], block.attention_adapter(a))
    assert (taps["blocks.0.attention_out"] - a).abs().max() > 0.01


def test_greedy_tokens_are_those_of_the_model(base):
    model, ids = moved(adapt.add_adapters(base, W)), torch.randint(V, (2, 5))
    written = generate(model, ids, 6, temperature=0)
    assert torch.equal(model(written)[:, 4:-1].argmax(-1), written[:, 5:])


def test_gradients_reach_the_added_numbers_only(base):
    model = adapt.add_adapters(base, W)
    model(torch.randint(V, (2, 7))).square().sum().backward()
    own = adapt.trainable(model)
    assert all((p.grad is None) == (n not in own) for n, p in model.named_parameters())
    assert all(p.grad.abs().max() > 0 for n, p in own.items() if "up" in n)
    assert all(p.grad.abs().max() == 0 for n, p in own.items() if "down" in n)


def test_removal_leaves_the_model_before(base):
    model = adapt.remove_adapters(moved(adapt.add_adapters(copy.deepcopy(base), W)))
    ids = torch.randint(V, (2, 7))
    assert torch.equal(model(ids), base(ids))
    assert list(model.state_dict()) == list(base.state_dict())


def test_a_seed_fixes_the_start(base):
    a, b, c = (
        adapt.add_adapters(copy.deepcopy(base), W, seed=s).state_dict() for s in (5, 5, 6)
    )
    name = "blocks.1.attention_adapter.W_down"
    assert torch.equal(a[name], b[name])
    assert not torch.equal(a[name], c[name])
    assert a[name].abs().max() <= D**-0.5


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"width": 0}, "width=0 must be a whole number, at least 1"),
        ({"width": 2, "activation": "swiglu"}, "activation='swiglu' is not one of relu"),
        ({"width": 2, "places": ("head",)}, "must be one or both of"),
        ({"width": 2, "places": ([],)}, "must be one or both of"),
        ({"width": 2, "activation": ["relu"]}, "is not one of relu"),
        ({"width": 2, "places": ()}, "must be one or both of"),
    ],
)
def test_what_does_not_fit_is_refused_and_changes_nothing(base, options, message, unchecked):
    with pytest.raises(ConfigError, match=message):
        adapt.add_adapters(base, **options)
    assert adapt.additions(base) == []
    assert all(p.requires_grad for p in base.parameters())


def test_adapters_twice_are_refused(base):
    with pytest.raises(InputError, match="bottleneck adapters of width 4 already"):
        adapt.add_adapters(adapt.add_adapters(base, W), W)
