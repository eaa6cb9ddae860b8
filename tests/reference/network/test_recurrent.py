import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from mathlm import functional, reference
from mathlm.reference import gru_cell, lstm_cell, numerical_vjp, rnn_cell

D, H = 3, 4
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
THEIRS = {"rnn": torch.nn.RNNCell, "lstm": torch.nn.LSTMCell, "gru": torch.nn.GRUCell}
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
KINDS = pytest.mark.parametrize("kind", GATES)
BATCHES = pytest.mark.parametrize("batch", [(), (2,), (2, 3)], ids=str)


def draw(rng, kind, batch=(2,)):
    """x, state and the four weights as flat arrays; (h, c) are two of them."""
    rows = GATES[kind] * H
    states = [rng.normal(size=(*batch, H)) for _ in range(2 if kind == "lstm" else 1)]
    weights = [rng.normal(size=s) for s in [(rows, D), (rows, H), (rows,), (rows,)]]
    return rng.normal(size=(*batch, D)), *states, *weights


def grouped(kind, args):
    """The flat arrays as the arguments of a cell."""
    return (args[0], tuple(args[1:3]), *args[3:]) if kind == "lstm" else tuple(args)


def flat(values):
    return [a for v in values for a in (v if isinstance(v, tuple) else (v,))]


def step(kind, *args, half=reference):
    """The new state in one array; h and c side by side."""
    new = getattr(half, f"{kind}_cell")(*grouped(kind, args))
    new = new[0] if half is reference else new
    return (np.concatenate if half is reference else torch.cat)(flat([new]), -1)


def backward(kind, args, dy):
    _, cache = getattr(reference, f"{kind}_cell")(*grouped(kind, args))
    dy = tuple(np.split(dy, 2, -1)) if kind == "lstm" else dy
    return flat(getattr(reference, f"{kind}_cell_backward")(dy, cache))


def gradient_for(rng, kind, batch):
    return rng.normal(size=(*batch, 2 * H if kind == "lstm" else H))


@KINDS
@BATCHES
def test_backward_matches_central_differences(rng, kind, batch):
    args, dy = draw(rng, kind, batch), gradient_for(rng, kind, batch)
    numeric = numerical_vjp(lambda *a: step(kind, *a), args, dy)
    for ours, theirs in zip(backward(kind, args, dy), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@KINDS
@BATCHES
def test_both_halves_agree_in_value_and_gradient(rng, kind, batch):
    args, dy = draw(rng, kind, batch), gradient_for(rng, kind, batch)
    tensors = [torch.tensor(a, requires_grad=True) for a in args]
    y = step(kind, *tensors, half=functional)
    y.backward(torch.tensor(dy))
    assert_allclose(step(kind, *args), y.detach(), **TIGHT)
    for ours, tensor in zip(backward(kind, args, dy), tensors, strict=True):
        assert_allclose(ours, tensor.grad, **TIGHT)


@KINDS
def test_a_step_is_that_of_torch(rng, kind):
    args, cell = draw(rng, kind), THEIRS[kind](D, H)
    for p, array in zip(cell.parameters(), args[-4:], strict=True):
        p.data = torch.tensor(array)
    x, *states = map(torch.tensor, args[:-4])
    theirs = flat([cell(x, tuple(states) if kind == "lstm" else states[0])])
    assert_allclose(step(kind, *args), torch.cat(theirs, -1).detach(), **TIGHT)


@KINDS
def test_without_biases_the_step_is_that_with_zeros_and_has_no_gradient_in_them(rng, kind):
    *args, b_ih, b_hh = draw(rng, kind)
    dy = gradient_for(rng, kind, (2,))
    assert_allclose(step(kind, *args), step(kind, *args, 0 * b_ih, 0 * b_hh), rtol=0)
    with_zeros = backward(kind, (*args, 0 * b_ih, 0 * b_hh), dy)
    without = backward(kind, args, dy)
    assert without[-2:] == [None, None]
    for ours, theirs in zip(without[:-2], with_zeros[:-2], strict=True):
        assert_allclose(ours, theirs, rtol=0)


def test_three_steps_of_one_neuron_by_hand():
    """h = tanh(0.5 h + x) with inputs 1, 0, 0: each state is tanh of half the one before."""
    h, states = np.zeros(1), []
    for x in (1.0, 0.0, 0.0):
        h, _ = rnn_cell(np.array([x]), h, np.array([[1.0]]), np.array([[0.5]]))
        states.append(h[0])
    assert_allclose(states, [np.tanh(1), np.tanh(np.tanh(1) / 2), np.tanh(states[1] / 2)])


def test_an_lstm_with_shut_input_and_open_forget_gate_keeps_its_cell():
    """a_i = -50 shuts the input, a_f = 50 keeps c, a_o = 50 shows tanh(c)."""
    b = np.array([-50.0, 50.0, 3.0, 50.0])
    state = (np.array([0.3]), np.array([0.7]))
    (h, c), _ = lstm_cell(np.ones(1), state, np.zeros((4, 1)), np.zeros((4, 1)), b)
    assert_allclose(c, [0.7], rtol=1e-15)
    assert_allclose(h, [np.tanh(0.7)], rtol=1e-15)


def test_a_gru_with_open_update_gate_keeps_its_state_and_with_a_shut_one_forgets_it():
    """z = σ(±50) is 1 or 0; r = 1/2 halves u_n = 2 · 0.3 + 0.4 = 1, so n = tanh(0.1 + 0.5)."""
    W_hh, b_hh = np.array([[0.0], [0.0], [2.0]]), np.array([0.0, 0.0, 0.4])
    for a_z, expected in ((50.0, 0.3), (-50.0, np.tanh(0.6))):
        b_ih = np.array([0.0, a_z, 0.1])
        h, _ = gru_cell(np.ones(1), np.array([0.3]), np.zeros((3, 1)), W_hh, b_ih, b_hh)
        assert_allclose(h, [expected], rtol=1e-14)


def test_the_reset_gate_of_a_gru_stands_behind_the_product_unlike_in_cho_et_al(rng):
    x, h, W_ih, W_hh, b_ih, b_hh = draw(rng, "gru")
    a, b = (x @ W_ih.T + b_ih), b_hh
    W_r, W_z, W_n = np.split(W_hh, 3)
    r = 1 / (1 + np.exp(-(a[:, :H] + h @ W_r.T + b[:H])))
    z = 1 / (1 + np.exp(-(a[:, H : 2 * H] + h @ W_z.T + b[H : 2 * H])))
    n = np.tanh(a[:, 2 * H :] + (r * h) @ W_n.T + b[2 * H :])
    cho, ours = (1 - z) * n + z * h, gru_cell(x, h, W_ih, W_hh, b_ih, b_hh)[0]
    assert np.abs(cho - ours).max() > 0.01


@KINDS
def test_large_inputs_saturate_and_stay_finite(rng, kind):
    x, *rest = draw(rng, kind)
    new = step(kind, 1e6 * x, *rest)
    assert np.isfinite(new).all()
    assert all(
        np.isfinite(g).all() for g in backward(kind, (1e6 * x, *rest), np.ones_like(new))
    )


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("place", "shape", "message"),
    [
        (0, (2, 5), r"W_ih has shape \(12, 3\), but x of width 5 .* need \(12, 5\): 3 blocks"),
        (1, (3, H), r"h has shape \(3, 4\), but x of \(2, 3\) with H=4 needs \(2, 4\)"),
        (2, (H, D), r"W_ih has shape \(4, 3\), .* need \(12, 3\)"),
        (0, (), r"W_ih has shape \(12, 3\), but x of width 1 .* need \(12, 1\)"),
        (3, (H, 3 * H), r"W_hh has shape \(4, 12\), expected \(36, 12\)"),
        (3, (5,), r"W_hh has shape \(5,\), expected \(15, 5\)"),
        (3, (), r"W_hh has shape \(\), expected \(3, 1\)"),
        (4, (H,), r"b_ih has shape \(4,\), expected \(12,\)"),
        (5, (3 * H, 1), r"b_hh has shape \(12, 1\)"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(rng, place, shape, message):
    args = list(draw(rng, "gru"))
    args[place] = np.zeros(shape)
    with pytest.raises(ValueError, match=message):
        gru_cell(*args)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", ["lstm", "rnn"])
def test_a_state_with_the_wrong_number_of_parts_is_refused(rng, kind):
    x, h, *rest = draw(rng, kind)
    state, form = (h, "the pair") if kind == "lstm" else ((h, h), "one array h")
    with pytest.raises(ValueError, match=rf"parts; that of the cell '{kind}' is {form}"):
        getattr(reference, f"{kind}_cell")(x, state, *rest[-4:])


@KINDS
@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(rng, kind, bad):
    args = draw(rng, kind)
    names = ["x", *(f"state {part}" for part in ("hc" if kind == "lstm" else "h"))]
    for array, name in zip(args, [*names, "W_ih", "W_hh", "b_ih", "b_hh"], strict=True):
        kept, array.flat[1] = array.flat[1], bad
        with pytest.raises(ValueError, match=f"{name} holds 1 NaN or infinite"):
            step(kind, *args)
        array.flat[1] = kept


@KINDS
def test_an_overflow_inside_a_cell_is_refused(rng, kind):
    x, *rest, W_ih, W_hh, b_ih, b_hh = draw(rng, kind)
    with pytest.raises(ValueError, match=r"x W_ihᵀ .* holds"):
        step(kind, x + 1e300, *rest, 1e300 * W_ih, W_hh, b_ih, b_hh)


@KINDS
def test_an_overflow_of_the_sum_alone_is_refused(rng, kind):
    """1e308 + 1e308 is beyond float64, 1e308 - 1e308 is 0, and ∞ - ∞ has no value."""
    args = [np.ones_like(a) / a.shape[-1] for a in draw(rng, kind)]
    args[0], args[1] = 1e308 * np.ones((2, D)), 1e308 * np.ones((2, H))
    with pytest.raises(ValueError, match=r"x W_ihᵀ .* holds"):
        step(kind, *args)
    args[1] *= -1
    assert np.isfinite(step(kind, *args)).all()
    args[-4], args[-3] = 4 * args[-4], 4 * args[-3]
    with pytest.raises(ValueError, match=r"x W_ihᵀ .* holds"):
        step(kind, *args)


@pytest.mark.parametrize("kind", ["rnn", "gru"])
def test_a_gradient_of_two_parts_is_refused_by_a_cell_of_one(rng, kind, unchecked):
    _, cache = getattr(reference, f"{kind}_cell")(*draw(rng, kind))
    with pytest.raises(ValueError, match=f"dy has 2 parts; that of the cell '{kind}' is one"):
        getattr(reference, f"{kind}_cell_backward")((np.ones((2, H)),) * 2, cache)


@KINDS
def test_a_gradient_of_another_shape_is_refused(rng, kind):
    args, dy = draw(rng, kind), gradient_for(rng, kind, (3,))
    with pytest.raises(
        ValueError, match=r"dy has shape \(3, 4\), but the state needs \(2, 4\)"
    ):
        backward(kind, args, dy)
