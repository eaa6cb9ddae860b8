"""Advantages as their definitions say, slowly."""

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Float
from ..arrays import Numbers, finite_array, require_same_shape


def generalized_advantages(
    rewards: Numbers,
    values: Numbers,
    gamma: float | int,
    lam: float | int,
    last_value: float | int = 0.0,
) -> Float[ndarray, " T"]:
    """Advantage of each token of one text, as the double sum it is.

    Computes::

        A_t = Σ_{k ≥ t} (γλ)^{k-t} (r_k + γ V_{k+1} - V_k),   V_T = last_value

    Args:
        rewards: r_t, what came with each token.
        values: V_t, what was expected before it.
        gamma: γ in [0, 1].
        lam: λ in [0, 1].
        last_value: What is expected behind the last: 0 if the text ended there.

    Raises:
        InputError: If there is not one value for each reward, or γ or λ is outside 0..1.

    References:
        Schulman et al. (2016), arXiv:1506.02438, eq. (16).
    """
    r, V = finite_array(rewards, "rewards"), finite_array(values, "values")
    require_same_shape(r, V, ("rewards", "values"))
    if r.ndim != 1 or not (0 <= gamma <= 1 and 0 <= lam <= 1):
        raise InputError(f"rewards {r.shape} must be of one text; γ={gamma}, λ={lam} in 0..1")
    after = np.append(V[1:], last_value)
    delta = r + gamma * after - V
    T = len(r)
    return np.array(
        [sum((gamma * lam) ** (k - t) * delta[k] for k in range(t, T)) for t in range(T)]
    )


def group_scores(rewards: Numbers, eps: float | int = 0.0) -> Float[ndarray, "G N"]:
    """Rewards of each group, centred and divided by their (population) spread.

    Computes::

        A_i = (r_i - mean r) / (std r + ε);   0 where all rewards of a group are equal

    Args:
        rewards: Samples of each group in a row, at least two.
        eps: ε ≥ 0.

    Raises:
        InputError: If a group has one sample.
    """
    r = _groups(rewards)
    above = r - r.mean(1, keepdims=True)
    above = np.where(np.ptp(r, axis=1, keepdims=True) == 0, 0.0, above)
    spread = np.sqrt((above**2).mean(1, keepdims=True)) + eps
    return np.divide(above, spread, out=np.zeros_like(above), where=spread > 0)


def leave_one_out_scores(rewards: Numbers) -> Float[ndarray, "G N"]:
    """Each reward of a group less the mean of the others.

    Computes::

        A_i = r_i - 1/(N-1) Σ_{j ≠ i} r_j

    Args:
        rewards: Samples of each group in a row, at least two.

    Raises:
        InputError: If a group has one sample.
    """
    r = _groups(rewards)
    others = [np.delete(r, i, axis=1).mean(1) for i in range(r.shape[1])]
    return r - np.stack(others, 1)


def _groups(rewards: Numbers) -> ndarray:
    r = finite_array(rewards, "rewards")
    if r.ndim != 2 or r.shape[1] < 2:
        raise InputError(f"rewards {r.shape}: give groups of two samples or more, in rows")
    return r
