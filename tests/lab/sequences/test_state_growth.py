"""Singular values and gates of a torch model are those of its state, step by step."""

import numpy as np
import pytest
import torch

from lab.sequences.state_growth import gates, largest_singular_values
from mathlm.models import Recurrent

IDS = torch.tensor([[3, 1, 4, 1, 5]])


def test_they_are_those_of_the_jacobian_of_autograd():
    model = Recurrent(kind="gru", d_model=4, vocab_size=8).double()
    x = model.token_embedding(IDS).detach()
    J = torch.autograd.functional.jacobian(
        lambda h: model.layers(x, h)[1].flatten(), torch.zeros(1, 1, 4, dtype=torch.float64)
    )
    expected = torch.linalg.matrix_norm(J.reshape(4, 4), 2).item()
    assert largest_singular_values(model, IDS)[-1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("kind", ["gru", "lstm"])
def test_the_gates_are_those_that_keep(kind):
    model = Recurrent(kind=kind, d_model=4, vocab_size=8)
    with torch.no_grad():  # the block of f of an LSTM and of z of a GRU is the second
        for p in model.layers.parameters():
            p.zero_()
        model.layers.bias_ih_l0[4:8] = 50.0
    np.testing.assert_allclose(gates(model, IDS), 1.0)
