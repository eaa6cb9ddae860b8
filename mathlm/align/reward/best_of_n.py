"""The best of n draws: its exact distribution over what can be listed, and estimates elsewhere.

References:
    Stiennon et al. (2020), arXiv:2009.01325, appendix G.3: log n - (n - 1)/n.
    Gao, Schulman and Hilton (2022), arXiv:2210.10760: best of n as optimization of a proxy.
    Beirami et al. (2024), arXiv:2401.01879: the formula is an upper bound.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Float, Int

Item = TypeVar("Item")


def best_of_n_log_probabilities(
    logp: Float[Tensor, "*S Y"], rewards: Float[Tensor, "*S Y"], n: int
) -> Float[Tensor, "*S Y"]:
    """Log-probability that each of Y outcomes is the best of n independent draws.

    Implements eq-reward-best-exact::

        q(y) = p(y) / p(r = r_y) · (P(r ≤ r_y)ⁿ - P(r < r_y)ⁿ)

    Of several draws with the same best reward one is taken at random, or the first, which is
    the same: outcomes of equal reward keep their proportions.

    Args:
        logp: log p of the outcomes [nats]; each row's probabilities sum to 1.
        rewards: Of the outcomes, finite.
        n: How many are drawn.

    Returns:
        log q [nats], normalized; -inf where log p is. Differentiable in ``logp``.

    Raises:
        InputError: If n < 1, a reward is not finite, the shapes differ, or p does not sum to 1.

    Example:
        >>> logp, rewards = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.0, 1.0])
        >>> best_of_n_log_probabilities(logp, rewards, n=2).exp()  # 1/4: twice the worse
        tensor([0.2500, 0.7500])
    """
    _require_outcomes(logp, rewards, n)
    rows = [
        _best_of_row(p, r, n)
        for p, r in zip(
            logp.reshape(-1, logp.shape[-1]), rewards.reshape(-1, logp.shape[-1]), strict=True
        )
    ]
    return torch.stack(rows).reshape(logp.shape)


def _best_of_row(logp: Tensor, rewards: Tensor, n: int) -> Tensor:
    """The same for one row, by Uⁿ - (U - m)ⁿ = Uⁿ (1 - (1 - m/U)ⁿ)."""
    possible = logp > -math.inf
    logp_seen = logp[possible].log_softmax(-1)
    levels, level = rewards[possible].unique(return_inverse=True)  # rising
    log_mass = _log_sum_by(level, len(levels), logp_seen)  # m = P(r = level)
    log_up_to = log_mass.logcumsumexp(0)  # U = P(r <= level)
    won = n * log_up_to + _log_any_of(n, log_mass - log_up_to)
    q = logp_seen + (won - log_mass)[level]
    return logp.new_full(logp.shape, -math.inf).masked_scatter(possible, q.log_softmax(-1))


def _log_sum_by(group: Tensor, groups: int, logp: Tensor) -> Tensor:
    """Logarithm of Σ p of each group, also where every p underflows."""
    top = logp.new_zeros(groups).scatter_reduce(
        0, group, logp.detach(), "amax", include_self=False
    )
    return top + logp.new_zeros(groups).index_add(0, group, (logp - top[group]).exp()).log()


def _log_any_of(n: int, log_share: Tensor) -> Tensor:
    """Of n draws at least one falls into a share s: log (1 - (1 - s)ⁿ)."""
    certain = log_share == 0
    rare = log_share < math.log(torch.finfo(log_share.dtype).tiny)  # s underflows: n s
    share = log_share.masked_fill(certain | rare, -1.0).exp()  # gradients stay finite
    usual = torch.log(-torch.expm1(n * torch.log1p(-share)))
    return torch.where(rare, math.log(n) + log_share, usual).masked_fill(certain, 0.0)


def best_of_n_kl(
    logp: Float[Tensor, "*S Y"], rewards: Float[Tensor, "*S Y"], n: int
) -> Float[Tensor, "*S"]:
    """Divergence of the best of n from one draw, exactly.

    Computes::

        KL(q‖p) = Σ_y q(y) log (q(y) / p(y))   ≤ log n - (n - 1)/n

    Args:
        logp: log p of the outcomes [nats].
        rewards: Of the outcomes.
        n: How many are drawn.

    Returns:
        KL of each row [nats].

    Raises:
        InputError: As :func:`best_of_n_log_probabilities`.

    Example:
        >>> logp, rewards = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.0, 1.0])
        >>> best_of_n_kl(logp, rewards, n=2)  # of (1/4, 3/4) from (1/2, 1/2)
        tensor(0.1308)
    """
    q = best_of_n_log_probabilities(logp, rewards, n)
    ratio = torch.where(q == -math.inf, 0.0, q - logp.log_softmax(-1))
    return (q.exp() * ratio).sum(-1)


def best_of_n_kl_bound(n: int) -> float:
    """What the divergence of the best of n can at most be, and is if no two draws ever tie.

    Implements eq-reward-best::

        log n - (n - 1)/n

    Often called the divergence itself: it is that in the limit of infinitely many outcomes,
    each of vanishing probability. Where outcomes can repeat, the divergence is smaller, and
    never more than that of the best outcome alone, -log p(best).

    Args:
        n: How many are drawn.

    Returns:
        The bound [nats].

    Raises:
        InputError: If n < 1.

    Example:
        >>> round(best_of_n_kl_bound(2), 4)  # ln 2 - 1/2
        0.1931
    """
    _require_positive(n)
    return math.log(n) - (n - 1) / n


def best_of_n_mean(
    proxy: Float[Tensor, " N"] | Int[Tensor, " N"],
    values: Float[Tensor, " N"] | Int[Tensor, " N"],
    n: int,
) -> Float[Tensor, ""]:
    """Mean value of the draw that a proxy likes best among n, from N ≥ n draws.

    Computes::

        Σ_i C(i - 1, n - 1) / C(N, n) · values_(i),   draws in rising order of the proxy

    It is the mean over all subsets of n of the N draws, and so an unbiased estimate; draws of
    equal proxy share their weight. With ``values=proxy`` it estimates the proxy's own maximum;
    with true rewards, what is gained by trusting the proxy.

    Args:
        proxy: Reward by which the best is chosen, of each draw.
        values: What is averaged, of each draw.
        n: Size of the subsets.

    Returns:
        The mean, in the unit and dtype of ``values``; of whole numbers in float64.

    Raises:
        InputError: If n is not in 1 … N, or a number is not finite.

    Example:
        >>> values = torch.tensor([0.0, 1.0])
        >>> best_of_n_mean(values, values, n=2)  # one pair of two different draws
        tensor(1.)
    """
    _require_positive(n)
    if len(proxy) != len(values) or n > len(proxy):
        raise InputError(
            f"{len(proxy)} proxies and {len(values)} values: expected one of each for every "
            f"draw, and n={n} draws or more"
        )
    if not bool(proxy.isfinite().all() and values.isfinite().all()):
        raise InputError("a proxy or a value is NaN or infinite")
    _, level, count = proxy.unique(return_inverse=True, return_counts=True)
    up_to = count.cumsum(0)
    log_all = _log_ways(torch.tensor(len(proxy)), n)
    at_most = (_log_ways(up_to, n) - log_all).exp()  # P(the best of n has at most this level)
    share = at_most.diff(prepend=at_most.new_zeros(1)) / count
    values = values if values.is_floating_point() else values.double()
    return (share[level].to(values) * values).sum()


def _log_ways(m: Tensor, n: int) -> Tensor:
    """Logarithm of m!/(m - n)!, the ways to take n of m in turn; -inf for m < n."""
    m = m.double()
    some = m.clamp(min=n)
    value = torch.lgamma(some + 1) - torch.lgamma(some - n + 1)
    return value.masked_fill(m < n, -math.inf)


@dataclass(frozen=True)
class Best(Generic[Item]):
    """What :func:`draw_best` returns.

    Args:
        item: The best draw.
        reward: Its reward.
        rewards: Those of all draws, in their order.
    """

    item: Item
    reward: float
    rewards: tuple[float, ...]


def draw_best(
    draw: Callable[[int], Sequence[Item]],
    reward: Callable[[Sequence[Item]], Sequence[float]],
    n: int,
) -> Best[Item]:
    """The best of n draws from any source; the first of equals.

    Args:
        draw: From a number to so many draws, such as texts of a model.
        reward: From draws to their rewards.
        n: How many.

    Returns:
        The best draw, and all rewards.

    Raises:
        InputError: If n < 1, there are not n draws or rewards, or a reward is not finite.

    Example:
        >>> def length(texts):
        ...     return [len(text) for text in texts]
        >>> draw_best(lambda n: ["a", "ccc", "bb"][:n], length, n=3).item
        'ccc'
    """
    _require_positive(n)
    items = draw(n)
    rewards = tuple(float(r) for r in reward(items))
    if not len(items) == len(rewards) == n:
        raise InputError(f"n={n}, but there are {len(items)} draws and {len(rewards)} rewards")
    for i, r in enumerate(rewards):
        if not math.isfinite(r):
            raise InputError(f"the reward of draw {i} is {r}: every draw needs a finite one")
    best = max(range(n), key=lambda i: (rewards[i], -i))
    return Best(items[best], rewards[best], rewards)


def _require_positive(n: int) -> None:
    if n < 1:
        raise InputError(f"n={n} must be at least 1")


def _require_outcomes(logp: Tensor, rewards: Tensor, n: int) -> None:
    _require_positive(n)
    if logp.shape != rewards.shape or logp.ndim == 0 or logp.numel() == 0:
        raise InputError(
            f"logp {tuple(logp.shape)} and rewards {tuple(rewards.shape)} must have one shape, "
            "with at least one outcome"
        )
    if not bool(rewards.isfinite().all()):
        raise InputError("a reward is NaN or infinite: nothing can be the best")
    total = logp.logsumexp(-1)
    if not bool((total.abs() < 1e-4).all()):
        raise InputError(
            f"the probabilities of a row sum to {_farthest(total):.6g}, not 1: give those of "
            "all outcomes, as log_softmax does"
        )


def _farthest(log_total: Tensor) -> float:
    """The sum that is farthest from 1."""
    flat = log_total.flatten()
    return float(flat[flat.abs().argmax()].exp())
