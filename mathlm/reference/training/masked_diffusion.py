"""Masked diffusion on worlds small enough to enumerate, and its loss with its gradient by hand.

A world is a table p of all sequences, of shape (V, …, V) with T axes. A denoiser says, for a
sequence and the places that are hidden, the distribution of the token at each place.
"""

from collections.abc import Callable, Sequence
from itertools import product
from math import comb

import numpy as np
from numpy import ndarray

from ...errors import InputError
from ...shapes import Bool, Float
from ..arrays import finite_array, gradient_array, integer_array
from ..statistics.softmax import log_softmax

Denoiser = Callable[[tuple[int, ...], Bool[ndarray, " T"]], Float[ndarray, "T V"]]
IGNORED = -100


def masked_diffusion_loss(
    logits: Float[ndarray, "B T V"], targets: ndarray, levels: ndarray
) -> tuple[Float[ndarray, " B"], tuple]:
    """Cross-entropy of the hidden tokens of each row, divided by the row's level of masking.

    Implements eq-diffusion-loss::

        ℓ = (1/m) Σ_{t hidden} -log p(xₜ | z)

    Args:
        logits: a, about the token at each place itself; finite.
        targets: x where it is hidden, 0 ≤ x < V; -100 elsewhere.
        levels: m of each row, 0 < m ≤ 1.

    Returns:
        ℓ [nats], summed over the tokens of a row, and the cache for the backward pass.

    Raises:
        InputError: If the shapes do not fit, a logit is not finite, or a target or a level is
            out of range.
        InputTypeError: If the targets are not integers.

    Example:
        >>> logits, targets = np.zeros((1, 2, 4)), np.array([[-100, 3]])
        >>> loss, cache = masked_diffusion_loss(logits, targets, levels=np.array([0.5]))
        >>> loss.round(4)  # ln 4 / 0.5
        array([2.7726])
    """
    logits, levels = finite_array(logits, "logits"), finite_array(levels, "levels")
    if targets.shape != logits.shape[:2] or levels.shape != targets.shape[:1]:
        raise InputError(
            f"logits {logits.shape}, targets {targets.shape} and levels {levels.shape} do not "
            "fit: (B, T, V), (B, T) and (B,)"
        )
    if not ((levels > 0) & (levels <= 1)).all():
        raise InputError(f"levels {levels.tolist()} must lie in 0 < level <= 1")
    hidden = targets != IGNORED
    right = integer_array(np.where(hidden, targets, 0), logits.shape[-1], "target")[..., None]
    logp = log_softmax(logits)
    nll = -np.take_along_axis(logp, right, -1)[..., 0] * hidden
    return nll.sum(1) / levels, (logp, right, hidden, levels)


def masked_diffusion_loss_backward(
    dy: Float[ndarray, " B"], cache: tuple
) -> Float[ndarray, "B T V"]:
    """Gradient of :func:`masked_diffusion_loss` in the logits.

    Implements eq-diffusion-gradient::

        daₜ = (dℓ/m) (softmax(aₜ) - e_{xₜ}) at hidden places,  0 at the others

    Args:
        dy: Gradient of the total in ℓ.
        cache: Second value of :func:`masked_diffusion_loss`.

    Returns:
        Gradient in the logits.

    Example:
        >>> logits, targets = np.zeros((1, 2, 4)), np.array([[-100, 3]])
        >>> loss, cache = masked_diffusion_loss(logits, targets, levels=np.array([0.5]))
        >>> dlogits = masked_diffusion_loss_backward(np.ones(1), cache)
        >>> dlogits[0, 1].round(4)  # twice p less the target
        array([ 0.5,  0.5,  0.5, -1.5])
    """
    logp, right, hidden, levels = cache
    dy = gradient_array(dy, levels.shape)
    onehot = np.arange(logp.shape[-1]) == right
    return (dy / levels)[:, None, None] * hidden[..., None] * (np.exp(logp) - onehot)


def exact_denoiser(p: ndarray) -> Denoiser:
    """The denoiser that knows a world: the conditional distribution of each hidden token.

    Computes::

        p(xₜ | visible) = Σ_{hidden but t} p(x) / Σ_{hidden} p(x)

    Rows of visible places are the token that stands there. If the visible part has probability
    0, nothing follows from it, and the rows of hidden places are uniform.

    Args:
        p: Probability of each sequence, (V, …, V), summing to 1.

    Example:
        >>> denoise = exact_denoiser(np.diag([0.5, 0.5]))  # two tokens that are always equal
        >>> denoise((1, 1), np.array([False, True]))  # the second follows from the first
        array([[0., 1.],
               [0., 1.]])
    """
    _T, V = _require_world(p)

    def denoise(x: tuple[int, ...], hidden: Bool[ndarray, " T"]) -> Float[ndarray, "T V"]:
        rest = p[tuple(slice(None) if h else token for h, token in zip(hidden, x, strict=True))]
        rows, total = np.eye(V)[list(x)], rest.sum()
        for axis, t in enumerate(np.flatnonzero(hidden)):
            others = tuple(a for a in range(rest.ndim) if a != axis)
            rows[t] = rest.sum(others) / total if total > 0 else 1 / V
        return rows

    return denoise


def any_order_bound(x: Sequence[int], denoise: Denoiser) -> float:
    """The bound of a sequence as an average over all subsets that may be hidden.

    Implements eq-diffusion-subsets::

        L(x) = Σ_{S not empty} 1 / (k C(T, k)) Σ_{t in S} -log p(xₜ | x without S),   k = |S|

    The same number is the mean, over all T! orders, of the negative log-likelihood of an
    autoregressive model that reveals the tokens in that order.

    Args:
        x: A sequence of T tokens.
        denoise: Its distributions are read at hidden places only.

    Returns:
        L(x) [nats]; infinite if a factor is 0.

    Example:
        >>> p = np.diag([0.5, 0.5])  # two tokens that are always equal
        >>> round(any_order_bound([0, 0], exact_denoiser(p)), 4)  # in any order ln 2, then 0
        0.6931
    """
    T = len(x)
    return _over_subsets(x, denoise, [0.0, *(1 / (k * comb(T, k)) for k in range(1, T + 1))])


def absorbing_bound(
    x: Sequence[int], denoise: Denoiser, visible: Sequence[float | int] | ndarray
) -> float:
    """The bound of a sequence under a diffusion of finitely many steps.

    Implements eq-diffusion-steps::

        L_N(x) = Σᵢ (αᵢ₋₁ - αᵢ) / (1 - αᵢ) E_{z ~ q(αᵢ)} Σ_{t hidden} -log p(xₜ | z)

    αᵢ is the probability that a token is still visible after step i, 1 = α₀ > … > α_N = 0.

    Args:
        x: A sequence of T tokens.
        denoise: Its distributions are read at hidden places only.
        visible: α₀ … α_N, falling from 1 to 0.

    Returns:
        L_N(x) [nats], summed over the tokens; infinite if a factor that counts is 0.

    Raises:
        InputError: If the probabilities do not fall from 1 to 0.

    Example:
        >>> p = np.full((2, 2), 0.25)  # two fair coins
        >>> bound = absorbing_bound([0, 1], exact_denoiser(p), visible=[1, 0.5, 0])
        >>> round(bound, 4)  # 2 ln 2: nothing is lost where tokens are independent
        1.3863

    References:
        Austin et al. (2021), arXiv:2107.03006.
    """
    alpha = np.asarray(visible, float)
    if len(alpha) < 2 or (alpha[0], alpha[-1]) != (1, 0) or (np.diff(alpha) >= 0).any():
        raise InputError(f"visible {alpha.tolist()} must fall from 1 to 0")
    T, after = len(x), alpha[1:]
    step = (alpha[:-1] - after) / (1 - after)  # share of the hidden that is revealed
    k = np.arange(T + 1)[:, None]
    weights = (step * (1 - after) ** k * after ** (T - k)).sum(1)
    return _over_subsets(x, denoise, weights.tolist())


def parallel_commits(
    p: ndarray, groups: Sequence[Sequence[int]], denoise: Denoiser | None = None
) -> Float[ndarray, "..."]:
    """Distribution of what is written when each group of places is committed at once.

    Implements eq-diffusion-commits::

        q(x) = Π_groups Π_{t in group} p(xₜ | x of the groups before)

    Args:
        p: Probability of each sequence, (V, …, V).
        groups: Places of each group, in the order of the commits; each place once.
        denoise: None = the exact denoiser of p.

    Returns:
        q, a table like p.

    Raises:
        InputError: If a place is missing or comes twice.

    Example:
        >>> p = np.diag([0.5, 0.5])  # two tokens that are always equal
        >>> parallel_commits(p, [[0], [1]])  # one by one
        array([[0.5, 0. ],
               [0. , 0.5]])
        >>> parallel_commits(p, [[0, 1]])  # at once: as if they were independent
        array([[0.25, 0.25],
               [0.25, 0.25]])
    """
    T, V = _require_world(p)
    if sorted(t for group in groups for t in group) != list(range(T)):
        raise InputError(f"groups {groups} must hold each place 0..{T - 1} once")
    denoise, q = denoise or exact_denoiser(p), np.ones(p.shape)
    for x in product(range(V), repeat=T):
        hidden = np.ones(T, bool)
        for group in groups:
            if q[x] > 0:  # else this beginning is never written
                rows = denoise(x, hidden)
                q[x] *= np.prod([rows[t, x[t]] for t in group])
                hidden[list(group)] = False
    return q


def _over_subsets(x: Sequence[int], denoise: Denoiser, weights: Sequence[float]) -> float:
    """Σ over sets S of hidden places: the weight of |S| times the cross-entropy in S."""
    total, tokens = 0.0, tuple(x)
    for choice in product([False, True], repeat=len(tokens)):
        hidden = np.array(choice)
        weight = weights[int(hidden.sum())]
        if hidden.any() and weight > 0:  # of a set that never comes nothing counts
            rows = denoise(tokens, hidden)
            chosen = rows[np.arange(len(tokens)), list(tokens)][hidden]
            with np.errstate(divide="ignore"):  # log 0 is -inf
                total -= weight * float(np.log(chosen).sum())
    return total


def _require_world(p: ndarray) -> tuple[int, int]:
    """T and V of a table of probabilities."""
    if len(set(p.shape)) != 1 or (p < 0).any() or abs(p.sum() - 1) > 1e-9:
        raise InputError(
            f"p {p.shape} must be a table (V, ..., V) of probabilities that sum to 1, they sum "
            f"to {p.sum():.4g}"
        )
    return p.ndim, p.shape[0]
