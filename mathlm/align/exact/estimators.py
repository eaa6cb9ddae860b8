"""What estimators from samples are on average, and how far they scatter, by enumeration."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Float

MOST = 1_000_000  # groups that are listed


@dataclass(frozen=True, eq=False)
class Moments:
    """Exact mean and variance of an estimator, entry by entry.

    Attributes:
        mean: Σ p f.
        variance: Σ p (f - mean)².
    """

    mean: Tensor
    variance: Tensor


def estimator_moments(
    logp: Float[Tensor, " Y"],
    estimator: Callable[[Tensor], Tensor],
    samples: int = 1,
    most: int = MOST,
) -> Moments:
    """Exact mean and variance of a function of independent samples.

    Computes::

        E[f] = Σ_{y₁ … y_N} π(y₁) … π(y_N) f(y₁, …, y_N)

    Every group of samples is listed: an estimator is unbiased if the mean is the truth, up to
    rounding.

    Args:
        logp: log π(y) of one prompt [nats]; completions that never come are left out.
        estimator: From groups of samples, as numbers of completions (groups, N), to one value,
            or a tensor of values, of each group.
        samples: N, samples in a group.
        most: Groups at most.

    Returns:
        Mean and variance, of the shape of one group's value.

    Raises:
        InputError: If there are more groups, no sample, or the estimator does not give one
            value for each group.

    Example:
        >>> coin = torch.tensor([0.5, 0.5]).log()
        >>> found = estimator_moments(coin, lambda groups: groups.float().mean(1), samples=2)
        >>> found.mean, found.variance  # of the mean of two: half the variance of one
        (tensor(0.5000), tensor(0.1250))
    """
    possible = (logp > -torch.inf).nonzero().flatten()
    if samples < 1 or len(possible) ** samples > most:
        raise InputError(
            f"{len(possible)} completions make {len(possible) ** max(samples, 0)} groups of "
            f"samples={samples}; from 1 to most={most} can be listed"
        )
    groups = possible[torch.tensor(list(product(range(len(possible)), repeat=samples)))]
    values = estimator(groups)
    if values.shape[:1] != groups.shape[:1]:
        raise InputError(
            f"the estimator gave shape {tuple(values.shape)} for {len(groups)} groups: give "
            "one value, or tensor of values, for each"
        )
    chance = logp[groups].sum(1).exp().reshape(-1, *[1] * (values.ndim - 1))
    mean = (chance * values).sum(0)
    return Moments(mean, (chance * (values - mean).square()).sum(0))


def score_matrix(logp: Float[Tensor, " Y"]) -> Float[Tensor, "Y Y"]:
    """Gradient of log π(y) in the logits of a table over completions, a row for each y.

    Computes::

        ∂ log π(y) / ∂ z_k = [y = k] - π(k)

    With it a gradient that is estimated from samples is a function of them, which
    :func:`estimator_moments` averages.

    Args:
        logp: log π(y) of one prompt [nats].

    Example:
        >>> score_matrix(torch.tensor([0.5, 0.5]).log())
        tensor([[ 0.5000, -0.5000],
                [-0.5000,  0.5000]])
    """
    return torch.eye(len(logp), dtype=logp.dtype) - logp.exp()
