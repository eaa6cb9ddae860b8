"""What preferences lead to: policies at the minimum of a loss, and how far finite data miss it.

One prompt, all completions listed; probabilities and rewards are vectors over them.
"""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array, require_same_shape
from mathlm.reference.statistics.information import Numbers, require_distribution
from mathlm.shapes import Bool, Float


def win_rate(win: Numbers, mu: Numbers) -> Float[ndarray, " Y"]:
    """How often each completion is preferred to one that is drawn.

    Computes::

        p(y ≻ μ) = Σ_y' μ(y') p(y ≻ y')

    Args:
        win: p(y ≻ y'), (Y, Y), with win + winᵀ = 1.
        mu: μ, what it is compared with.

    Raises:
        InputError: If p(y ≻ y') and p(y' ≻ y) do not sum to 1, or the sizes differ.
    """
    p, drawn = finite_array(win, "win"), require_distribution(mu, "mu")
    if p.shape != (drawn.size, drawn.size) or not np.allclose(p + p.T, 1):
        raise InputError(
            f"win has shape {p.shape}; it needs p(y > y') for {drawn.size} completions, which "
            "sums to 1 with its transpose"
        )
    return p @ drawn


def ipo_optimum(
    p_ref: Numbers, win: Numbers, mu: Numbers, beta: float | int
) -> Float[ndarray, " Y"]:
    """The policy at the minimum of IPO's loss, if pairs are drawn from μ.

    Implements eq-pref-ipo-optimum::

        π(y) = π_ref(y) exp(p(y ≻ μ) / β) / Z

    Args:
        p_ref: π_ref, positive.
        win: p(y ≻ y'), (Y, Y).
        mu: μ, from which both completions of a pair are drawn, independently.
        beta: β > 0; τ in the paper.

    References:
        Azar et al. (2023), arXiv:2310.12036, eq. (9) with Ψ = identity; theorem 2: no other.
    """
    return _tilted(p_ref, win_rate(win, mu) / _positive(beta))


def never_compared_optimum(
    p_ref: Numbers, rewards: Numbers, compared: Bool[ndarray, " Y"], beta: float | int
) -> Float[ndarray, " Y"]:
    """Where descent on DPO's loss takes a table if some completions are never compared.

    Implements eq-pref-never::

        π(y) = π_ref(y) exp(r̂(y) / β) / Z,   r̂(y) = r(y) - mean of r over the compared ones
                                              r̂(y) = 0 for a completion that is not compared

    Args:
        p_ref: π_ref, positive.
        rewards: r.
        compared: Which completions are compared with each other.
        beta: β > 0.

    Raises:
        InputError: If nothing is compared.
    """
    p, r = _reference(p_ref, rewards)
    if compared.shape != r.shape or not compared.any():
        raise InputError(
            f"compared has shape {compared.shape} and {compared.sum()} completions"
        )
    return _tilted(p, np.where(compared, r - r[compared].mean(), 0.0) / _positive(beta))


def length_normalized_optimum(
    p_ref: Numbers, rewards: Numbers, lengths: Numbers, beta: float | int
) -> Float[ndarray, " Y"]:
    """The policy whose log-ratios per token differ as rewards do.

    Implements eq-pref-length-optimum::

        π(y) = π_ref(y) exp(|y| (r(y) / β + c)),   with the c for which Σ_y π(y) = 1

    Args:
        p_ref: π_ref, positive.
        rewards: r.
        lengths: |y|, at least 1 [tokens].
        beta: β > 0.

    Raises:
        InputError: If a length is below 1, or sizes differ.
    """
    p, r = _reference(p_ref, rewards)
    n = finite_array(lengths, "lengths")
    require_same_shape(n, r, ("lengths", "rewards"))
    if (n < 1).any():
        raise InputError(f"lengths must be at least 1, got {n.min():g}")
    r = r / _positive(beta)
    low, high = -r.max() - 1e-9, -r.min() + 1e-9  # all exponents below 0, all above
    for _ in range(200):
        c = 0.5 * (low + high)
        above = np.logaddexp.reduce(np.log(p) + n * (r + c)) > 0
        low, high = (low, c) if above else (c, high)
    weights = np.exp(np.log(p) + n * (r + c))
    return weights / weights.sum()


def comparison_information(rewards: Numbers, pairs: Numbers) -> Float[ndarray, "Y Y"]:
    """What one comparison says about the rewards, on average.

    Implements eq-pref-information::

        I = Σ_{y < y'} w(y, y') σ(Δ) σ(-Δ) (e_y - e_y') (e_y - e_y')ᵀ,   Δ = r(y) - r(y')

    Args:
        rewards: r, (Y,).
        pairs: w, how likely a comparison is one of these two, (Y, Y); only its sum with its
            transpose counts.

    Returns:
        Fisher information of one comparison; its rows sum to 0, since no comparison says
        anything about a number that is added to all rewards.
    """
    r, w = finite_array(rewards, "rewards"), finite_array(pairs, "pairs")
    if w.shape != (r.size, r.size) or (w < 0).any():
        raise InputError(f"pairs has shape {w.shape}; give shares for {r.size} completions")
    p = 1 / (1 + np.exp(-(r[:, None] - r)))
    each = (w + w.T) * p * p.T
    return np.diag(each.sum(1)) - each


def expected_divergence(
    optimum: Numbers, information: Numbers, beta: float | int, number: int
) -> float:
    """How far the policy of fitted rewards is from the optimum, for many comparisons.

    Implements eq-pref-finite::

        E[KL] ≈ tr(Cov_π*(e) I⁺) / (2 β² N),   Cov_π*(e) = diag(π*) - π* π*ᵀ

    The error of the fitted rewards has covariance I⁺/N, and half the variance of that error
    under π*, in units of β, is the divergence to second order.

    Args:
        optimum: π*.
        information: I of one comparison, see :func:`comparison_information`.
        beta: β > 0.
        number: N, comparisons.

    Returns:
        The divergence [nats]; times β, what the policy lacks in regularized reward.

    Raises:
        InputError: If the sizes differ, N is below 1 or β not positive.
    """
    p, inform = require_distribution(optimum, "optimum"), finite_array(information, "I")
    if number < 1:
        raise InputError(f"number={number} must be at least 1")
    if inform.shape != (p.size, p.size):
        raise InputError(
            f"information has shape {inform.shape}; it needs ({p.size}, {p.size}), a row and a "
            "column for each completion of the optimum"
        )
    spread = np.diag(p) - np.outer(p, p)
    return float(
        np.trace(spread @ np.linalg.pinv(inform)) / (2 * _positive(beta) ** 2 * number)
    )


def mean_shifts(
    p_ref: Numbers, policy: Numbers, win: Numbers, mu: Numbers
) -> tuple[float, float]:
    """How much more likely a policy makes what was preferred, and what was not.

    Computes::

        Σ_{y, y'} 2 μ(y) μ(y') p(y ≻ y') log(π(y) / π_ref(y)) over pairs y ≠ y', and with y'

    Args:
        p_ref: π_ref, positive.
        policy: π, positive.
        win: p(y ≻ y'), (Y, Y).
        mu: μ, from which both completions are drawn.

    Returns:
        Mean log-ratio of the chosen and of the rejected text [nats].

    Raises:
        InputError: If a policy is not positive, or the sizes differ.
    """
    drawn, wins = require_distribution(mu, "mu"), finite_array(win, "win")
    after, before = require_distribution(policy, "policy"), require_distribution(p_ref, "p_ref")
    if not after.shape == before.shape == drawn.shape or wins.shape != 2 * drawn.shape:
        raise InputError(
            f"p_ref has {before.size} completions, policy {after.size}, mu {drawn.size}, and "
            f"win the shape {wins.shape}; all need the same completions"
        )
    if min(after.min(), before.min()) <= 0:
        raise InputError("policy and p_ref must be positive: log-ratios need every completion")
    shift = np.log(after / before)
    pair = 2 * np.outer(drawn, drawn) * wins
    np.fill_diagonal(pair, 0.0)
    pair /= pair.sum()
    return float(pair.sum(1) @ shift), float(pair.sum(0) @ shift)


def _tilted(p_ref: Numbers, scores: Numbers) -> ndarray:
    """π_ref(y) exp(s(y)) / Z."""
    p, s = _reference(p_ref, scores)
    weights = p * np.exp(s - s.max())
    return weights / weights.sum()


def _reference(p_ref: Numbers, scores: Numbers) -> tuple[ndarray, ndarray]:
    """A positive distribution, and a number for each completion."""
    p, s = require_distribution(p_ref, "p_ref"), finite_array(scores, "scores")
    require_same_shape(s, p, ("scores", "p_ref"))
    if (p <= 0).any():
        raise InputError("p_ref must be positive: log-ratios need every completion")
    return p, s


def _positive(beta: float | int) -> float | int:
    if not 0 < beta < np.inf:
        raise InputError(f"beta={beta} must be positive and finite")
    return beta


__all__ = [
    "comparison_information",
    "expected_divergence",
    "ipo_optimum",
    "length_normalized_optimum",
    "mean_shifts",
    "never_compared_optimum",
    "win_rate",
]
