"""Policy-gradient losses: REINFORCE, PPO, GRPO and others that judge a group of samples."""

import math

import torch
from torch import Tensor

from ...checks import require_nonnegative, require_positive
from ...errors import InputError
from ...shapes import Bool, Float
from ..masks import counted, require_alike, require_row_each
from .aggregation import fixed_share_of_each, mean_of_each, sequence_sum
from .kl import kl_k2, kl_k3


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

    Example:
        >>> reinforce_loss(torch.tensor([-1.0]), torch.tensor([2.0]))
        tensor([2.])

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

    Example:
        >>> logp, logp_old = torch.tensor([2.0, 2.0]).log(), torch.zeros(2)  # a ratio of 2
        >>> ppo_loss(logp, logp_old, torch.tensor([1.0, -1.0]))  # clipped once
        tensor([-1.2000,  2.0000])

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
    require_alike(ratios=log_rho, advantages=advantages)  # the mask stood beside the ratios
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

    Example:
        >>> values, returns = torch.tensor([1.0]), torch.tensor([3.0])
        >>> value_loss(values, values, returns)  # 2² / 2
        tensor([2.])

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

    Example:
        >>> logp, mask = torch.full((1, 2), -1.0), torch.ones(1, 2, dtype=torch.bool)
        >>> rloo_loss(logp, torch.tensor([0.5]), mask)  # -A log π of the whole text
        tensor([1.])

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

    Example:
        >>> logp, mask = torch.full((1, 2), -1.0), torch.ones(1, 2, dtype=torch.bool)
        >>> grpo_loss(logp, logp, logp, torch.tensor([0.5]), mask)  # ratios of 1, no divergence
        tensor([-0.5000])

    References:
        Shao et al. (2024), arXiv:2402.03300, eq. (3) and (4).
    """
    require_nonnegative(beta=beta)
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

    Example:
        >>> logp, mask = torch.full((1, 2), -1.0), torch.ones(1, 2, dtype=torch.bool)
        >>> dr_grpo_loss(logp, logp, torch.tensor([2.0]), mask, length=4)  # two tokens of four
        tensor([-1.])

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

    Example:
        >>> logp, mask = torch.tensor([[2.0, 1.0]]).log(), torch.ones(1, 2, dtype=torch.bool)
        >>> dapo_loss(logp, torch.zeros(1, 2), torch.tensor([1.0]), mask)  # clipped at 1.28
        tensor([[-1.2800, -1.0000]])

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

    Example:
        >>> logp, mask = torch.tensor([[4.0, 1.0]]).log(), torch.ones(1, 2, dtype=torch.bool)
        >>> loss = gspo_loss(logp, torch.zeros(1, 2), torch.tensor([-1.0]), mask)
        >>> loss  # one ratio, √(4 · 1), which is not clipped where it is the worse
        tensor([2.])

    References:
        Zheng et al. (2025), arXiv:2507.18071, section 4.1.
    """
    require_row_each(advantages, logp, "advantages")
    log_s = mean_of_each(log_ratio(logp, logp_old, mask), mask)
    return clipped_surrogate(log_s, advantages, clip_low, clip_high)


def cispo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    clip_low: float | int = 1.0,
    clip_high: float | int = 4.0,
) -> Float[Tensor, "B T"]:
    """REINFORCE with the ratio as a weight that is cut: no token loses its gradient.

    Computes::

        ℓ_t = -w_t A log π(y_t),   w_t = clip(ρ_t, 1 - ε_low, 1 + ε_high), held constant
        ∇ℓ_t = -w_t A ∇log π(y_t)

    Where the clipped ratio of PPO has the gradient 0, this one keeps its weight, so that a rare
    token of a good answer is still learned after its ratio has grown. To be averaged over
    all tokens by :func:`token_mean`, with :func:`group_advantages`.

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        advantages: A of each text.
        mask: True where a token counts.
        clip_low: ε_low in (0, 1]; with 1, as published, nothing is cut below.
        clip_high: ε_high above 0.

    Returns:
        ℓ of each token; exactly 0 where none counts. Only its gradient means something.

    Raises:
        InputError: If the shapes do not fit or a number is out of range.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> logp, mask = torch.tensor([[-1.0]]), torch.tensor([[True]])
        >>> logp_old = logp - torch.tensor(2.0).log()  # a ratio of 2
        >>> cispo_loss(logp, logp_old, torch.tensor([1.0]), mask)
        tensor([[2.]])

    References:
        MiniMax (2025), arXiv:2506.13585, on CISPO.
    """
    require_row_each(advantages, logp, "advantages")
    if not (0 < clip_low <= 1 and 0 < clip_high < math.inf):
        raise InputError(
            f"the ratio may go {clip_low} below 1 and {clip_high} above: need numbers above 0, "
            "the first at most 1"
        )
    log_rho = log_ratio(logp, logp_old, mask).detach()
    weight = log_rho.clamp(max=math.log1p(clip_high)).exp().clamp(min=1 - clip_low)
    A = counted(advantages.detach()[:, None].expand_as(logp), mask)
    return -weight * A * counted(logp, mask)


def sapo_loss(
    logp: Float[Tensor, "B T"],
    logp_old: Float[Tensor, "B T"],
    advantages: Float[Tensor, " B"],
    mask: Bool[Tensor, "B T"],
    gate: float | int = 1.0,
    gate_negative: float | int = 1.05,
) -> Float[Tensor, " B"]:
    """A smooth gate in place of the clip: the further a ratio is from 1, the less of it counts.

    Computes::

        ℓ = -1/|y| Σ_t f(ρ_t) A,   f(ρ) = 4/τ σ(τ (ρ - 1)),   τ = τ₊ if A > 0, else τ₋
        f'(ρ) = 1 / cosh²(τ (ρ - 1) / 2): 1 at ρ = 1, and never 0

    A larger τ for answers below the mean lets go of them sooner: their gradient raises all
    tokens that were not written, most of which are wrong too.

    Args:
        logp: log π of each token [nats].
        logp_old: log π_old of the same, under the policy that wrote them.
        advantages: A of each text.
        mask: True where a token counts.
        gate: τ₊ > 0.
        gate_negative: τ₋ > 0.

    Returns:
        ℓ of each text, a mean over its tokens.

    Raises:
        InputError: If the shapes do not fit, a text is empty, or a τ is not positive.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> logp, mask = torch.tensor([[-1.0]]), torch.tensor([[True]])
        >>> sapo_loss(logp, logp, torch.tensor([1.0]), mask)  # -4 σ(0) at a ratio of 1
        tensor([-2.])

    References:
        Gao et al. (2025), arXiv:2511.20347.
    """
    require_row_each(advantages, logp, "advantages")
    require_positive(gate=gate, gate_negative=gate_negative)
    A = advantages.detach()[:, None]
    tau = torch.where(A > 0, float(gate), float(gate_negative)).to(logp.dtype)
    # σ is 1 to the last bit long before a ratio overflows, in 16 bits too
    most = min(80.0, math.log(torch.finfo(logp.dtype).max) - 1)
    rho = log_ratio(logp, logp_old, mask).clamp(max=most).exp()
    surrogate = -4 / tau * (tau * (rho - 1)).sigmoid() * A
    return mean_of_each(surrogate, mask)


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

    Example:
        >>> logp, mask = torch.full((1, 2), -1.0), torch.ones(1, 2, dtype=torch.bool)
        >>> ref = torch.full((1, 2), -2.0)  # a log-ratio of 2 for the whole text
        >>> corrected_grpo_loss(logp, logp, ref, torch.tensor([0.5]), mask, beta=0.1)
        tensor([-0.8000])

    References:
        Tang and Munos (2025), arXiv:2506.09477; Liu et al. (2025), arXiv:2503.20783.
    """
    require_nonnegative(beta=beta)
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
