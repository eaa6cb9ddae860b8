"""How much reward each nat of divergence can buy."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Float
from .optimum import tilted_optimum


@dataclass(frozen=True, eq=False)
class Frontier:
    """The most reward at each divergence, as points of optima.

    Attributes:
        betas: β of each point, (K,) [reward/nat].
        reward: E[r], (K, P).
        kl: KL(π* ‖ π_ref), (K, P) [nats]; the smaller β, the larger.
        value: E[r] - β KL, (K, P).
    """

    betas: Float[Tensor, " K"]
    reward: Float[Tensor, "K P"]
    kl: Float[Tensor, "K P"]
    value: Float[Tensor, "K P"]


def reward_kl_frontier(
    logp_ref: Float[Tensor, "P Y"],
    rewards: Float[Tensor, "P Y"],
    betas: Sequence[float | int],
) -> Frontier:
    """The optima for many prices β: no policy has more reward at the same divergence.

    Computes::

        (KL(π*_β ‖ π_ref), E_{π*_β}[r])   for each β;   dE[r] / dKL = β along the curve

    Args:
        logp_ref: log π_ref(y) [nats].
        rewards: r(y).
        betas: From 0, where only the best rewards are left, to ∞, where the reference is.

    Raises:
        InputError: If there is no β, or as in :func:`tilted_optimum`.
    """
    if not len(betas):
        raise InputError("betas is empty: give at least one")
    optima = [tilted_optimum(logp_ref, rewards, beta) for beta in betas]
    return Frontier(
        torch.tensor([o.beta for o in optima], dtype=rewards.dtype),
        torch.stack([o.reward for o in optima]),
        torch.stack([o.kl for o in optima]),
        torch.stack([o.value for o in optima]),
    )
