"""Entropy and divergences of discrete distributions [nats]; the last axis sums to one."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ...errors import InputError

Numbers = ndarray | Sequence  # what np.asarray turns into an array of numbers

TOLERANCE = 1e-6  # how far a sum of probabilities may be from 1


def entropy(p: Numbers) -> np.float64 | ndarray:
    """Average surprise of a distribution about its own draws.

    Implements eq-entropy::

        H(p) = -Σ_i p_i log p_i,   0 log 0 = 0

    Args:
        p: Probabilities.

    Returns:
        H [nats], between 0 and the logarithm of the number of outcomes.

    Raises:
        InputError: If p is not a distribution along its last axis.

    Example:
        >>> round(float(entropy([0.5, 0.5])), 6)  # ln 2
        0.693147
    """
    p = require_distribution(p, "p")
    return 0.0 - _expected_log(p, p)  # 0, and not -0, for a sure thing


def cross_entropy(p: Numbers, q: Numbers) -> np.float64 | ndarray:
    """Average surprise of a model q about draws from p.

    Implements eq-cross-entropy::

        H(p, q) = -Σ_i p_i log q_i

    Args:
        p: True probabilities.
        q: Probabilities of the model, of the shape of p.

    Returns:
        H(p, q) [nats]; infinite if q gives 0 to what p can draw.

    Raises:
        InputError: If p or q is not a distribution, or their shapes differ.

    Example:
        >>> round(float(cross_entropy([1.0, 0.0], [0.25, 0.75])), 4)  # ln 4
        1.3863
    """
    p, q = _pair(p, q)
    return -_expected_log(p, q)


def kl_divergence(p: Numbers, q: Numbers) -> np.float64 | ndarray:
    """Extra surprise from using q where p is the truth; not symmetric.

    Implements eq-kl::

        KL(p ‖ q) = Σ_i p_i log(p_i / q_i)

    Args:
        p: True probabilities; the average is over p.
        q: Probabilities of the model, of the shape of p.

    Returns:
        KL [nats], 0 only for p = q; infinite if q gives 0 to what p can draw. Never negative:
        where rounding would make it so, it is 0.

    Raises:
        InputError: If p or q is not a distribution, or their shapes differ.

    Example:
        >>> round(float(kl_divergence([1.0, 0.0], [0.5, 0.5])), 4)  # ln 2
        0.6931
        >>> float(kl_divergence([0.5, 0.5], [1.0, 0.0]))  # q rules out what p says
        inf
    """
    p, q = _pair(p, q)
    return np.maximum(_expected_log(p, p) - _expected_log(p, q), 0.0)


def js_divergence(p: Numbers, q: Numbers) -> np.float64 | ndarray:
    """Symmetric, bounded divergence: the average KL to the midpoint.

    Implements eq-js::

        JS(p, q) = KL(p ‖ m) / 2 + KL(q ‖ m) / 2,   m = (p + q) / 2

    Args:
        p: Probabilities.
        q: Probabilities, of the shape of p.

    Returns:
        JS [nats], between 0 and log 2.

    Raises:
        InputError: If p or q is not a distribution, or their shapes differ.

    Example:
        >>> round(float(js_divergence([1.0, 0.0], [0.0, 1.0])), 4)  # ln 2, the most there is
        0.6931
    """
    p, q = _pair(p, q)
    m = (p + q) / 2
    return (kl_divergence(p, m) + kl_divergence(q, m)) / 2


def mutual_information(joint: Numbers) -> np.float64:
    """What one of two variables tells about the other, on average.

    Implements eq-mutual-information::

        I(X; Y) = KL(p(x, y) ‖ p(x) p(y)) = H(X) + H(Y) - H(X, Y)

    Args:
        joint: p(x, y), one row for each x and one column for each y; sums to one in all.

    Returns:
        I [nats], 0 only if X and Y are independent.

    Raises:
        InputError: If joint is not a table, or not a distribution.

    Example:
        >>> round(float(mutual_information([[0.5, 0.0], [0.0, 0.5]])), 6)  # ln 2
        0.693147
    """
    joint = require_joint(joint)
    p_x, p_y = joint.sum(1), joint.sum(0)
    return np.float64(kl_divergence(joint.ravel(), np.outer(p_x, p_y).ravel()))


def conditional_entropy(joint: Numbers) -> np.float64:
    """Surprise that is left about Y once X is known, on average.

    Implements eq-conditional-entropy::

        H(Y | X) = -Σ_{x,y} p(x, y) log p(y | x) = H(X, Y) - H(X)

    Args:
        joint: p(x, y), one row for each x and one column for each y; sums to one in all.

    Returns:
        H(Y | X) [nats], between 0 and H(Y); 0 where rounding would make it negative.

    Raises:
        InputError: If joint is not a table, or not a distribution.

    Example:
        >>> round(float(conditional_entropy([[0.25, 0.25], [0.25, 0.25]])), 4)  # ln 2
        0.6931
    """
    joint = require_joint(joint)
    return np.float64(np.maximum(entropy(joint.ravel()) - entropy(joint.sum(1)), 0.0))


def require_joint(joint: Numbers) -> ndarray:
    """The table of p(x, y) as float64, or a sentence about what is wrong with it."""
    joint = np.asarray(joint, dtype=np.float64)
    if joint.ndim != 2:
        raise InputError(f"joint has shape {joint.shape}; need a table, one row for each x")
    require_distribution(joint.ravel(), "joint")
    return joint


def _expected_log(p: ndarray, q: ndarray) -> np.float64 | ndarray:
    """Σ p log q, where an outcome that p never draws counts 0 whatever q says."""
    with np.errstate(divide="ignore"):
        log_q = np.log(q, where=p > 0, out=np.zeros_like(q))
    return (p * log_q).sum(-1)


def _pair(p: Numbers, q: Numbers) -> tuple[ndarray, ndarray]:
    p, q = require_distribution(p, "p"), require_distribution(q, "q")
    if p.shape != q.shape:
        raise InputError(f"p has shape {p.shape} and q has shape {q.shape}; they must agree")
    return p, q


def require_distribution(p: Numbers, name: str) -> ndarray:
    """The probabilities as float64, or a sentence about what is wrong with them."""
    p = np.asarray(p, dtype=np.float64)
    if p.ndim == 0 or p.shape[-1] == 0:
        raise InputError(f"{name} has shape {p.shape}; need at least one outcome")
    if not (p >= 0).all():
        raise InputError(f"{name} has the entry {p[~(p >= 0)][0]}; probabilities are >= 0")
    total = p.sum(-1)
    worst = np.ravel(total)[np.argmax(np.abs(total - 1))] if total.size else 1.0
    if abs(worst - 1) > TOLERANCE:
        raise InputError(f"{name} sums to {worst:.9g} along its last axis; it must sum to 1")
    return p
