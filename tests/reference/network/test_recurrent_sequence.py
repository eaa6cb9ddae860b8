import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm import reference
from mathlm.reference import numerical_vjp

B, T, D, H = 3, 5, 2, 4
GATES = {"rnn": 1, "lstm": 4, "gru": 3}
THEIRS = {"rnn": torch.nn.RNN, "lstm": torch.nn.LSTM, "gru": torch.nn.GRU}
TIGHT = {"rtol": 1e-12, "atol": 1e-14}
KINDS = pytest.mark.parametrize("kind", GATES)
MASK = np.array([[True] * 5, [True] * 3 + [False] * 2, [False, True, False, True, True]])


def draw(rng, kind, steps=T):
    """x, the initial state and the four weights as flat arrays; (h, c) are two of them."""
    rows = GATES[kind] * H
    states = [rng.normal(size=(B, H)) for _ in range(2 if kind == "lstm" else 1)]
    weights = [0.7 * rng.normal(size=s) for s in [(rows, D), (rows, H), (rows,), (rows,)]]
    return rng.normal(size=(B, steps, D)), *states, *weights


def grouped(kind, args):
    return (args[0], tuple(args[1:3]), *args[3:]) if kind == "lstm" else tuple(args)


def flat(values):
    return [a for v in values for a in (v if isinstance(v, tuple) else (v,))]


def read(kind, args, mask=None):
    return getattr(reference, kind)(*grouped(kind, args), mask=mask)


def values(kind, *args, mask=None):
    """Outputs and final state in one array (B, T + 1 or 2, H)."""
    y, *final = flat(read(kind, args, mask)[0])
    return np.concatenate([y, *(part[:, None] for part in final)], 1)


def backward(kind, args, dy, mask=None, truncate=None):
    """Gradients in all arguments, flat; dy has the form of :func:`values`."""
    final = tuple(dy[:, -i] for i in ((2, 1) if kind == "lstm" else (1,)))
    dy = (dy[:, : -len(final)], final if kind == "lstm" else final[0])
    back = getattr(reference, f"{kind}_backward")
    return flat(back(dy, read(kind, args, mask)[1], truncate=truncate))


def gradient_for(rng, kind, steps=T):
    return rng.normal(size=(B, steps + (2 if kind == "lstm" else 1), H))


def layer(kind, args):
    """torch's layer with these weights, and x and state as tensors that take gradients."""
    module = THEIRS[kind](D, H, batch_first=True)
    for p, array in zip(module.parameters(), args[-4:], strict=True):
        p.data = torch.tensor(array)
    return module, [torch.tensor(a, requires_grad=True) for a in args[:-4]]


def run(kind, module, x, states):
    """torch's layer, with states that have no axis of layers."""
    given = [s[None] for s in states]
    y, final = module(x, tuple(given) if kind == "lstm" else given[0])
    return y, [s[0] for s in (final if kind == "lstm" else (final,))]


def torch_gradients(module, tensors):
    return [t.grad.numpy() for t in (*tensors, *module.parameters())]


@KINDS
@pytest.mark.parametrize("masked", [False, True])
def test_backward_matches_central_differences(rng, kind, masked):
    args, dy, mask = draw(rng, kind), gradient_for(rng, kind), MASK if masked else None
    numeric = numerical_vjp(lambda *a: values(kind, *a, mask=mask), args, dy)
    for ours, theirs in zip(backward(kind, args, dy, mask), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@KINDS
def test_values_and_all_gradients_are_those_of_torch(rng, kind):
    args, dy = draw(rng, kind, 12), gradient_for(rng, kind, 12)
    module, (x, *states) = layer(kind, args)
    y, final = run(kind, module, x, states)
    theirs = torch.cat([y, *(part[:, None] for part in final)], 1)
    assert_allclose(values(kind, *args), theirs.detach(), **TIGHT)
    theirs.backward(torch.tensor(dy))
    for a, b in zip(
        backward(kind, args, dy), torch_gradients(module, [x, *states]), strict=True
    ):
        assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@KINDS
def test_padding_on_the_right_is_that_of_a_packed_sequence(rng, kind):
    lengths, args = [5, 2, 4], draw(rng, kind)
    module, (x, *states) = layer(kind, args)
    given = tuple(s[None] for s in states) if kind == "lstm" else states[0][None]
    packed = torch.nn.utils.rnn.pack_padded_sequence(x, lengths, True, enforce_sorted=False)
    y, final = module(packed, given)
    y, _ = torch.nn.utils.rnn.pad_packed_sequence(y, batch_first=True)
    mask = np.arange(T) < np.array(lengths)[:, None]
    (ours, state), _ = read(kind, args, mask)
    assert_allclose(ours, y.detach(), **TIGHT)
    for a, b in zip(flat([state]), flat([final]), strict=True):
        assert_allclose(a, b[0].detach(), **TIGHT)


@KINDS
def test_a_padded_sequence_is_the_sequence_of_its_real_steps(rng, kind):
    x, *rest = draw(rng, kind)
    states, weights = [s[2:] for s in rest[:-4]], rest[-4:]
    alone = values(kind, x[2:, MASK[2]], *states, *weights)[0]
    padded = values(kind, x, *rest, mask=MASK)[2]
    assert_allclose(padded[:T][MASK[2]], alone[:3], rtol=1e-14)
    assert_allclose(padded[T:], alone[3:], rtol=1e-14)
    assert_array_equal(padded[:T][~MASK[2]], 0)


@KINDS
def test_a_row_of_padding_returns_its_state_and_passes_its_gradient(rng, kind):
    args, dy = draw(rng, kind), gradient_for(rng, kind)
    mask = MASK & np.array([[True], [True], [False]])
    states = args[1:-4]
    for i, part in enumerate(flat([read(kind, args, mask)[0][1]])):
        assert_array_equal(part[2], states[i][2])
        assert_array_equal(backward(kind, args, dy, mask)[1 + i][2], dy[2, T + i])


@KINDS
@pytest.mark.parametrize("poison", [1e6, np.nan, np.inf])
def test_what_stands_in_padding_changes_nothing(rng, kind, poison):
    args, dy = draw(rng, kind), gradient_for(rng, kind)
    clean = [values(kind, *args, mask=MASK), *backward(kind, args, dy, MASK)]
    args[0][~MASK] = poison
    dy[:, :T][~MASK] = poison
    poisoned = [values(kind, *args, mask=MASK), *backward(kind, args, dy, MASK)]
    for a, b in zip(clean, poisoned, strict=True):
        assert_array_equal(a, b)
    assert_array_equal(poisoned[1][~MASK], 0)


@KINDS
def test_reading_in_two_parts_is_reading_at_once(rng, kind):
    x, *rest = draw(rng, kind)
    whole = values(kind, x, *rest)
    for t in range(1, T):
        (first, state), _ = read(kind, (x[:, :t], *rest))
        second = values(kind, x[:, t:], *flat([state]), *rest[-4:])
        assert_allclose(np.concatenate([first, second], 1), whole, rtol=1e-14)


@KINDS
@pytest.mark.parametrize("k", [1, 3, 4])
def test_truncation_is_cutting_the_graph_between_stretches(rng, kind, k):
    """Stretches of k steps from the left; the state that enters one is a constant."""
    args, dy = draw(rng, kind, 8), gradient_for(rng, kind, 8)
    module, (x, *states) = layer(kind, args)
    parts, outputs = states, []
    for piece in x.split(k, 1):
        y, parts = run(kind, module, piece, [p.detach() for p in parts] if outputs else parts)
        outputs.append(y)
    torch.cat([*outputs, *(p[:, None] for p in parts)], 1).backward(torch.tensor(dy))
    ours = backward(kind, args, dy, truncate=k)
    for a, b in zip(ours, torch_gradients(module, [x, *states]), strict=True):
        assert_allclose(a, b, rtol=1e-12, atol=1e-13)


@KINDS
def test_truncation_beyond_the_length_is_exact_and_shorter_is_not(rng, kind):
    args, dy = draw(rng, kind), gradient_for(rng, kind)
    exact = backward(kind, args, dy)
    for a, b in zip(backward(kind, args, dy, truncate=T), exact, strict=True):
        assert_array_equal(a, b)
    assert np.abs(backward(kind, args, dy, truncate=2)[-1] - exact[-1]).max() > 1e-3


@KINDS
def test_no_state_is_zeros_and_no_final_gradient_is_none(rng, kind):
    x, *rest = draw(rng, kind)
    weights, f = rest[-4:], getattr(reference, kind)
    zeros = [np.zeros((B, H))] * (len(rest) - 4)
    (y, _), cache = f(x, None, *weights)
    assert_array_equal(y, values(kind, x, *zeros, *weights)[:, :T])
    dy = gradient_for(rng, kind)
    dy[:, T:] = 0
    ours = flat(getattr(reference, f"{kind}_backward")((dy[:, :T], None), cache))
    for a, b in zip(ours, backward(kind, (x, *zeros, *weights), dy), strict=True):
        assert_array_equal(a, b)


@KINDS
def test_without_biases_there_are_no_gradients_in_them(rng, kind):
    x, *rest = draw(rng, kind)
    (y, _), cache = getattr(reference, kind)(x, None, *rest[-4:-2])
    assert getattr(reference, f"{kind}_backward")((y, None), cache)[-2:] == (None, None)


@pytest.mark.parametrize("shape", [(B, 0, D), (0, T, D), (T, D), (B, T, 0)])
def test_batches_without_sequences_steps_or_features_are_refused(rng, shape):
    weights = draw(rng, "gru")[-4:]
    with pytest.raises(ValueError, match=r"x has shape .* expected \(B, T, D\) with at least"):
        reference.gru(np.zeros(shape), None, *weights)


def test_nested_lists_are_refused_as_inputs(rng, unchecked):
    x, h, *weights = draw(rng, "gru")
    with pytest.raises(ValueError, match=r"expected \(B, T, D\) with at least one sequence"):
        reference.gru(x.tolist(), h, *weights)


def test_a_state_of_another_batch_or_width_is_refused(rng):
    x, h, *weights = draw(rng, "gru")
    with pytest.raises(ValueError, match=r"h has shape \(2, 4\), but a batch of 3 with H=4"):
        reference.gru(x, h[:2], *weights)
    with pytest.raises(ValueError, match=r"c has shape \(3, 3\), .* needs \(3, 4\)"):
        reference.lstm(x, (h, h[:, :3]), *draw(rng, "lstm")[-4:])


@pytest.mark.usefixtures("unchecked")
def test_masks_that_do_not_fit_are_refused(rng):
    args = draw(rng, "gru")
    with pytest.raises(TypeError, match="mask has dtype int64; give booleans"):
        reference.gru(*args, mask=MASK.astype(np.int64))
    with pytest.raises(ValueError, match=r"mask has shape \(3, 4\), but x of .* \(3, 5\)"):
        reference.gru(*args, mask=MASK[:, :4])


@KINDS
def test_nan_at_a_real_step_is_refused(rng, kind):
    args = draw(rng, kind)
    args[0][0, 3] = np.nan
    with pytest.raises(ValueError, match="x holds 2 NaN"):
        read(kind, args)


def test_gradients_and_caches_that_do_not_fit_are_refused(rng):
    (y, h), cache = read("gru", draw(rng, "gru"))
    with pytest.raises(ValueError, match=r"dy has shape \(3, 4, 4\), but y needs \(3, 5, 4\)"):
        reference.gru_backward((y[:, :4], h), cache)
    with pytest.raises(ValueError, match="cache is of gru, not of rnn: call gru_backward"):
        reference.rnn_backward((y, h), cache)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("truncate", [0, -2, 1.5])
def test_stretches_are_of_whole_steps(rng, truncate):
    y, cache = read("gru", draw(rng, "gru"))
    with pytest.raises(ValueError, match=f"truncate={truncate} must be an integer of at least"):
        reference.gru_backward(y, cache, truncate=truncate)
