"""Losses of several answers to one prompt that are judged against each other: (B,) or (B, T).

One function each: they differ in what they divide by, in where the ratio is cut and in how they
keep to the reference. Advantages are one number a text; gradients pass through ``logp`` alone.
"""

from torch import Tensor

from ...shapes import Bool, Float
from ..masks import require_alike, require_row_each, require_weight
from .aggregation import fixed_share_of_each, mean_of_each, sequence_sum
from .kl import kl_k2, kl_k3
from .policy_losses import clipped_surrogate, log_ratio, reinforce_loss


def rloo_loss(
    logp: Float[Tensor, "B T"], advantages: Float[Tensor, " B"], mask: Bool[Tensor, "B T"]
) -> Float[Tensor, " B"]:
    """REINFORCE on whole texts, with the other answers to the prompt as the baseline.

    Computes::

        ℓ = -A log π(y),   log π(y) = Σ_t log π(y_t)
        A_i = r̃_i - 1/(N-1) Σ_{j ≠ i} r̃_j,   r̃ = r - β (log π(y) - log π_ref(y))

    The advantages are :func:`leave_one_out_advantages` of the row sums of
    :func:`rewards_with_kl`. Unbiased on texts of the policy itself.

    Args:
        logp: log π of each token [nats].
        advantages: A of each text.
        mask: True where a token counts.

    Returns:
        ℓ of each text.

    Raises:
        InputError: If the shapes do not fit.
        InputTypeError: If the mask is not boolean.

    References:
        Ahmadian et al. (2024), arXiv:2402.14740, section 2.3.
    """
    require_row_each(advantages, logp, "advantages")
    return reinforce_loss(sequence_sum(logp, mask), advantages)


def grpo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    logp_ref: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    clip: float | int = 0.2,
    beta: float | int = 0.04,
) -> Float[Tensor, " B"]:
    """Clipped ratios and the estimate k₃ of the divergence, averaged over each text's tokens.

    Implements eq-policy-grpo::

        ℓ = 1/|y| Σ_t [-min(ρ_t A, clip(ρ_t, 1 - ε, 1 + ε) A) + β k₃(y_t)]

    As published, with advantages of :func:`group_advantages`. It does not go to the optimum of
    the reward less β KL: the gradient of k₃ belongs to another divergence, token by token, and
    division by |y| and by the spread of the group weigh texts unequally.

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        logp_ref: log π_ref of the same.
        advantages: A of each text.
        mask: True where a token counts.
        clip: ε in (0, 1).
        beta: β ≥ 0, weight of the divergence.

    Returns:
        ℓ of each text, a mean over its tokens.

    Raises:
        InputError: If the shapes do not fit, a text is empty, or a number is out of range.
        InputTypeError: If the mask is not boolean.

    References:
        Shao et al. (2024), arXiv:2402.03300, eq. (3) and (4).
    """
    require_weight(beta=beta)
    surrogate = _token_surrogate(logp, logp_old, advantages, mask, clip, clip)
    return mean_of_each(surrogate + beta * kl_k3(logp, logp_ref.detach(), mask), mask)


def dr_grpo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    length: int,
    clip: float | int = 0.2,
) -> Float[Tensor, " B"]:
    """Clipped ratios, summed and divided by the same length for every text.

    Computes::

        ℓ = 1/L Σ_t -min(ρ_t A, clip(ρ_t, 1 - ε, 1 + ε) A)

    With advantages of :func:`centred_advantages`, which are not divided by the spread.

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        advantages: A of each text.
        mask: True where a token counts.
        length: L, the most tokens that an answer may have [tokens].
        clip: ε in (0, 1).

    Returns:
        ℓ of each text.

    Raises:
        InputError: If the shapes do not fit, a text is longer than L, or ε is out of range.
        InputTypeError: If the mask is not boolean.

    References:
        Liu et al. (2025), arXiv:2503.20783, section 3.2.
    """
    surrogate = _token_surrogate(logp, logp_old, advantages, mask, clip, clip)
    return fixed_share_of_each(surrogate, mask, length)


def dapo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    clip_low: float | int = 0.2,
    clip_high: float | int = 0.28,
) -> Float[Tensor, "B T"]:
    """Clipped ratios with more room above 1 than below, so that rare tokens can become common.

    Computes::

        ℓ_t = -min(ρ_t A, clip(ρ_t, 1 - ε_low, 1 + ε_high) A)

    To be averaged over all tokens by :func:`token_mean`, with :func:`group_advantages` of
    groups whose rewards are not all equal.

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        advantages: A of each text.
        mask: True where a token counts.
        clip_low: ε_low in (0, 1).
        clip_high: ε_high above 0.

    Returns:
        ℓ of each token; exactly 0 where none counts.

    Raises:
        InputError: If the shapes do not fit or a number is out of range.
        InputTypeError: If the mask is not boolean.

    References:
        Yu et al. (2025), arXiv:2503.14476, eq. (8).
    """
    return _token_surrogate(logp, logp_old, advantages, mask, clip_low, clip_high)


def gspo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    clip_low: float | int = 3e-4,
    clip_high: float | int = 4e-4,
) -> Float[Tensor, " B"]:
    """One ratio for a whole text, the geometric mean of its tokens', and clipped as one.

    Computes::

        ℓ = -min(s A, clip(s, 1 - ε_low, 1 + ε_high) A),   s = exp(1/|y| Σ_t log ρ_t)

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        advantages: A of each text.
        mask: True where a token counts.
        clip_low: ε_low in (0, 1).
        clip_high: ε_high above 0.

    Returns:
        ℓ of each text.

    Raises:
        InputError: If the shapes do not fit, a text is empty, or a number is out of range.
        InputTypeError: If the mask is not boolean.

    References:
        Zheng et al. (2025), arXiv:2507.18071, section 4.1.
    """
    require_row_each(advantages, logp, "advantages")
    log_s = mean_of_each(log_ratio(logp, logp_old, mask), mask)
    return clipped_surrogate(log_s, advantages, clip_low, clip_high)


def corrected_grpo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    logp_ref: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    clip: float | int = 0.2,
    beta: float | int = 0.04,
) -> Float[Tensor, " B"]:
    """Clipped ratios, summed, and half the squared log-ratio of whole texts to the reference.

    Computes::

        ℓ = Σ_t -min(ρ_t A, clip(ρ_t, 1 - ε, 1 + ε) A) + β/2 (Σ_t log π(y_t)/π_ref(y_t))²

    With :func:`leave_one_out_advantages` and on texts of the policy itself, its expected
    gradient is that of β KL(π ‖ π_ref) - E_π[r], exactly: no spread, no length, and a
    divergence of texts.

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        logp_ref: log π_ref of the same.
        advantages: A of each text.
        mask: True where a token counts.
        clip: ε in (0, 1).
        beta: β ≥ 0, weight of the divergence.

    Returns:
        ℓ of each text, a sum over its tokens.

    Raises:
        InputError: If the shapes do not fit or a number is out of range.
        InputTypeError: If the mask is not boolean.

    References:
        Tang and Munos (2025), arXiv:2506.09477; Liu et al. (2025), arXiv:2503.20783.
    """
    require_weight(beta=beta)
    require_alike(logp=logp, logp_ref=logp_ref)
    surrogate = _token_surrogate(logp, logp_old, advantages, mask, clip, clip)
    of_text, of_text_ref = sequence_sum(logp, mask), sequence_sum(logp_ref.detach(), mask)
    return sequence_sum(surrogate, mask) + beta * kl_k2(of_text, of_text_ref)


def _token_surrogate(
    logp: Tensor,
    logp_old: Tensor,
    advantages: Tensor,
    mask: Tensor,
    clip_low: float | int,
    clip_high: float | int,
) -> Tensor:
    """-min(ρ A, clip(ρ) A) of each token, with the advantage of its text."""
    require_row_each(advantages, logp, "advantages")
    A = advantages[:, None].expand_as(logp)
    return clipped_surrogate(log_ratio(logp, logp_old, mask), A, clip_low, clip_high, mask)
