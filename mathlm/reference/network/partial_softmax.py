"""What is left of a set of scores and values for a softmax: three things that can be merged."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float
from .attention import require_finite


class SoftmaxState(NamedTuple):
    """Maximum μ, sum λ and mixture o of some keys, relative to μ; -inf, 0, 0 for no key."""

    maximum: Float[ndarray, "*batch"]
    total: Float[ndarray, "*batch"]
    mixture: Float[ndarray, "*batch V"]


def softmax_state(
    scores: Float[ndarray, "*batch S"], values: Float[ndarray, "*batch S V"]
) -> SoftmaxState:
    """All that softmax attention needs to know of some keys and values.

    Implements eq-heads-state::

        μ = max_s s,   λ = Σ_s e^(s - μ),   o = Σ_s e^(s - μ) v_s

    Args:
        scores: One number a key; none at all gives the state of no key.
        values: One vector a key.

    Raises:
        InputError: If the shapes do not fit, a number is not finite, or a sum overflows.
    """
    if scores.ndim == 0 or values.shape[:-1] != scores.shape:
        raise InputError(
            f"scores have shape {scores.shape} and values {values.shape}; expected (*batch, S) "
            "and (*batch, S, V)"
        )
    require_finite(scores=scores, values=values)
    maximum = scores.max(-1, initial=-np.inf)
    with np.errstate(over="ignore"):
        powers = np.exp(scores - maximum[..., None])  # (*batch, S)
        mixture = (powers[..., None, :] @ values)[..., 0, :]
    require_finite(**{"sum of the weighted values": mixture})
    return SoftmaxState(maximum, powers.sum(-1), mixture)


def merge_softmax_states(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
    """The state of the keys of both; associative and commutative, and no key changes nothing.

    Implements eq-heads-merge::

        μ = max(μ_a, μ_b),   λ = e^(μ_a - μ) λ_a + e^(μ_b - μ) λ_b,   o likewise

    Args:
        a: State of some keys.
        b: State of other keys, for the same queries.

    Raises:
        InputError: If the two are of different shapes, or a sum overflows.
    """
    if a.mixture.shape != b.mixture.shape:
        raise InputError(
            f"mixtures have shapes {a.mixture.shape} and {b.mixture.shape}; they must agree: "
            "the same queries, and values of one width"
        )
    maximum = np.maximum(a.maximum, b.maximum)
    base = np.where(np.isneginf(maximum), 0.0, maximum)  # two states of no key
    with np.errstate(over="ignore"):
        keep_a, keep_b = np.exp(a.maximum - base), np.exp(b.maximum - base)
        mixture = keep_a[..., None] * a.mixture + keep_b[..., None] * b.mixture
    require_finite(**{"sum of the weighted values": mixture})
    return SoftmaxState(maximum, keep_a * a.total + keep_b * b.total, mixture)
