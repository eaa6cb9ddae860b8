"""What temperature and truncation make of one distribution of the next token."""

import math

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Numbers
from mathlm.reference.statistics.chains import distribution
from mathlm.shapes import Float


def tempered(p: Numbers, temperature: float | int) -> Float[ndarray, " V"]:
    """The distribution at another temperature, from its probabilities alone.

    Implements eq-gen-temperature::

        p_T[i] = p[i]^(1/T) / Σ_j p[j]^(1/T)

    What is impossible stays impossible at every temperature.

    Args:
        p: Probabilities at temperature 1.
        temperature: T > 0.

    Returns:
        p_T.

    Raises:
        InputError: If p is no distribution, or T is not positive and finite.
    """
    p = distribution(p, "p")
    if not (temperature > 0 and math.isfinite(temperature)):
        raise InputError(f"temperature={temperature} must be positive and finite")
    power = np.zeros_like(p)
    power[p > 0] = np.exp((np.log(p[p > 0]) - np.log(p.max())) / temperature)
    return power / power.sum()


def renyi_entropy(p: Numbers, order: float | int) -> float:
    """Uncertainty that weighs likely outcomes more, the higher its order.

    Implements eq-gen-renyi::

        H_a(p) = log(Σ_i p[i]^a) / (1 - a);   H_1 = -Σ p log p,   H_∞ = -log max p

    Args:
        p: Probabilities.
        order: a ≥ 0; at 0 the logarithm of the number of possible outcomes.

    Returns:
        H_a [nats], falling or level in a.

    Raises:
        InputError: If p is no distribution, or the order is negative or NaN.
    """
    p = distribution(p, "p")
    if not order >= 0:
        raise InputError(f"order={order} must not be negative")
    logs = np.log(p[p > 0])
    if math.isinf(order):
        return float(0.0 - logs.max())
    if order == 1:
        return float(0.0 - np.exp(logs) @ logs)
    top = logs.max()
    return float((order * top + np.log(np.exp(order * (logs - top)).sum())) / (1 - order))


def truncated(p: Numbers, kept: Numbers) -> tuple[Float[ndarray, " V"], float]:
    """The distribution of the kept tokens alone, and how far that is from the whole one.

    Implements eq-gen-truncation-cost::

        q[i] = p[i] / p(S)  for i in S, else 0;   KL(q‖p) = -log p(S),   TV(q, p) = 1 - p(S)

    No other distribution on S is as near to p in this divergence.

    Args:
        p: Probabilities.
        kept: True for each token of S.

    Returns:
        q, and KL(q‖p) [nats].

    Raises:
        InputError: If p is no distribution, ``kept`` does not fit, or S has no probability.
    """
    p, kept = distribution(p, "p"), np.asarray(kept)
    if kept.dtype != bool or kept.shape != p.shape:
        raise InputError(
            f"kept has dtype {kept.dtype} and shape {kept.shape}; give one bool for each of "
            f"the {len(p)} tokens"
        )
    mass = float(p[kept].sum())
    if mass == 0:
        raise InputError(f"the {int(kept.sum())} kept tokens have probability 0: keep others")
    return np.where(kept, p, 0.0) / mass, 0.0 - math.log(min(mass, 1.0))


def unseen_share(mass: float | int, tokens: int) -> float:
    """How likely a text drawn from the whole distribution leaves the kept part at least once.

    Implements eq-gen-tail::

        P(at least one token from outside) = 1 - mass^tokens

    Args:
        mass: Probability of the kept tokens at each step.
        tokens: Length of the text.

    Returns:
        A probability.

    Raises:
        InputError: If the mass is outside 0..1 or the length is negative.
    """
    if not 0 <= mass <= 1 or tokens < 0:
        raise InputError(f"mass={mass} must be in 0..1 and tokens={tokens} not negative")
    return float(1 - mass**tokens)


__all__ = ["renyi_entropy", "tempered", "truncated", "unseen_share"]
