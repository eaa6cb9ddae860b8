"""Losses of alignment and their gradients by hand: ``f`` returns ``(loss, cache)``."""

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ..arrays import Numbers, Value, finite_array, gradient_array, require_same_shape
from .alignment import require_positive

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
