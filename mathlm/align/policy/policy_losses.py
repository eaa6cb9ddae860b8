"""What is minimised, token by token, so that a policy comes to write what is rewarded more.

All come unreduced; :func:`token_mean` and its neighbours make one number of them. Gradients
pass through ``logp`` alone: advantages, old policies and returns are numbers, also if a graph
hangs on them.
"""

import math

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Bool, Float
from ..masks import counted, require_alike


def reinforce_loss(
    logp: Float[Tensor, "*batch"],
    advantages: Float[Tensor, "*batch"],
    mask: Bool[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Log-probability of what was written, weighed by how much better it did than expected.

    Implements eq-policy-gradient::

        ℓ = -A log π(y)
        E_π[∇ℓ] = -∇E_π[r]   if A = r - b, with a baseline b that does not depend on y

    Only its gradient means something, and only where the policy that is trained wrote y.

    Args:
        logp: log π of tokens or of whole texts [nats].
        advantages: A of the same.
        mask: Where False, the loss is exactly 0 and no gradient passes.

    Returns:
        ℓ, one for each of ``logp``.

    Raises:
        InputError: If the shapes differ.
        InputTypeError: If the mask is not boolean.

    References:
        Williams (1992), Simple statistical gradient-following algorithms.
    """
    require_alike(logp=logp, advantages=advantages, mask=mask)
    return -counted(advantages.detach(), mask) * counted(logp, mask)


def ppo_loss(
    logp: Float[Tensor, "*batch"],
    logp_old: Float[Tensor, "*batch"],
    advantages: Float[Tensor, "*batch"],
    clip: float | int = 0.2,
    mask: Bool[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Ratio to the policy that wrote, times the advantage, without gain from going far.

    Implements eq-policy-clip::

        ℓ = -min(ρ A, clip(ρ, 1 - ε, 1 + ε) A),   ρ = π(y) / π_old(y)
          = -A min(ρ, 1 + ε) if A ≥ 0,   -A max(ρ, 1 - ε) if A < 0

    The second form is computed, with the bound on log ρ: a ratio that is cut cannot overflow,
    and has the gradient 0.

    Args:
        logp: log π [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        advantages: A.
        clip: ε in (0, 1).
        mask: Where False, the loss is exactly 0 and no gradient passes.

    Returns:
        ℓ, one for each of ``logp``.

    Raises:
        InputError: If the shapes differ or ε is outside (0, 1).
        InputTypeError: If the mask is not boolean.

    References:
        Schulman et al. (2017), arXiv:1707.06347, eq. (7).
    """
    return clipped_surrogate(log_ratio(logp, logp_old, mask), advantages, clip, clip, mask)


def log_ratio(logp: Tensor, logp_old: Tensor, mask: Tensor | None) -> Tensor:
    """Log ρ = log π - log π_old, 0 where nothing counts."""
    require_alike(logp=logp, logp_old=logp_old, mask=mask)
    return counted(logp - logp_old.detach(), mask)


def clipped_surrogate(
    log_rho: Tensor,
    advantages: Tensor,
    clip_low: float | int,
    clip_high: float | int,
    mask: Tensor | None = None,
) -> Tensor:
    """-min(ρ A, clip(ρ, 1 - ε_low, 1 + ε_high) A)."""
    require_alike(ratios=log_rho, advantages=advantages, mask=mask)
    if not (0 < clip_low < 1 and 0 < clip_high < math.inf):
        raise InputError(
            f"the ratio may go {clip_low} below 1 and {clip_high} above: need numbers above 0, "
            "the first below 1"
        )
    A = counted(advantages.detach(), mask)
    gained = log_rho.clamp(max=math.log1p(clip_high))
    lost = log_rho.clamp(min=math.log1p(-clip_low))
    return -A * torch.where(A >= 0, gained, lost).exp()


def value_loss(
    values: Float[Tensor, "*batch"],
    old_values: Float[Tensor, "*batch"],
    returns: Float[Tensor, "*batch"],
    clip: float | int | None = None,
    mask: Bool[Tensor, "*batch"] | None = None,
) -> Float[Tensor, "*batch"]:
    """Squared distance from the values to what came; far from the old values, the worse counts.

    Computes::

        ℓ = ½ max((V - R)², (clip(V, V_old - c, V_old + c) - R)²)

    Args:
        values: V, what is expected before each token.
        old_values: V_old, the same when the texts were written.
        returns: R, what came: advantages + old values.
        clip: c > 0; None = infinity, which leaves ½ (V - R)².
        mask: Where False, the loss is exactly 0 and no gradient passes.

    Returns:
        ℓ, one for each of ``values``.

    Raises:
        InputError: If the shapes differ or c is not positive.
        InputTypeError: If the mask is not boolean.

    References:
        Dhariwal et al. (2017), OpenAI Baselines, ppo2; Huang et al. (2022), The 37
        implementation details of proximal policy optimization.
    """
    require_alike(values=values, old_values=old_values, returns=returns, mask=mask)
    if clip is not None and not clip > 0:
        raise InputError(f"clip={clip} must be positive; None = no clipping")
    V, V_old, R = (counted(x, mask) for x in (values, old_values.detach(), returns.detach()))
    free = (V - R).square()
    if clip is None:
        return free / 2
    near = V_old + (V - V_old).clamp(-clip, clip)
    return torch.maximum(free, (near - R).square()) / 2
