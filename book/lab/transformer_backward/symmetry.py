"""Identities that the gradients of post-norm transformers obey, whatever the data."""

from collections.abc import Callable, Iterator

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.network.weights import Weights, part_of


def gradient_laws(weights: Weights, gradients: Weights, n_heads: int) -> dict[str, float]:
    """How far gradients are from the identities that symmetries of the machine force on them.

    Implements eq-backward-laws::

        key shift         db_k = 0
        value shift       db_v = db_o W_o
        centered outputs  Σ_i dW_o[i] = 0,   Σ_i dW_out[i] = 0   over the features they write to
        query and key     ⟨W_q, dW_q⟩ + ⟨b_q, db_q⟩ = ⟨W_k, dW_k⟩ + ⟨b_k, db_k⟩   in each head
        value and output  ⟨W_v, dW_v⟩ + ⟨b_v, db_v⟩ = ⟨W_o, dW_o⟩                 in each head
        in and out        ⟨W_in, dW_in⟩ + ⟨b_in, db_in⟩ = ⟨W_out, dW_out⟩         in each unit

    They hold without dropout behind attention and feed-forward networks, if every query sees a
    key, norms stand behind the sums and the activation is ReLU.

    Args:
        weights: By name, with shifts, as in :class:`Transformer`.
        gradients: By the same names.
        n_heads: H.

    Returns:
        Law and its worst violation over all attentions or feed-forward networks, relative to
        the size of what is compared: rounding, if the gradients are right.

    Raises:
        InputError: If the names of weights and gradients differ, or there is no attention.
    """
    if weights.keys() != gradients.keys():
        different = sorted(weights.keys() ^ gradients.keys())
        raise InputError(f"weights and gradients have different names: {different}")
    attentions = list(_parts(weights, gradients, "W_q.weight"))
    networks = list(_parts(weights, gradients, "W_in.weight"))
    if not attentions or not networks:
        raise InputError(
            f"there is no attention with a feed-forward network in {list(weights)}"
        )
    return {
        "key shift": _worst(_key_shift, attentions),
        "value shift": _worst(_value_shift, attentions),
        "centered outputs": max(
            _worst(lambda w, d: _uncentered(d["W_o.weight"]), attentions),
            _worst(lambda w, d: _uncentered(d["W_out.weight"]), networks),
        ),
        "query and key": _worst(lambda w, d: _query_and_key(w, d, n_heads), attentions),
        "value and output": _worst(lambda w, d: _value_and_output(w, d, n_heads), attentions),
        "in and out": _worst(_in_and_out, networks),
    }


def _parts(weights: Weights, gradients: Weights, end: str) -> Iterator[tuple[Weights, Weights]]:
    """Weights and gradients of each part that has a weight with this end."""
    for name in weights:
        if name.endswith(end):
            prefix = name.removesuffix(end)
            yield part_of(weights, prefix), part_of(gradients, prefix)


def _worst(law: Callable[[Weights, Weights], float], parts: list) -> float:
    return max(law(*part) for part in parts)


def _key_shift(w: Weights, d: Weights) -> float:
    return _ratio(d["W_k.bias"], d["W_q.bias"])


def _value_shift(w: Weights, d: Weights) -> float:
    return _ratio(d["W_v.bias"] - d["W_o.bias"] @ w["W_o.weight"], d["W_v.bias"])


def _uncentered(dW: ndarray) -> float:
    return _ratio(dW.sum(0), dW)


def _query_and_key(w: Weights, d: Weights, n_heads: int) -> float:
    query, key = (_of_heads(_along(w, d, name), n_heads) for name in ("W_q", "W_k"))
    return _ratio(query - key, query)


def _value_and_output(w: Weights, d: Weights, n_heads: int) -> float:
    value = _of_heads(_along(w, d, "W_v"), n_heads)
    output = _of_heads((w["W_o.weight"] * d["W_o.weight"]).sum(0), n_heads)
    return _ratio(value - output, output)


def _in_and_out(w: Weights, d: Weights) -> float:
    inner, outer = _along(w, d, "W_in"), (w["W_out.weight"] * d["W_out.weight"]).sum(0)
    return _ratio(inner - outer, outer)


def _along(w: Weights, d: Weights, name: str) -> ndarray:
    """⟨W, dW⟩ + ⟨b, db⟩ of each row of a map."""
    rows = (w[f"{name}.weight"] * d[f"{name}.weight"]).sum(1)
    return rows + w[f"{name}.bias"] * d[f"{name}.bias"]


def _of_heads(rows: ndarray, n_heads: int) -> ndarray:
    return rows.reshape(n_heads, -1).sum(1)


def _ratio(violation: ndarray, scale: ndarray) -> float:
    """Size of the violation over that of what it is compared with."""
    size = float(np.linalg.norm(violation))
    return size / float(np.linalg.norm(scale)) if size else 0.0


__all__ = ["gradient_laws"]
