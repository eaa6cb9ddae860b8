import copy

import pytest
import torch
from torch import nn

from mathlm import reference
from mathlm.errors import ConfigError, InputError
from mathlm.functional import low_rank_update
from mathlm.layers import ByteLinear, LoRALinear, LoRASettings, NibbleLinear


def make(outputs=6, inputs=8, rank=2, base=None, train=True, **settings):
    """A map with an update in use; without ``train``, as it starts."""
    layer = LoRALinear(nn.Linear(inputs, outputs) if base is None else base)
    layer.add("default", LoRASettings(rank=rank, alpha=4, **settings))
    layer.active = "default"
    if train:
        layer.B["default"].data.normal_()
    return layer


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
def test_it_starts_as_its_map_bit_for_bit_in_every_format(dtype):
    base = nn.Linear(8, 6, dtype=dtype)
    layer, x = make(base=base, train=False, dropout=0.5), torch.randn(3, 8, dtype=dtype)
    assert layer.training
    assert torch.equal(layer(x), base(x))
    assert layer(x).dtype == dtype


def test_it_starts_as_its_map_where_the_format_is_chosen_for_each_operation():
    layer, x = make(train=False).float(), torch.randn(3, 8).float()
    with torch.autocast("cpu", torch.bfloat16):
        assert torch.equal(layer(x), layer.base(x))


@pytest.mark.parametrize("bias", [True, False])
def test_values_and_gradients_are_those_of_the_reference(bias):
    layer, x = make(base=nn.Linear(8, 6, bias=bias)), torch.randn(2, 3, 8, requires_grad=True)
    y, dy = layer(x), torch.randn(2, 3, 6)
    y.backward(dy)
    A, B = layer.A["default"], layer.B["default"]
    numbers = [t.detach().numpy() for t in (x, layer.base.weight, A, B)]
    expected, cache = reference.low_rank_linear(*numbers, 2.0)
    shift = layer.base.bias.detach() if bias else 0
    dx, _, dA, dB = map(torch.from_numpy, reference.low_rank_linear_backward(dy.numpy(), cache))
    torch.testing.assert_close(y, torch.from_numpy(expected) + shift, rtol=1e-12, atol=1e-12)
    for leaf, gradient in ((x, dx), (A, dA), (B, dB)):
        torch.testing.assert_close(leaf.grad, gradient, rtol=1e-12, atol=1e-12)


def test_only_the_factors_get_gradients_and_at_the_start_only_one():
    layer = make(train=False)
    layer(torch.randn(3, 8)).square().sum().backward()
    assert layer.base.weight.grad is None
    assert layer.base.bias.grad is None
    assert layer.A["default"].grad.abs().max() == 0
    assert layer.B["default"].grad.abs().min() > 0


def test_the_first_factor_is_uniform_with_the_papers_width():
    """Uniform in ±1/√I: variance 1/(3 I)."""
    A = make(300, 400, 200, train=False).A["default"]
    assert A.abs().max() <= 1 / 20
    assert A.var().item() == pytest.approx(1 / 1200, rel=0.02)


def test_factors_of_a_map_in_half_precision_are_in_single():
    layer = make(base=nn.Linear(8, 6, dtype=torch.bfloat16))
    assert layer.A["default"].dtype == layer.B["default"].dtype == torch.float32
    exact = (
        layer.base(torch.eye(8).bfloat16()).float()
        + 2 * (layer.B["default"] @ layer.A["default"]).T
    )
    assert torch.equal(layer(torch.eye(8).bfloat16()), exact.bfloat16())


@pytest.mark.parametrize("kind", [ByteLinear, NibbleLinear])
def test_a_quantized_map_learns_beside_its_codes(kind):
    base = kind.of(torch.randn(32, 64), torch.randn(32))
    layer, x = make(base=base, rank=4), torch.randn(3, 64)
    update = x @ (layer.B["default"] @ layer.A["default"]).T.to(x.dtype)
    torch.testing.assert_close(layer(x), base(x) + update, rtol=1e-6, atol=1e-6)
    layer(x).sum().backward()
    assert layer.A["default"].grad is not None
    assert layer.B["default"].grad is not None


def test_dropout_acts_in_training_only():
    layer, x = make(dropout=0.5), torch.randn(3, 8)
    assert not torch.equal(layer(x), layer(x))
    layer.eval()
    assert torch.equal(layer(x), layer(x))


def test_dropout_takes_inputs_away_before_the_update_reads_them():
    """One input at rate 1/4: the whole output is 0, or 4/3 of s B A x; never a part of it."""
    x, A, B = torch.ones(400, 1), torch.tensor([[3.0]]), torch.tensor([[1.0], [2.0]])
    y = low_rank_update(x, A, B, 0.5, 0.25)
    kept = y[:, 0] != 0
    assert torch.equal(y, kept[:, None] * torch.tensor([2.0, 4.0]))
    assert kept.double().mean().item() == pytest.approx(0.75, abs=0.1)


def test_without_an_update_in_use_it_is_its_map():
    layer, x = make(), torch.randn(3, 8)
    layer.active = None
    assert torch.equal(layer(x), layer.base(x))


def test_copies_and_moves_keep_what_it_does():
    layer, x = make().eval(), torch.randn(3, 8)
    layer.merged = layer.weights().detach()
    other = copy.deepcopy(layer)
    assert torch.equal(other(x), layer(x))
    assert {p.dtype for p in other.to(torch.bfloat16).parameters()} == {torch.bfloat16}
    assert other.merged.dtype == torch.bfloat16
    assert other(x.bfloat16()).dtype == torch.bfloat16


def test_state_is_the_same_merged_or_not_and_loading_merges_again():
    one, two = make().eval(), make().eval()
    names = list(one.state_dict())
    two.merged = two.weights()
    assert list(two.state_dict()) == names
    two.load_state_dict(one.state_dict())
    assert torch.equal(two.merged, one.weights())


def test_a_removed_update_is_not_used_merged_either():
    layer, x = make().eval(), torch.randn(3, 8)
    layer.merged = layer.weights()
    layer.remove("default")
    assert torch.equal(layer(x), layer.base(x))


def test_whoever_wants_one_matrix_is_told_where_it_is():
    with pytest.raises(AttributeError, match=r"\.base\.weight is the one that is not trained"):
        _ = make().weight
    with pytest.raises(AttributeError, match="has no attribute 'nonsense'"):
        _ = make().nonsense


def test_training_is_refused_while_the_update_is_merged():
    layer = make()
    layer.merged = layer.weights()
    with pytest.raises(InputError, match="'default' is merged, and would not learn"):
        layer(torch.randn(3, 8))
    with torch.no_grad():
        assert layer(torch.randn(3, 8)).shape == (3, 6)


def test_weights_of_codes_take_up_no_update():
    with pytest.raises(InputError, match="weights of 8 bits, into which no update"):
        make(base=ByteLinear.of(torch.randn(8, 8))).weights()


def test_a_rank_that_no_such_matrix_has_is_refused():
    with pytest.raises(InputError, match=r"rank=7 is more than min\(inputs, outputs\) = 6"):
        make(rank=7)
    with pytest.raises(InputError, match="an update 'default' already"):
        make().add("default", LoRASettings(rank=1, alpha=1))


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rank": 0}, "rank=0 must be a whole number, at least 1"),
        ({"rank": True}, "rank=True must be a whole number"),
        ({"alpha": 0}, "alpha=0 must be a number, positive"),
        ({"alpha": float("nan")}, "alpha=nan must be a number, positive"),
        ({"alpha": "8"}, "alpha='8' must be a number"),
        ({"alpha": True}, "alpha=True must be a number"),
        ({"dropout": None}, r"dropout=None must be a number in \[0, 1\)"),
        ({"rank_stabilized": "no"}, "rank_stabilized='no' is not True or False"),
        ({"dropout": 1}, r"dropout=1 must be a number in \[0, 1\)"),
        ({"dropout": -0.1}, r"dropout=-0.1 must be a number in \[0, 1\)"),
    ],
)
def test_settings_out_of_range_are_refused(wrong, message, unchecked):
    with pytest.raises(ConfigError, match=message):
        LoRASettings(**{"rank": 2, "alpha": 4} | wrong)
