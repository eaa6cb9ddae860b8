"""Alignment in NumPy, from the definitions: what mathlm.align is compared with.

Over a few listed completions, what is best and what estimates of it are worth; advantages as
the sums they are; losses on pairs and the clipped objective with their gradients by hand.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import (
    Numbers,
    Value,
    finite_array,
    gradient_array,
    require_same_shape,
)
from mathlm.reference.statistics.information import require_distribution
from mathlm.shapes import Float


def tilted_distribution(
    p_ref: Numbers, rewards: Numbers, beta: float | int
) -> Float[ndarray, " Y"]:
    """The policy of most mean reward, less β times its divergence from a reference.

    Computes::

        π*(y) = π_ref(y) exp(r(y) / β) / Σ_y' π_ref(y') exp(r(y') / β)

    Args:
        p_ref: π_ref.
        rewards: r.
        beta: β > 0 [reward/nat].

    Returns:
        π*.

    Raises:
        InputError: If π_ref is no distribution, the shapes differ, or β is not positive.
    """
    p, r = _both(p_ref, rewards)
    require_positive("beta", beta)
    weights = p * np.exp((r - r[p > 0].max()) / beta, where=p > 0, out=np.zeros_like(r))
    return weights / weights.sum()


def tilted_value(p_ref: Numbers, rewards: Numbers, beta: float | int) -> float:
    """What the tilted policy reaches: its mean reward less β times its divergence.

    Computes::

        β log Z = β log Σ_y π_ref(y) exp(r(y) / β)

    Args:
        p_ref: π_ref.
        rewards: r.
        beta: β > 0 [reward/nat].

    Raises:
        InputError: As :func:`tilted_distribution`.
    """
    p, r = _both(p_ref, rewards)
    require_positive("beta", beta)
    best = r[p > 0].max()
    return float(best + beta * math.log(p[p > 0] @ np.exp((r[p > 0] - best) / beta)))


def divergence_estimate(kind: str, p: Numbers, p_ref: Numbers) -> Float[ndarray, " Y"]:
    """What an estimate of KL(π ‖ π_ref) says of each completion that π may draw.

    Computes::

        k1 = -log ρ,   k2 = (log ρ)² / 2,   k3 = ρ - 1 - log ρ,   with ρ = π_ref(y) / π(y)

    Args:
        kind: "k1", "k2" or "k3".
        p: π, positive.
        p_ref: π_ref, positive.

    Raises:
        InputError: If a distribution is none or has a 0, or there is no such estimate.

    References:
        Schulman (2020), Approximating KL divergence.
    """
    forms: dict[str, Callable[[ndarray], ndarray]] = {
        "k1": lambda log_ratio: -log_ratio,
        "k2": lambda log_ratio: log_ratio**2 / 2,
        "k3": lambda log_ratio: np.expm1(log_ratio) - log_ratio,
    }
    if kind not in forms:
        raise InputError(f"kind={kind!r} must be one of {list(forms)}")
    pi, ref = require_distribution(p, "p"), require_distribution(p_ref, "p_ref")
    require_same_shape(pi, ref, ("p", "p_ref"))
    if not (pi > 0).all() or not (ref > 0).all():
        raise InputError("p and p_ref must be positive: a ratio of 0 has no logarithm")
    return forms[kind](np.log(ref) - np.log(pi))


def best_of_n(p: Numbers, rewards: Numbers, n: int) -> Float[ndarray, " Y"]:
    """How often each completion is the best of n independent draws.

    Computes::

        P(y) = p(y) / p(r = r(y)) · [F(r(y))ⁿ - F(r(y)⁻)ⁿ]

    F(r) is the chance of a reward of r at most, F(r⁻) that of less. Completions of the same
    reward are chosen as often, in proportion, as they are drawn.

    Args:
        p: What is drawn from.
        rewards: r.
        n: Draws, at least 1.

    Raises:
        InputError: If p is no distribution, the shapes differ, or n is below 1.
    """
    pi, r = _both(p, rewards)
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    below = np.array([pi[r < value].sum() for value in r])
    equal = np.array([pi[r == value].sum() for value in r])
    share = np.divide(pi, equal, out=np.zeros_like(pi), where=pi > 0)
    return share * ((below + equal) ** n - below**n)


def best_of_n_divergence_bound(n: int) -> float:
    """The most that choosing the best of n moves away from what is drawn from.

    Computes::

        KL(best of n ‖ p) ≤ log n - (n - 1) / n

    It is the divergence itself where no two completions have the same reward and each is rare.

    Args:
        n: Draws, at least 1.

    Returns:
        The bound [nats].

    Raises:
        InputError: If n is below 1.

    References:
        Beirami et al. (2024), arXiv:2401.01879.
    """
    if n < 1:
        raise InputError(f"n={n} must be at least 1")
    return math.log(n) - (n - 1) / n


def _both(p: Numbers, rewards: Numbers) -> tuple[ndarray, ndarray]:
    found, r = require_distribution(p, "p"), finite_array(rewards, "rewards")
    require_same_shape(found, r, ("p", "rewards"))
    return found, r


def require_positive(name: str, value: float | int) -> None:
    """Refuse what is not above 0 and finite."""
    if not 0 < value < math.inf:
        raise InputError(f"{name}={value} must be positive and finite")


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


Pair = tuple[ndarray, ndarray]


def bradley_terry(chosen: Numbers, rejected: Numbers) -> tuple[Value, ndarray]:
    """Surprise that the chosen one of a pair was chosen.

    Computes::

        ℓ = -log σ(m) = log(1 + exp(-m)),   m = r_chosen - r_rejected

    Args:
        chosen: Rewards of the chosen ones.
        rejected: Rewards of the others, of the same shape.

    Returns:
        ℓ of each pair [nats], and the margins m.

    Raises:
        InputError: If the shapes differ or a reward is not finite.
    """
    m = _margin(chosen, rejected)
    return np.logaddexp(0.0, -m), m


def bradley_terry_backward(dy: Numbers, cache: ndarray) -> Pair:
    """Gradients of :func:`bradley_terry` in both rewards.

    Computes::

        ∂ℓ/∂r_chosen = -σ(-m) = -∂ℓ/∂r_rejected

    Args:
        dy: Gradient in ℓ.
        cache: The margins.
    """
    slope = -gradient_array(dy, cache.shape) * sigmoid(-cache)
    return slope, -slope


def direct_preference(
    logp: Pair, logp_ref: Pair, beta: float | int
) -> tuple[Value, tuple[ndarray, float]]:
    """DPO's loss: Bradley-Terry with β times the log-ratio of policy and reference as reward.

    Computes::

        ℓ = -log σ(m),   m = β [(log π - log π_ref)(chosen) - (log π - log π_ref)(rejected)]

    Args:
        logp: log π of the chosen and of the rejected answers [nats].
        logp_ref: log π_ref of the same.
        beta: β > 0.

    Returns:
        ℓ of each pair [nats]; the margins and β.

    Raises:
        InputError: If shapes differ, a number is not finite or β not positive.
    """
    m = _implicit_margin(logp, logp_ref, beta)
    return np.logaddexp(0.0, -m), (m, float(beta))


def direct_preference_backward(dy: Numbers, cache: tuple[ndarray, float]) -> Pair:
    """Gradients of :func:`direct_preference` in both log-probabilities of the policy.

    Computes::

        ∂ℓ/∂log π(chosen) = -β σ(-m) = -∂ℓ/∂log π(rejected)

    Args:
        dy: Gradient in ℓ.
        cache: The margins and β.
    """
    m, beta = cache
    slope = -gradient_array(dy, m.shape) * beta * sigmoid(-m)
    return slope, -slope


def identity_preference(
    logp: Pair, logp_ref: Pair, beta: float | int
) -> tuple[Value, tuple[ndarray, float]]:
    """IPO's loss: the difference of log-ratios is drawn to one number, and not beyond.

    Computes::

        ℓ = (h - 1/(2β))²,   h = (log π - log π_ref)(chosen) - (log π - log π_ref)(rejected)

    Args:
        logp: log π of the chosen and of the rejected answers [nats].
        logp_ref: log π_ref of the same.
        beta: β > 0.

    Returns:
        ℓ of each pair [nats²]; h and β.

    Raises:
        InputError: As :func:`direct_preference`.
    """
    h = _implicit_margin(logp, logp_ref, beta) / beta
    return (h - 1 / (2 * beta)) ** 2, (h, float(beta))


def identity_preference_backward(dy: Numbers, cache: tuple[ndarray, float]) -> Pair:
    """Gradients of :func:`identity_preference` in both log-probabilities of the policy.

    Computes::

        ∂ℓ/∂log π(chosen) = 2 (h - 1/(2β)) = -∂ℓ/∂log π(rejected)

    Args:
        dy: Gradient in ℓ.
        cache: h and β.
    """
    h, beta = cache
    slope = gradient_array(dy, h.shape) * 2 * (h - 1 / (2 * beta))
    return slope, -slope


def clipped_objective(
    logp: Numbers, logp_old: Numbers, advantages: Numbers, clip: float | int = 0.2
) -> tuple[Value, Pair]:
    """PPO's loss of one token: what is gained by a likelier token counts up to a ratio only.

    Computes::

        ℓ = -min(ρ A, clip(ρ, 1 - ε, 1 + ε) A),   ρ = π / π_old

    Args:
        logp: log π [nats].
        logp_old: log π_old [nats].
        advantages: A.
        clip: ε in (0, 1).

    Returns:
        ℓ of each token; its slope in log π, and ρ.

    Raises:
        InputError: If shapes differ, a number is not finite or ε outside 0..1.
    """
    new, old = finite_array(logp, "logp"), finite_array(logp_old, "logp_old")
    A = finite_array(advantages, "advantages")
    require_same_shape(new, old, ("logp", "logp_old"))
    require_same_shape(new, A, ("logp", "advantages"))
    if not 0 < clip < 1:
        raise InputError(f"clip={clip} must be between 0 and 1")
    ratio = np.exp(new - old)
    free, cut = ratio * A, np.clip(ratio, 1 - clip, 1 + clip) * A
    slope = np.where(free <= cut, -free, 0.0)  # d(ρA)/d log π = ρA; a cut ratio has none
    return -np.minimum(free, cut), (slope, ratio)


def clipped_objective_backward(dy: Numbers, cache: Pair) -> ndarray:
    """Gradient of :func:`clipped_objective` in log π: that of ρ A, or 0 where ρ is cut.

    Args:
        dy: Gradient in ℓ.
        cache: The slopes, and ρ.
    """
    return gradient_array(dy, cache[0].shape) * cache[0]


def sigmoid(x: ndarray) -> ndarray:
    """1 / (1 + exp(-x)), without overflow."""
    return np.exp(-np.logaddexp(0.0, -x))


def _margin(chosen: Numbers, rejected: Numbers) -> ndarray:
    a, b = finite_array(chosen, "chosen"), finite_array(rejected, "rejected")
    require_same_shape(a, b, ("chosen", "rejected"))
    return a - b


def _implicit_margin(logp: Pair, logp_ref: Pair, beta: float | int) -> ndarray:
    require_positive("beta", beta)
    policy, ref = _margin(*logp), _margin(*logp_ref)
    require_same_shape(policy, ref, ("logp", "logp_ref"))
    return beta * (policy - ref)
