"""Learning from single texts that were found good or bad."""

import math

import torch
from torch import Tensor

from ...errors import InputError, InputTypeError
from ...shapes import Bool, Float
from ..masks import require_alike, require_positive, require_weight


def kto_loss(
    reward: Float[Tensor, "*batch"],
    desirable: Bool[Tensor, "*batch"],
    kl: float | int | Float[Tensor, ""],
    beta: float | int,
    desirable_weight: float | int = 1.0,
    undesirable_weight: float | int = 1.0,
) -> Float[Tensor, "*batch"]:
    """How far the value of each text, as a gain or a loss, is from the best it could be.

    Implements eq-pref-kto::

        ℓ = λ_D (1 - σ(r̂ - z₀))   for a desirable text
            λ_U (1 - σ(z₀ - r̂))   for another,        z₀ = β max(0, KL)

    No gradient passes through the reference point z₀.

    Args:
        reward: r̂ of each text, made with the same β, see :func:`implicit_reward`.
        desirable: Whether it was found good.
        kl: Estimate of KL(π ‖ π_ref) [nats], such as :func:`mismatched_kl`. One below 0, as
            estimates from samples can be, counts as 0.
        beta: β > 0.
        desirable_weight: λ_D >= 0.
        undesirable_weight: λ_U >= 0.

    Returns:
        ℓ for each text, in 0..λ.

    Raises:
        InputError: If β is not positive, a weight negative, or one not finite; if the shapes
            differ, or the estimate is not one number, or is given as NaN or infinity.
        InputTypeError: If ``desirable`` is not boolean.

    References:
        Ethayarajh et al. (2024), arXiv:2402.01306, section 4.1, L_KTO.
    """
    require_positive(beta=beta)
    require_weight(desirable_weight=desirable_weight, undesirable_weight=undesirable_weight)
    require_alike(reward=reward, desirable=desirable)
    if desirable.dtype != torch.bool:
        found = str(desirable.dtype).removeprefix("torch.")
        raise InputTypeError(f"desirable must be bool, got {found}; True = found good")
    point = beta * _one_number(kl, reward)
    above = reward - point.clamp(min=0)
    gain = desirable_weight * torch.sigmoid(-above)  # 1 - σ(x) = σ(-x)
    return torch.where(desirable, gain, undesirable_weight * torch.sigmoid(above))


def _one_number(kl: float | int | Tensor, like: Tensor) -> Tensor:
    """The estimate without its gradient; one that is no tensor is known to be finite."""
    if isinstance(kl, Tensor):
        if kl.ndim:
            raise InputError(
                f"kl has shape {tuple(kl.shape)}, expected (): one number for all texts, such "
                "as mismatched_kl gives"
            )
    elif not math.isfinite(kl):
        raise InputError(f"kl={kl} must be finite")
    return torch.as_tensor(kl, dtype=like.dtype, device=like.device).detach()


def mismatched_kl(
    logp: Float[Tensor, " B"], logp_ref: Float[Tensor, " B"]
) -> Float[Tensor, ""]:
    """Estimate of the divergence from texts that answer other prompts.

    Computes::

        max(0, mean over i of log π(y_{i+1} | x_i) - log π_ref(y_{i+1} | x_i))

    It is no unbiased estimate: the texts were not written by the policy. It needs no rollout.

    Args:
        logp: Log-probability of the text behind a prompt that is not its own [nats].
        logp_ref: The same under the reference.

    Returns:
        The estimate [nats], without gradient.

    Raises:
        InputError: If there are no texts, or the shapes differ.

    References:
        Ethayarajh et al. (2024), arXiv:2402.01306, section 4.1.
    """
    if not len(logp):
        raise InputError("there are no texts to estimate the divergence from")
    require_alike(logp=logp, logp_ref=logp_ref)
    return (logp - logp_ref).mean().clamp(min=0).detach()


__all__ = ["kto_loss", "mismatched_kl"]
