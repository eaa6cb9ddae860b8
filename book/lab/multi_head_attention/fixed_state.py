"""What a state of fixed size can hold: pairs of key and value, stored and asked for again."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.shapes import Float

from .linearized import positive_features

SHARP, LARGE = 32.0, 200.0  # factors on unit keys: of the scores; before elu + 1 (its best)


def outer_products(
    k: Float[ndarray, "*batch S K"], v: Float[ndarray, "*batch S V"]
) -> Float[ndarray, "*batch K V"]:
    """The sum of all pairs, each as an outer product; read it by q M.

    Implements eq-heads-crosstalk::

        M = Σ_s k_sᵀ v_s,   k_j M - v_j = Σ_{s≠j} (k_j·k_s) v_s   for keys of length 1

    Args:
        k: Keys, or their features.
        v: Values.

    Raises:
        InputError: If there is not one value for each key.
    """
    if k.shape[:-1] != v.shape[:-1] or k.ndim < 2:
        raise InputError(f"k {k.shape} and v {v.shape}: each key needs its value")
    return k.mT @ v


def delta_rule(
    k: Float[ndarray, "*batch S K"], v: Float[ndarray, "*batch S V"], passes: int = 1
) -> Float[ndarray, "*batch K V"]:
    """Pairs written one after the other, each correcting what the state says of its key.

    Implements eq-heads-delta-rule::

        M ← M + kᵀ (v - k M),   afterwards k M = v   for a key of length 1

    For keys that are linearly independent, more and more passes lead to the state that has all
    pairs exactly.

    Args:
        k: Keys of length 1.
        v: Values.
        passes: How often all pairs are written.

    Raises:
        InputError: If there is not one value for each key, or a key has another length.

    References:
        Schlag, Irie and Schmidhuber (2021), arXiv:2102.11174, section 4.2.
    """
    memory = 0.0 * outer_products(k, v)
    if not np.allclose(np.square(k).sum(-1), 1):
        raise InputError("keys of the delta rule must have length 1: divide them by it")
    for _ in range(passes):
        for s in range(k.shape[-2]):
            key = k[..., s : s + 1, :]  # (*batch, 1, K)
            memory = memory + key.mT @ (v[..., s : s + 1, :] - key @ memory)
    return memory


def answers(k: ndarray, v: ndarray) -> dict[str, ndarray]:
    """What each form of attention answers to the stored keys, of length 1, as queries.

    Args:
        k: Keys (..., S, K).
        v: Values (..., S, V).
    """
    powers = np.exp(SHARP * (k @ k.mT - 1))
    features = positive_features(LARGE * k)
    weights = features @ features.mT
    return {
        "softmax": powers / powers.sum(-1, keepdims=True) @ v,
        "elu + 1": weights / weights.sum(-1, keepdims=True) @ v,
        "signed outer products": k @ outer_products(k, v),
        "delta rule": k @ delta_rule(k, v),
        "least squares": k @ (np.linalg.pinv(k) @ v),
    }


def pairs(n: int, d: int, sequences: int, seed: int = 0) -> tuple[ndarray, ndarray]:
    """Random keys and values of length 1, (sequences, n, d) each."""
    k, v = np.random.default_rng([seed, n, d]).normal(size=(2, sequences, n, d))
    return tuple(x / np.linalg.norm(x, axis=-1, keepdims=True) for x in (k, v))


def recall(n: int, d: int = 32, sequences: int = 64, seed: int = 0) -> dict[str, float]:
    """Share of n stored pairs whose value is the nearest, by dot product, to the answer.

    Args:
        n: Pairs.
        d: Width of keys and values.
        sequences: Independent sets of pairs.
        seed: Of the pairs.
    """
    k, v = pairs(n, d, sequences, seed)
    found = {name: (y @ v.mT).argmax(-1) for name, y in answers(k, v).items()}
    return {name: float((place == np.arange(n)).mean()) for name, place in found.items()}
