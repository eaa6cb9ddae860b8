"""What is left of a change of the first state of a recurrent model, step by step."""

import torch
from numpy import ndarray
from torch import Tensor

from mathlm import reference as ref
from mathlm.models import Recurrent

READ = {"rnn": ref.rnn, "gru": ref.gru, "lstm": ref.lstm}


@torch.no_grad()
def caches(model: Recurrent, ids: Tensor) -> tuple:
    """What the hand-written pass over a text (1, T) keeps, with the weights of a model."""
    weights = [p.cpu().double().numpy() for p in model.layers.parameters()]
    x = model.token_embedding(ids).cpu().double().numpy()
    return READ[model.config.kind](x, None, *weights)[1]


def largest_singular_values(model: Recurrent, ids: Tensor) -> ndarray:
    """σ₁ of the Jacobian of the state after 1, 2, ..., T steps in the initial state, (T)."""
    return ref.state_singular_values(caches(model, ids))[0, :, 0]


def gates(model: Recurrent, ids: Tensor) -> list[ndarray]:
    """At each step the gates that keep: f of an LSTM, z of a GRU, (1, H) each."""
    return [step[3] for step in caches(model, ids)[1]]
