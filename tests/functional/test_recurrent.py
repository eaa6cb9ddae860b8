import pytest
import torch
from torch import nn

from mathlm import functional as F

D, H = 3, 6  # more than the gates: their number and their width differ
CELLS = {
    "rnn": (F.rnn_cell, nn.RNNCell),
    "lstm": (F.lstm_cell, nn.LSTMCell),
    "gru": (F.gru_cell, nn.GRUCell),
}
KINDS = pytest.mark.parametrize("kind", CELLS)


def draw(kind, bias=True):
    """torch's cell, an input, and a state in the form of the kind."""
    theirs = CELLS[kind][1](D, H, bias=bias)
    h, c = torch.randn(2, 5, H, requires_grad=True)
    return theirs, torch.randn(5, D, requires_grad=True), (h, c) if kind == "lstm" else h


def side_by_side(new):
    return torch.cat(new, -1) if isinstance(new, tuple) else new


@KINDS
@pytest.mark.parametrize("bias", [True, False])
def test_a_step_and_its_gradients_are_those_of_torch(kind, bias):
    theirs, x, state = draw(kind, bias)
    weights, results = list(theirs.parameters()), []
    for y in (theirs(x, state), CELLS[kind][0](x, state, *weights)):
        y = side_by_side(y)
        gradients = torch.autograd.grad(y.square().sum(), [x, *weights])
        results.append([y, *gradients])
    torch.testing.assert_close(*results, rtol=1e-12, atol=1e-14)


@KINDS
def test_a_batch_of_any_shape_is_a_batch(kind):
    theirs, x, state = draw(kind)
    unfold = lambda a: a.unflatten(0, (5, 1)).expand(5, 2, -1)  # noqa: E731
    many = tuple(map(unfold, state)) if kind == "lstm" else unfold(state)
    y = side_by_side(CELLS[kind][0](unfold(x), many, *theirs.parameters()))
    alone = side_by_side(CELLS[kind][0](x, state, *theirs.parameters()))
    torch.testing.assert_close(y[:, 1], alone, rtol=1e-12, atol=1e-14)


@KINDS
def test_autograd_agrees_with_differences(kind):
    theirs, x, state = draw(kind)
    weights = tuple(p.detach().requires_grad_() for p in theirs.parameters())
    parts = state if kind == "lstm" else (state,)
    parts = tuple(p.detach().requires_grad_() for p in parts)

    def step(x, *args):
        state = args[: len(parts)]
        return CELLS[kind][0](x, state if kind == "lstm" else state[0], *args[len(parts) :])

    assert torch.autograd.gradcheck(step, (x.detach().requires_grad_(), *parts, *weights))
