"""What is left of a set of scores and values for a softmax: three things that can be merged."""

from typing import NamedTuple

import numpy as np
from numpy import ndarray

from ..errors import InputError
from ..shapes import Float


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
        InputError: If the shapes do not fit, or a number is not finite.
    """
    if scores.ndim == 0 or values.shape[:-1] != scores.shape:
        raise InputError(
            f"scores have shape {scores.shape} and values {values.shape}; expected (*batch, S) "
            "and (*batch, S, V)"
        )
    if not (np.isfinite(scores).all() and np.isfinite(values).all()):
        raise InputError("scores or values hold NaN or infinite numbers")
    maximum = scores.max(-1, initial=-np.inf)
    powers = np.exp(scores - maximum[..., None])  # (*batch, S)
    return SoftmaxState(maximum, powers.sum(-1), (powers[..., None, :] @ values)[..., 0, :])


def merge_softmax_states(a: SoftmaxState, b: SoftmaxState) -> SoftmaxState:
    """The state of the keys of both; associative and commutative, and no key changes nothing.

    Implements eq-heads-merge::

        μ = max(μ_a, μ_b),   λ = e^(μ_a - μ) λ_a + e^(μ_b - μ) λ_b,   o likewise

    Args:
        a: State of some keys.
        b: State of other keys, for the same queries.

    Raises:
        InputError: If the two are of different shapes.
    """
    if a.mixture.shape != b.mixture.shape:
        raise InputError(f"mixtures have shapes {a.mixture.shape} and {b.mixture.shape}")
    maximum = np.maximum(a.maximum, b.maximum)
    base = np.where(np.isneginf(maximum), 0.0, maximum)  # two states of no key
    keep_a, keep_b = np.exp(a.maximum - base), np.exp(b.maximum - base)
    total = keep_a * a.total + keep_b * b.total
    return SoftmaxState(
        maximum, total, keep_a[..., None] * a.mixture + keep_b[..., None] * b.mixture
    )
