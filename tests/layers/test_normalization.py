import pytest
import torch
from torch import nn

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.layers import BatchNorm, LayerNorm, RMSNorm

TIGHT = {"rtol": 1e-12, "atol": 1e-14}
D = 6
MASK = torch.tensor([[True, True, False], [True, False, True]])


def pair(momentum=0.1, eps=1e-5):
    """Ours and torch's, with the same random gain and shift."""
    ours, theirs = BatchNorm(D, eps, momentum), nn.BatchNorm1d(D, eps, momentum)
    ours.gamma.data, ours.beta.data = torch.randn(D), torch.randn(D)
    theirs.weight.data, theirs.bias.data = ours.gamma.data, ours.beta.data
    return ours, theirs


def test_layer_norm_of_1_2_3_4_by_hand():
    """Mean 5/2, biased variance 5/4: (1 - 5/2) / √(5/4) = -3/√5 = -1.34164079."""
    y = LayerNorm(4, eps=0.0)(torch.tensor([1.0, 2, 3, 4]))
    torch.testing.assert_close(y, torch.tensor([-3.0, -1, 1, 3]) / 5**0.5, **TIGHT)
    assert round(y[0].item(), 8) == -1.34164079


def test_layer_norm_of_equal_entries_is_the_shift():
    layer = LayerNorm(D)
    layer.beta.data = torch.randn(D)
    assert torch.equal(layer(torch.full((3, D), 0.1))[1], layer.beta)


@pytest.mark.parametrize("eps", [1e-12, 1e-6, 1e-5])
def test_layer_norm_is_that_of_torch_for_its_own_eps_and_no_other(eps):
    x = 1e-4 * torch.randn(5, D)
    theirs = nn.LayerNorm(D, eps)(x)
    torch.testing.assert_close(LayerNorm(D, eps)(x), theirs, **TIGHT)
    for other in {1e-12, 1e-6, 1e-5} - {eps}:
        assert not torch.allclose(LayerNorm(D, other)(x), theirs, rtol=1e-6)


@pytest.mark.parametrize("momentum", [0.1, 0.7, 1.0])
def test_batch_norm_trains_and_remembers_as_that_of_torch(momentum):
    ours, theirs = pair(momentum)
    for _ in range(4):
        x = 3 * torch.randn(7, D) + 2
        torch.testing.assert_close(ours(x), theirs(x), **TIGHT)
    torch.testing.assert_close(ours.running_mean, theirs.running_mean, **TIGHT)
    torch.testing.assert_close(ours.running_var, theirs.running_var, **TIGHT)
    ours.eval(), theirs.eval()
    x = torch.randn(1, D)
    torch.testing.assert_close(ours(x), theirs(x), **TIGHT)


def test_gradients_of_batch_norm_are_those_of_torch():
    (ours, theirs), x = pair(), torch.randn(7, D, requires_grad=True)
    dy = torch.randn(7, D)
    own = torch.autograd.grad(ours(x), [x, ours.gamma, ours.beta], dy)
    expected = torch.autograd.grad(theirs(x), [x, theirs.weight, theirs.bias], dy)
    for a, b in zip(own, expected, strict=True):
        torch.testing.assert_close(a, b, rtol=1e-12, atol=1e-13)


def test_running_variance_is_unbiased_by_hand():
    """Two values 0 and 2: variance 1 by 1/N, 2 by 1/(N - 1); 0.9 · 1 + 0.1 · 2 = 1.1."""
    layer = BatchNorm(1)
    layer(torch.tensor([[0.0], [2.0]]))
    assert layer.running_mean.item() == pytest.approx(0.1)
    assert layer.running_var.item() == pytest.approx(1.1)


def test_evaluation_neither_sees_the_batch_nor_changes_what_is_remembered():
    layer = BatchNorm(D)
    layer(torch.randn(9, D) + 5)
    layer.eval()
    before, x = layer.running_mean.clone(), torch.randn(9, D)
    torch.testing.assert_close(layer(x)[:1], layer(x[:1]), **TIGHT)
    assert torch.equal(layer.running_mean, before)


def test_padding_is_left_out_of_both_statistics():
    padded, alone, x = BatchNorm(D), BatchNorm(D), torch.randn(2, 3, D)
    y = alone(x[MASK])
    x[~MASK] = torch.nan
    torch.testing.assert_close(padded(x, MASK)[MASK], y, **TIGHT)
    torch.testing.assert_close(padded.running_mean, alone.running_mean, **TIGHT)
    torch.testing.assert_close(padded.running_var, alone.running_var, **TIGHT)
    padded.eval()
    assert (padded(x, MASK)[~MASK] == 0).all()


def test_what_is_remembered_is_saved_with_the_weights():
    layer, other = BatchNorm(D), BatchNorm(D)
    layer(torch.randn(9, D))
    other.load_state_dict(layer.state_dict())
    assert set(layer.state_dict()) == {"gamma", "beta", "running_mean", "running_var"}
    assert torch.equal(other.eval()(torch.ones(1, D)), layer.eval()(torch.ones(1, D)))


def test_half_precision_keeps_its_statistics_in_the_precision_of_the_layer():
    layer = BatchNorm(D).float()
    y = layer(torch.randn(9, D, dtype=torch.bfloat16))
    assert (y.dtype, layer.running_var.dtype) == (torch.bfloat16, torch.float32)


@pytest.mark.parametrize("x", [torch.ones(1, D), torch.full((2, D), torch.nan)])
def test_a_batch_that_has_no_statistics_is_refused_and_not_remembered(x):
    layer = BatchNorm(D)
    with pytest.raises(InputError, match=r"1 of the vectors of x \(1, 6\)|not finite"):
        layer(x)
    assert torch.equal(layer.running_var, torch.ones(D))


def test_masks_that_do_not_fit_are_refused():
    layer, x = BatchNorm(D), torch.ones(2, 3, D)
    with pytest.raises(InputError, match=r"mask \(3,\) must be \(2, 3\)"):
        layer(x, torch.ones(3).bool())
    with pytest.raises(InputTypeError, match="must be bool"):
        layer(x, torch.ones(2, 3))


@pytest.mark.parametrize("options", [{"momentum": 0.0}, {"momentum": 1.5}, {"eps": 0.0}])
def test_momentum_and_eps_out_of_range_are_refused(options):
    with pytest.raises(ConfigError, match="need 0 < momentum"):
        BatchNorm(D, **options)


@pytest.mark.parametrize("options", [(0,), (4, -1.0), (4, float("nan"))])
@pytest.mark.parametrize("norm", [LayerNorm, RMSNorm])
def test_norms_that_cannot_divide_are_refused(norm, options):
    with pytest.raises(ConfigError, match="eps="):
        norm(*options)
