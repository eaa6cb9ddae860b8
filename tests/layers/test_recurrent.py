import pytest
import torch
from torch import nn

from mathlm import layers
from mathlm.errors import ConfigError, InputError, InputTypeError

B, T, D, H, L = 3, 6, 5, 4, 2
KINDS = pytest.mark.parametrize("kind", ["RNN", "LSTM", "GRU"])
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
MASK = torch.tensor([[True] * 6, [True] * 4 + [False] * 2, [False, True] * 3])


def make(kind, n_layers=L, **options):
    return getattr(layers, kind)(D, H, n_layers, **options)


def initial(kind):
    h, c = torch.randn(2, L, B, H, requires_grad=True).unbind()
    return (h, c) if kind == "LSTM" else h


def parts(state):
    return list(state) if isinstance(state, tuple) else [state]


def results(module, x, state, **options):
    """Outputs, final states and the gradient of their squares in everything."""
    y, final = module(x, state, **options)
    outputs = [y, *parts(final)]
    wanted = [x, *parts(state), *module.parameters()]
    loss = sum(o.square().sum() for o in outputs)
    return [*outputs, *torch.autograd.grad(loss, wanted)]


@KINDS
@pytest.mark.parametrize("bias", [True, False])
def test_the_kernel_the_plain_path_and_torch_agree_in_values_and_gradients(kind, bias):
    x, state = torch.randn(B, T, D, requires_grad=True), initial(kind)
    theirs = getattr(nn, kind)(D, H, L, batch_first=True, bias=bias)
    expected = results(theirs, x, state)
    for fused in (True, False):
        ours = make(kind, bias=bias, fused=fused)
        ours.load_state_dict(theirs.state_dict())
        torch.testing.assert_close(results(ours, x, state), expected, **TIGHT)


@KINDS
def test_a_seed_draws_the_weights_of_torch(kind):
    torch.manual_seed(3)
    ours = make(kind).state_dict()
    torch.manual_seed(3)
    theirs = getattr(nn, kind)(D, H, L, batch_first=True).state_dict()
    assert list(ours) == list(theirs)
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)


@KINDS
def test_both_paths_drop_the_same_entries_between_layers_in_training_only(kind):
    x, plain, fused = torch.randn(B, T, D), make(kind, 3, dropout=0.5, fused=False), None
    fused = make(kind, 3, dropout=0.5)
    fused.load_state_dict(plain.state_dict())
    draws = []
    for module in (plain, fused):
        torch.manual_seed(7)
        draws.append(module(x)[0])
    torch.testing.assert_close(draws[0], draws[1], **TIGHT)
    assert (plain(x)[0] - draws[0]).abs().max() > 1e-3
    torch.testing.assert_close(plain.eval()(x), plain(x), rtol=0, atol=0)


@KINDS
@pytest.mark.parametrize("fused", [True, False])
def test_reading_in_two_parts_is_reading_at_once(kind, fused):
    module, x, state = make(kind, fused=fused), torch.randn(B, T, D), initial(kind)
    whole, final = module(x, state)
    for t in range(1, T):
        first, between = module(x[:, :t], state)
        second, last = module(x[:, t:], between)
        torch.testing.assert_close(torch.cat((first, second), 1), whole, **TIGHT)
        torch.testing.assert_close(parts(last), parts(final), **TIGHT)


@KINDS
def test_no_state_is_zeros(kind):
    module, x = make(kind), torch.randn(B, T, D)
    zeros = torch.zeros(L, B, H)
    given = module(x, (zeros, zeros) if kind == "LSTM" else zeros)
    torch.testing.assert_close(module(x), given, rtol=0, atol=0)


@KINDS
def test_a_mask_that_is_all_true_changes_nothing(kind):
    module, x = make(kind), torch.randn(B, T, D)
    masked = module(x, mask=torch.ones(B, T, dtype=torch.bool))
    torch.testing.assert_close(masked, module(x), **TIGHT)


@KINDS
def test_a_padded_sequence_is_the_sequence_of_its_real_steps(kind):
    module, x = make(kind), torch.randn(B, T, D)
    y, final = module(x, mask=MASK)
    for i in range(B):
        alone, last = module(x[i : i + 1, MASK[i]])
        torch.testing.assert_close(y[i, MASK[i]], alone[0], **TIGHT)
        assert (y[i, ~MASK[i]] == 0).all()
        for ours, theirs in zip(parts(final), parts(last), strict=True):
            torch.testing.assert_close(ours[:, i], theirs[:, 0], **TIGHT)


@KINDS
@pytest.mark.parametrize("poison", [1e6, float("nan")])
def test_what_stands_in_padding_changes_neither_values_nor_gradients(kind, poison):
    module, state, seen = make(kind), initial(kind), []
    clean = torch.randn(B, T, D)
    for x in (clean, clean.masked_fill(~MASK[:, :, None], poison)):
        seen.append(results(module, x.requires_grad_(), state, mask=MASK))
    torch.testing.assert_close(*seen, rtol=0, atol=0)


@pytest.mark.parametrize("value", [1.0, 3])
def test_a_forget_bias_is_the_sum_of_both_biases_of_the_forget_gate(value):
    module = make("LSTM", forget_bias=value)
    for i in range(L):
        b = getattr(module, f"bias_ih_l{i}") + getattr(module, f"bias_hh_l{i}")
        assert (b[H : 2 * H] == value).all()
        assert (b[:H] != value).all()


def test_with_a_large_forget_bias_the_cell_stays():
    """f = σ(50) = 1 and, with a shut input gate, c does not move."""
    module = make("LSTM", 1, forget_bias=50.0)
    module.bias_ih_l0.data[:H] = -50.0
    h, c = torch.zeros(1, B, H), torch.randn(1, B, H)
    torch.testing.assert_close(module(torch.randn(B, T, D), (h, c))[1][1], c)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_layers": 0}, "n_layers=0 must be an integer of at least 1"),
        ({"dropout": 1.0}, "dropout=1.0 is outside 0 <= dropout < 1"),
        ({"n_layers": 1, "dropout": 0.5}, "dropout=0.5 acts between layers, and n_layers=1"),
    ],
)
@KINDS
def test_options_out_of_range_are_refused(kind, options, message):
    with pytest.raises(ConfigError, match=message):
        make(kind, **options)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_forget_bias_that_is_not_finite_is_refused(value):
    with pytest.raises(ConfigError, match=f"forget_bias={value} must be finite"):
        make("LSTM", forget_bias=value)


def test_a_forget_bias_without_a_bias_is_refused():
    with pytest.raises(ConfigError, match=r"forget_bias=1\.0 needs bias=True"):
        make("LSTM", bias=False, forget_bias=1.0)


@KINDS
@pytest.mark.parametrize("shape", [(B, 0, D), (0, T, D), (B, T, D + 1), (T, D)])
def test_inputs_that_do_not_fit_are_refused(kind, shape):
    with pytest.raises(InputError, match=r"x has shape .* expected \(B, T, 5\)"):
        make(kind)(torch.zeros(shape))


@KINDS
@pytest.mark.usefixtures("unchecked")
def test_inputs_of_whole_numbers_are_refused(kind):
    with pytest.raises(InputTypeError, match=r"x has dtype torch\.int64"):
        make(kind)(torch.ones(B, T, D, dtype=torch.long))


@KINDS
def test_states_that_do_not_fit_are_refused(kind):
    state = torch.zeros(L, B, H + 1)
    with pytest.raises(
        InputError, match=r"h of the state has shape \(2, 3, 5\), .* \(2, 3, 4\)"
    ):
        make(kind)(torch.zeros(B, T, D), (state, state) if kind == "LSTM" else state)


@pytest.mark.usefixtures("unchecked")
def test_a_state_with_the_wrong_number_of_parts_is_refused():
    h, x = torch.zeros(L, B, H), torch.zeros(B, T, D)
    with pytest.raises(InputError, match=r"state has 1 parts, expected \(h, c\)"):
        make("LSTM")(x, (h,))


@KINDS
def test_masks_that_do_not_fit_are_refused(kind):
    x = torch.zeros(B, T, D)
    with pytest.raises(InputTypeError, match=r"mask has dtype torch\.int64; give booleans"):
        make(kind)(x, mask=MASK.long())
    with pytest.raises(InputError, match=r"mask has shape \(3, 5\), expected .* \(3, 6\)"):
        make(kind)(x, mask=MASK[:, :5])
