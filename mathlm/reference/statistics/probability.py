"""Random variables with finitely many values: averages, conditions, independence, Bayes."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from ...errors import InputError, InputTypeError
from .information import Numbers, require_distribution, require_joint
from .softmax import logsumexp


def expectation(x: Numbers, p: Numbers) -> np.float64 | ndarray:
    """Average of the values, each counted by its probability.

    Implements eq-prob-mean::

        E[X] = Σ_i x_i p_i

    Args:
        x: Values, finite; the last axis runs over the outcomes.
        p: Probabilities of the outcomes, of a shape that x broadcasts with.

    Returns:
        The mean, in the unit of x, for each row.

    Raises:
        InputError: If p is not a distribution, or x does not fit it or is not finite.

    Example:
        >>> float(expectation([0.0, 10.0], [0.5, 0.5]))
        5.0
    """
    x, p = _values(x, p)
    return (x * p).sum(-1)


def variance(x: Numbers, p: Numbers) -> np.float64 | ndarray:
    """Mean squared distance from the mean.

    Implements eq-prob-variance::

        Var(X) = E[(X - E[X])²]

    Args:
        x: Values, finite.
        p: Probabilities of the outcomes.

    Returns:
        The variance, in the squared unit of x; never negative.

    Raises:
        InputError: As :func:`expectation`.

    Example:
        >>> float(variance([0.0, 1.0], [0.5, 0.5]))
        0.25
    """
    x, p = _values(x, p)
    deviation = x - (x * p).sum(-1, keepdims=True)
    return (p * deviation**2).sum(-1)


def variance_by_moments(x: Numbers, p: Numbers) -> np.float64 | ndarray:
    """The variance by one pass over the outcomes: mean square less squared mean.

    Implements eq-prob-variance-moments::

        Var(X) = E[X²] - E[X]²

    Equal to :func:`variance` on paper. In floating point the two terms cancel where the mean
    is large against the spread; prefer :func:`variance` for numbers.

    Args:
        x: Values, finite.
        p: Probabilities of the outcomes.

    Returns:
        The variance, in the squared unit of x.

    Raises:
        InputError: As :func:`expectation`.

    Example:
        >>> float(variance_by_moments([0.0, 1.0], [0.5, 0.5]))
        0.25
    """
    x, p = _values(x, p)
    return (p * x**2).sum(-1) - (p * x).sum(-1) ** 2


def joint_covariance(x: Numbers, y: Numbers, joint: Numbers) -> np.float64:
    """How two variables vary together.

    Implements eq-prob-variance-sum::

        Cov(X, Y) = Σ_{x,y} p(x, y) (x - E[X]) (y - E[Y])

    Args:
        x: Value of each row of the table.
        y: Value of each column.
        joint: p(x, y); sums to one in all.

    Returns:
        The covariance; 0 for independent variables, and for some others.

    Raises:
        InputError: If joint is not a distribution, or the values do not fit it.

    Example:
        >>> float(joint_covariance([0, 1], [0, 1], [[0.5, 0.0], [0.0, 0.5]]))  # always equal
        0.25
    """
    joint = require_joint(joint)
    x, p_x = _values(x, joint.sum(1))
    y, p_y = _values(y, joint.sum(0))
    return (x - x @ p_x) @ joint @ (y - y @ p_y)


def conditional(joint: Numbers) -> ndarray:
    """Distribution of Y for each value of X.

    Implements eq-prob-conditional::

        p(y | x) = p(x, y) / p(x)

    Args:
        joint: p(x, y), one row for each x; sums to one in all.

    Returns:
        p(y | x), of the shape of joint; every row sums to one.

    Raises:
        InputError: If joint is not a distribution, or a row has probability zero: nothing is
            known about what follows an impossible x.

    Example:
        >>> conditional([[0.1, 0.3], [0.3, 0.3]]).round(4)
        array([[0.25, 0.75],
               [0.5 , 0.5 ]])
    """
    joint = require_joint(joint)
    p_x = joint.sum(1)
    if (p_x == 0).any():
        raise InputError(
            f"row {int(np.argmin(p_x))} of joint has probability 0; a condition that cannot "
            "occur has no conditional distribution, so drop the row"
        )
    return joint / p_x[:, None]


def dependence(joint: Numbers) -> np.float64:
    """How far a table is from the product of its margins; 0 means independent.

    Implements eq-prob-independent::

        max_{x,y} |p(x, y) - p(x) p(y)|

    Args:
        joint: p(x, y); sums to one in all.

    Returns:
        The largest gap, at most 1/4.

    Raises:
        InputError: If joint is not a distribution.

    Example:
        >>> float(dependence([[0.25, 0.25], [0.25, 0.25]]))
        0.0
    """
    joint = require_joint(joint)
    return np.abs(joint - np.outer(joint.sum(1), joint.sum(0))).max()


def chain_factors(joint: Numbers, outcome: Sequence[int]) -> ndarray:
    """Conditional probabilities whose product is the probability of a sequence.

    Implements eq-prob-chain::

        p(x_1 … x_n) = Π_t p(x_t | x_1 … x_{t-1})

    Args:
        joint: p(x_1, ..., x_n), one axis for each position; sums to one in all.
        outcome: Index of the value at each position.

    Returns:
        p(x_t | x_1 ... x_{t-1}) for t = 1 to n.

    Raises:
        InputError: If joint is not a distribution, the outcome does not fit it, or its
            beginning has probability zero.
        InputTypeError: If the outcome does not hold integers.

    Example:
        >>> chain_factors([[0.1, 0.3], [0.3, 0.3]], [0, 1]).round(4)  # 0.4, then 0.3 of it
        array([0.4 , 0.75])
    """
    joint = np.asarray(joint, dtype=np.float64)
    require_distribution(joint.ravel(), "joint")
    if len(outcome) != joint.ndim:
        raise InputError(f"outcome has {len(outcome)} values for {joint.ndim} axes of joint")
    if not all(isinstance(i, int | np.integer) for i in outcome):
        raise InputTypeError(f"outcome {tuple(outcome)} must hold integers, one for each axis")
    if any(not 0 <= i < size for i, size in zip(outcome, joint.shape, strict=True)):
        raise InputError(f"outcome {tuple(outcome)} is outside of joint, shape {joint.shape}")
    prefix = np.array([joint[tuple(outcome[:t])].sum() for t in range(joint.ndim + 1)])
    if (prefix[:-1] == 0).any():
        raise InputError(f"outcome {tuple(outcome)} begins with what has probability 0")
    return prefix[1:] / prefix[:-1]


def posterior(prior: Numbers, log_likelihood: Numbers) -> ndarray:
    """Belief about hypotheses after data: Bayes' rule, in logarithms.

    Implements eq-prob-bayes::

        p(h | D) = p(D | h) p(h) / Σ_k p(D | k) p(k)

    The largest exponent is taken out first, so that the likelihood of a long text, far below
    the smallest float, does no harm.

    Args:
        prior: p(h), over the last axis.
        log_likelihood: log p(D | h) [nats], of a shape that broadcasts with prior; minus
            infinity where the data is impossible.

    Returns:
        p(h | D); sums to one along the last axis.

    Raises:
        InputError: If prior is not a distribution, the shapes do not fit, a log-likelihood is
            NaN or plus infinity, or the data is impossible under every hypothesis that the
            prior allows.

    Example:
        >>> posterior([0.5, 0.5], np.log([0.2, 0.6])).round(2).tolist()
        [0.25, 0.75]
    """
    prior = require_distribution(prior, "prior")
    log_prior = np.log(prior, where=prior > 0, out=np.full_like(prior, -np.inf))
    log_likelihood = np.asarray(log_likelihood)
    _require_one_axis(log_likelihood, prior, "log_likelihood", "prior")
    if not (log_likelihood < np.inf).all():
        bad = log_likelihood[~(log_likelihood < np.inf)][0]
        raise InputError(f"log_likelihood has the entry {bad}; it must be finite or -inf")
    log_joint = log_prior + log_likelihood
    log_evidence = logsumexp(log_joint)
    if np.isneginf(log_evidence).any():
        raise InputError(
            "the data has probability 0 under every hypothesis that the prior allows; "
            "add the hypothesis that is missing"
        )
    return np.exp(log_joint - log_evidence[..., None])


def sum_distribution(p: Numbers, n: int) -> ndarray:
    """Distribution of the sum of n independent draws with values 0, 1, 2, ...

    Implements eq-prob-convolution::

        p_n = p_{n-1} * p,   (a * b)_s = Σ_i a_i b_{s-i}

    Args:
        p: Probabilities of the values 0 to K - 1 of one draw.
        n: Number of draws, at least 1.

    Returns:
        Probabilities of the sums 0 to n (K - 1).

    Raises:
        InputError: If p is not one distribution, or n is below 1.

    Example:
        >>> sum_distribution([0.5, 0.5], 2)  # heads among two coins
        array([0.25, 0.5 , 0.25])
    """
    p = require_distribution(p, "p")
    if p.ndim != 1 or n < 1:
        raise InputError(f"p has shape {p.shape} and n={n}; need one distribution and n >= 1")
    total = p
    for _ in range(n - 1):
        total = np.convolve(total, p)
    return total


def _values(x: Numbers, p: Numbers) -> tuple[ndarray, ndarray]:
    x, p = np.asarray(x, dtype=np.float64), require_distribution(p, "p")
    _require_one_axis(x, p, "x", "p")
    if not np.isfinite(x).all():
        raise InputError(f"x has the entry {x[~np.isfinite(x)][0]}; values must be finite")
    return x, p


def _require_one_axis(x: ndarray, p: ndarray, name: str, other: str) -> None:
    """The last axes run over the same outcomes, and the axes before them broadcast."""
    try:
        fits = x.ndim > 0 and x.shape[-1] == p.shape[-1] and bool(np.broadcast(x, p).ndim)
    except ValueError:
        fits = False
    if not fits:
        raise InputError(
            f"{name} has shape {x.shape} and {other} {p.shape}; the last axes must agree and "
            "the others broadcast"
        )
