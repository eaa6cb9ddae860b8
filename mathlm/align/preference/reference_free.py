"""Preference losses without a reference model: on mean log-probabilities per token."""

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from ...errors import InputError
from ...functional import log1mexp
from ...shapes import Float
from ..masks import require_alike, require_positive, require_weight

ROUNDING = 1e-5  # nats by which a log-probability may lie above 0


def log_odds(mean_logp: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Log of the odds of a text, whose probability is the geometric mean of its tokens'.

    Computes::

        log(p / (1 - p)) = log p - log(1 - p),   log p = log π(y | x) / |y|

    Args:
        mean_logp: log p, below 0 [nats/token].

    Raises:
        InputError: If an entry is not below 0: the odds of what is certain are infinite.

    References:
        Hong, Lee and Thorne (2024), arXiv:2403.07691, eq. (4).
    """
    return mean_logp - log1mexp(mean_logp)


def orpo_loss(
    mean_logp_chosen: Float[Tensor, "*batch"],
    mean_logp_rejected: Float[Tensor, "*batch"],
    weight: float | int = 0.1,
) -> Float[Tensor, "*batch"]:
    """Surprise per token of the chosen text, and a penalty if its odds are not the better ones.

    Implements eq-pref-free::

        ℓ = -log p_chosen - λ log σ(log odds(p_chosen) - log odds(p_rejected))

    Args:
        mean_logp_chosen: log p = log π(y | x) / |y| of the text that was preferred, below 0
            [nats/token].
        mean_logp_rejected: log p of the other.
        weight: λ >= 0.

    Returns:
        ℓ [nats] for each pair.

    Raises:
        InputError: If λ is negative or not finite, a mean log-probability not below 0, or the
            shapes differ.

    References:
        Hong, Lee and Thorne (2024), arXiv:2403.07691, eq. (6) and (7).
    """
    require_weight(weight=weight)
    require_alike(mean_logp_chosen=mean_logp_chosen, mean_logp_rejected=mean_logp_rejected)
    ratio = log_odds(mean_logp_chosen) - log_odds(mean_logp_rejected)
    return -mean_logp_chosen - weight * logsigmoid(ratio)


def simpo_loss(
    mean_logp_chosen: Float[Tensor, "*batch"],
    mean_logp_rejected: Float[Tensor, "*batch"],
    beta: float | int = 2.0,
    gamma: float | int = 1.0,
) -> Float[Tensor, "*batch"]:
    """Surprise that the chosen text wins by a margin, if log-probability per token is reward.

    Implements eq-pref-free::

        ℓ = -log σ(β log p_chosen - β log p_rejected - γ),   log p = log π(y | x) / |y|

    Args:
        mean_logp_chosen: log p of the text that was preferred, at most 0 [nats/token].
        mean_logp_rejected: log p of the other.
        beta: β > 0.
        gamma: γ >= 0, the margin of rewards that is asked for.

    Returns:
        ℓ [nats] for each pair.

    Raises:
        InputError: If β is not positive, γ negative, or one not finite; if a mean
            log-probability is above 0, or the shapes differ.

    References:
        Meng, Xia and Chen (2024), arXiv:2405.14734, eq. (6).
    """
    require_positive(beta=beta)
    require_weight(gamma=gamma)
    _require_logarithms(mean_logp_chosen, mean_logp_rejected)
    return -logsigmoid(beta * (mean_logp_chosen - mean_logp_rejected) - gamma)


def _require_logarithms(chosen: Tensor, rejected: Tensor) -> None:
    """Refuse shapes that differ, and what cannot be the logarithm of a probability."""
    require_alike(mean_logp_chosen=chosen, mean_logp_rejected=rejected)
    above = torch.stack((chosen.detach(), rejected.detach())) > ROUNDING
    if above.any():
        side, *where = above.nonzero()[0].tolist()
        value = float((chosen, rejected)[side][tuple(where)])
        raise InputError(
            f"mean_logp_{('chosen', 'rejected')[side]} at {where} is {value:g}: the logarithm "
            "of a probability is at most 0; give log π, not -log π"
        )


__all__ = ["log_odds", "orpo_loss", "simpo_loss"]
