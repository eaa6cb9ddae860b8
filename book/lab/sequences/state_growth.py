"""What is left of a change of the first state of a recurrent model, step by step."""

from typing import Any

import numpy as np
from numpy import ndarray

from mathlm import reference as ref

READ: dict[str, Any] = {"rnn": ref.rnn, "gru": ref.gru, "lstm": ref.lstm}


def caches(model: Any, ids: Any) -> tuple:
    """What the hand-written pass over a text (1, T) keeps, with the weights of a model."""
    weights = [p.detach().cpu().double().numpy() for p in model.layers.parameters()]
    x = model.token_embedding(ids).detach().cpu().double().numpy()
    return READ[model.config.kind](x, None, *weights)[1]


def largest_singular_values(model: Any, ids: Any) -> ndarray:
    """σ₁ of the Jacobian of the state after 1, 2, ..., T steps in the initial state, (T)."""
    P = ref.jacobian_products(ref.state_jacobians(caches(model, ids)))[0]
    return np.sqrt(np.linalg.eigvalsh(P.mT @ P)[:, -1])  # σ₁² is the largest eigenvalue of PᵀP


def gates(model: Any, ids: Any) -> list[ndarray]:
    """At each step the gates that keep: f of an LSTM, z of a GRU, (1, H) each."""
    return [step[3] for step in caches(model, ids)[1]]
