"""Texts whose next token depends on the last one alone: what can be known about them exactly.

Row i of a transition matrix P is the distribution of the token behind token i.
"""

import numpy as np
from numpy import ndarray

from ...checks import require_counts, require_share
from ...errors import InputError
from ...shapes import Float, Int
from ..arrays import Numbers, finite_array
from .information import entropy, kl_divergence

SUM_TOLERANCE = 1e-9


def stationary(P: Numbers) -> Float[ndarray, " K"]:
    """Share of each token in a long text.

    Computes::

        π P = π,   Σ_i π_i = 1

    Args:
        P: Transition matrix (K, K); every row sums to 1.

    Returns:
        π.

    Raises:
        InputError: If P is no transition matrix, or has more than one such π.

    Example:
        >>> stationary([[0.9, 0.1], [0.3, 0.7]]).round(4)
        array([0.75, 0.25])
    """
    P = transition_matrix(P)
    values, vectors = np.linalg.eig(P.T)
    at_one = np.abs(values - 1) < SUM_TOLERANCE
    if at_one.sum() != 1:
        raise InputError(
            f"{int(at_one.sum())} eigenvalues of P are 1: the shares depend on where a text "
            "begins; give a chain in which all tokens can be reached again"
        )
    pi = vectors[:, at_one][:, 0].real
    return np.abs(pi / pi.sum())


def draw_chain(
    P: Numbers, number: int, steps: int, rng: np.random.Generator
) -> Int[ndarray, "N T"]:
    """Texts of a chain, each begun with a token of its long-run shares.

    Computes::

        x_1 ~ π,   x_{t+1} ~ row x_t of P

    Args:
        P: Transition matrix with one π.
        number: Texts, N, at least 1.
        steps: Tokens of each, T, at least 1.
        rng: Source of the randomness.

    Returns:
        Token ids.

    Raises:
        InputError: If P is no transition matrix with one π, or a number is below 1.

    Example:
        >>> P = np.array([[0.0, 1.0], [1.0, 0.0]])  # the two tokens take turns
        >>> texts = draw_chain(P, number=3, steps=4, rng=np.random.default_rng(0))
        >>> texts.shape, bool((texts[:, 1:] != texts[:, :-1]).all())
        ((3, 4), True)
    """
    P = transition_matrix(P)
    require_counts(1, number=number, steps=steps)
    edges = np.cumsum(np.vstack([stationary(P), P]), axis=1)
    edges[:, -1] = 1.0  # rounding of the sum
    ids, row = np.empty((number, steps), np.int64), np.zeros(number, np.int64)
    for t in range(steps):
        ids[:, t] = (rng.random((number, 1)) >= edges[row]).sum(1)
        row = ids[:, t] + 1
    return ids


def steps_ahead_entropy(P: Numbers, steps: int) -> float:
    """Uncertainty about the token so many places ahead, in a long text.

    Implements eq-steps-ahead::

        H(x_{t+k} | x_t) = Σ_i π_i H(row i of P^k)

    Args:
        P: Transition matrix.
        steps: k, at least 1.

    Returns:
        H [nats]; it never falls with k, and without a period tends to the entropy of π.

    Raises:
        InputError: If P is no transition matrix with one π, or k is below 1.

    Example:
        >>> round(steps_ahead_entropy([[0.5, 0.5], [1.0, 0.0]], 1), 6)  # 2/3 of log 2
        0.462098
    """
    P = transition_matrix(P)
    require_counts(1, steps=steps)
    ahead = np.linalg.matrix_power(P, steps)
    ahead = ahead / ahead.sum(1, keepdims=True)  # rounding of the power
    return float(stationary(P) @ np.atleast_1d(entropy(ahead)))


def text_divergence(P: Numbers, Q: Numbers, start: Numbers, steps: int) -> Float[ndarray, " T"]:
    """What each step of a text drawn from P adds to its divergence from Q.

    Implements eq-text-divergence::

        d_t = Σ_i μ_t(i) KL(P_i ‖ Q_i),   μ_{t+1} = μ_t P,   Σ_t d_t = KL(texts of P ‖ of Q)

    With P the source and Q a model this is teacher forcing: the source writes what is read.
    With the two exchanged it is free running: the model writes, and the source judges.

    Args:
        P: Transition matrix of what writes.
        Q: Transition matrix of what is compared, of the same size.
        start: μ_1, distribution of the token before the first step.
        steps: T, at least 1.

    Returns:
        d [nats]; infinite from the step on where Q excludes what P writes.

    Raises:
        InputError: If a matrix or the start is no distribution, the sizes differ, or steps < 1.

    Example:
        >>> P, Q = np.array([[0.5, 0.5], [0.5, 0.5]]), np.array([[0.25, 0.75], [0.75, 0.25]])
        >>> text_divergence(P, Q, [1.0, 0.0], steps=2).round(4)  # ½ ln(4/3) in each step
        array([0.1438, 0.1438])
    """
    P, Q, mu = transition_matrix(P), transition_matrix(Q), distribution(start, "start")
    if not P.shape == Q.shape == (len(mu), len(mu)):
        raise InputError(
            f"P {P.shape}, Q {Q.shape} and start {mu.shape} are of different sizes"
        )
    require_counts(1, steps=steps)
    rows, found = np.atleast_1d(kl_divergence(P, Q)), []
    for _ in range(steps):
        found.append(float(rows[mu > 0] @ mu[mu > 0]))
        mu = mu @ P
    return np.array(found)


def lost_share(
    steps: Numbers, slip: float | int, recovery: float | int
) -> Float[ndarray, "*batch"] | np.float64:
    """Share of texts that have left the right path, and not come back, after some steps.

    Implements eq-lost-share::

        e_t = ε / (ε + r) · (1 - (1 - ε - r)^t),   from e_{t+1} = (1 - r) e_t + ε (1 - e_t)

    With r = 0 this is 1 - (1 - ε)^t, and the errors of a whole text grow like ε t² / 2.

    Args:
        steps: t, whole numbers of any shape, 0 = before the first.
        slip: ε, probability of leaving in one step.
        recovery: r, probability of coming back in one step.

    Returns:
        e_t, of the shape of ``steps``.

    Raises:
        InputError: If a probability is outside 0..1, or a step is negative.

    Example:
        >>> lost_share([0, 1, 2], slip=0.5, recovery=0.0)  # 1 - (1/2)^t
        array([0.  , 0.5 , 0.75])
    """
    t = finite_array(steps, "steps")
    require_share(slip=slip, recovery=recovery)
    if t.min() < 0:
        raise InputError(f"steps begin at {t.min():g}; they are counted from 0")
    if slip == 0:
        return np.zeros_like(t)[()]
    return (slip / (slip + recovery) * (1 - (1.0 - slip - recovery) ** t))[()]


def scheduled_optimum(first: Numbers, P: Numbers, share: float | int) -> Float[ndarray, "K V"]:
    """What scheduled sampling teaches a perfect learner about texts of two tokens.

    Implements eq-scheduled-optimum::

        q(y | u) = (1 - ρ) P(y | u) + ρ Σ_x p(x) P(y | x)

    The first token is read as it stands with probability 1 - ρ, else the model's own draw of it
    is read, which knows nothing of the y that follows in the text.

    Args:
        first: p, distribution of the first token.
        P: Row x is the distribution of the second token behind x; every row sums to 1.
        share: ρ, how often the model's own token is read.

    Returns:
        q, of the shape of P. It is P for ρ = 0, and forgets the first token for ρ = 1.

    Raises:
        InputError: If p or a row of P is no distribution, the sizes differ, or ρ is outside
            0..1.

    Example:
        >>> P = np.eye(2)  # the second token is the first
        >>> scheduled_optimum([0.5, 0.5], P, share=1.0)  # nothing is left of that
        array([[0.5, 0.5],
               [0.5, 0.5]])

    References:
        Huszár (2015), arXiv:1511.05101.
    """
    p, P = distribution(first, "first"), rows_of_distributions(P)
    if len(p) != len(P):
        raise InputError(f"first has {len(p)} tokens and P {len(P)} rows")
    require_share(share=share)
    return (1 - share) * P + share * (p @ P)


def transition_matrix(P: Numbers) -> Float[ndarray, "K K"]:
    """P, once it is known to be square and each row a distribution."""
    array = rows_of_distributions(P)
    if array.shape[0] != array.shape[1]:
        raise InputError(f"P has shape {array.shape}; a transition matrix is square")
    return array


def rows_of_distributions(P: Numbers) -> Float[ndarray, "K V"]:
    """P, once each row is known to be a distribution."""
    array = finite_array(P, "P")
    if array.ndim != 2:
        raise InputError(f"P has shape {array.shape}; give a matrix")
    for i, row in enumerate(array):
        distribution(row, f"row {i} of P")
    return array


def distribution(p: Numbers, name: str) -> Float[ndarray, " K"]:
    """p, once it is known to be one distribution."""
    array = finite_array(p, name)
    if array.ndim != 1 or array.min() < 0 or abs(array.sum() - 1) > SUM_TOLERANCE:
        raise InputError(
            f"{name} is no distribution: shape {array.shape}, smallest entry "
            f"{array.min():g}, sum {array.sum():.12g}"
        )
    return array


__all__ = [
    "draw_chain",
    "lost_share",
    "scheduled_optimum",
    "stationary",
    "steps_ahead_entropy",
    "text_divergence",
]
