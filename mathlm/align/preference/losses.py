"""Preference losses: DPO, IPO, KTO and others, and those without a reference model."""

import math

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from ...checks import require_nonnegative, require_positive
from ...errors import InputError, InputTypeError
from ...functional import log1mexp
from ...shapes import Bool, Float
from ..masks import require_alike


def implicit_reward(
    logp: Float[Tensor, "*batch"], logp_ref: Float[Tensor, "*batch"], beta: float | int
) -> Float[Tensor, "*batch"]:
    """Reward for which the policy would be optimal, up to a number that the prompt fixes.

    Implements eq-pref-implicit::

        r̂(x, y) = β (log π(y | x) - log π_ref(y | x))

    Args:
        logp: log π(y | x), summed over the tokens of y [nats].
        logp_ref: log π_ref(y | x) [nats].
        beta: β > 0, the KL coefficient [reward/nat].

    Returns:
        r̂ [reward].

    Raises:
        InputError: If β is not positive and finite, or the shapes differ.

    Example:
        >>> implicit_reward(torch.tensor([-1.0]), torch.tensor([-3.0]), beta=0.1)
        tensor([0.2000])

    References:
        Rafailov et al. (2023), arXiv:2305.18290, eq. (5) without its last term.
    """
    require_positive(beta=beta)
    require_alike(logp=logp, logp_ref=logp_ref)
    return beta * (logp - logp_ref)


def length_normalized_reward(
    logp: Float[Tensor, "*batch"],
    logp_ref: Float[Tensor, "*batch"],
    lengths: Tensor,
    beta: float | int,
) -> Float[Tensor, "*batch"]:
    """Implicit reward per token; given to :func:`dpo_loss`, it is length-normalized DPO.

    Implements eq-pref-length::

        r̂(x, y) = β / |y| (log π(y | x) - log π_ref(y | x))

    Args:
        logp: log π(y | x), summed over the tokens of y [nats].
        logp_ref: log π_ref(y | x) [nats].
        lengths: |y|, at least 1 [tokens].
        beta: β > 0.

    Returns:
        r̂ [reward/token].

    Raises:
        InputError: If β is not positive and finite, a length is below 1, or the shapes differ.

    Example:
        >>> logp, logp_ref = torch.tensor([-2.0]), torch.tensor([-6.0])
        >>> length_normalized_reward(logp, logp_ref, torch.tensor([4]), beta=0.5)
        tensor([0.5000])

    References:
        Lambert et al. (2024), Tülu 3, arXiv:2411.15124, section 5.1.2.
    """
    require_alike(logp=logp, lengths=lengths)
    require_lengths(lengths)
    return implicit_reward(logp, logp_ref, beta) / lengths


def dpo_loss(
    reward_chosen: Float[Tensor, "*batch"],
    reward_rejected: Float[Tensor, "*batch"],
    label_smoothing: float | int = 0.0,
) -> Float[Tensor, "*batch"]:
    """Surprise that the chosen text was preferred, if rewards decide as Bradley and Terry say.

    Implements eq-pref-dpo::

        ℓ = -(1 - ε) log σ(m) - ε log σ(-m),   m = r̂(chosen) - r̂(rejected)

    Its gradient in m is ε - σ(-m): the probability of error, less the share of errors that is
    expected. With ε > 0, conservative DPO, it is 0 at a finite margin, m = log((1 - ε)/ε).

    Args:
        reward_chosen: r̂ of the text that was preferred, see :func:`implicit_reward`.
        reward_rejected: r̂ of the other.
        label_smoothing: ε in 0..1/2, share of the labels that are taken to be wrong.

    Returns:
        ℓ [nats] for each pair.

    Raises:
        InputError: If ε is out of range, or the shapes differ.

    Example:
        >>> dpo_loss(torch.tensor([0.0]), torch.tensor([0.0]))  # ln 2, where every run begins
        tensor([0.6931])
        >>> dpo_loss(torch.tensor([3.0]).log(), torch.tensor([0.0]))  # -ln σ(ln 3) = ln 4/3
        tensor([0.2877])

    References:
        Rafailov et al. (2023), arXiv:2305.18290, eq. (7).
        Mitchell (2023), A note on DPO with noisy preferences, eq. (3), for ε > 0.
    """
    require_below_half("label_smoothing", label_smoothing, open_end=False)
    margin = margin_of(reward_chosen, reward_rejected)
    return -(1 - label_smoothing) * logsigmoid(margin) - label_smoothing * logsigmoid(-margin)


def robust_dpo_loss(
    reward_chosen: Float[Tensor, "*batch"],
    reward_rejected: Float[Tensor, "*batch"],
    flip: float | int,
) -> Float[Tensor, "*batch"]:
    """What DPO's loss would be without flipped labels, on average over which are flipped.

    Implements eq-pref-robust::

        ℓ = (-(1 - ε) log σ(m) + ε log σ(-m)) / (1 - 2 ε),   m = r̂(chosen) - r̂(rejected)

    If each label is flipped with probability ε, its mean is :func:`dpo_loss` of the true label.
    It has no lower bound in m, as log σ(-m) has none.

    Args:
        reward_chosen: r̂ of the text that was preferred, see :func:`implicit_reward`.
        reward_rejected: r̂ of the other.
        flip: ε, at least 0 and below 1/2.

    Returns:
        ℓ [nats] for each pair; may be negative.

    Raises:
        InputError: If ε is out of range, or the shapes differ.

    Example:
        >>> zero = torch.zeros(1)
        >>> robust_dpo_loss(zero, zero, flip=0.1)  # ln 2, as dpo_loss
        tensor([0.6931])

    References:
        Chowdhury, Kini and Natarajan (2024), arXiv:2403.00409, section 3.1.
    """
    require_below_half("flip", flip, open_end=True)
    margin = margin_of(reward_chosen, reward_rejected)
    return (-(1 - flip) * logsigmoid(margin) + flip * logsigmoid(-margin)) / (1 - 2 * flip)


def ipo_loss(
    reward_chosen: Float[Tensor, "*batch"],
    reward_rejected: Float[Tensor, "*batch"],
    beta: float | int,
) -> Float[Tensor, "*batch"]:
    """Squared distance of the log-ratios' difference from a margin that is large enough.

    Implements eq-pref-ipo::

        ℓ = (h - 1/(2 β))²,   h = (r̂(chosen) - r̂(rejected)) / β

    Args:
        reward_chosen: r̂ of the text that was preferred, made with the same β.
        reward_rejected: r̂ of the other.
        beta: β > 0; τ in the paper.

    Returns:
        ℓ [nats²] for each pair.

    Raises:
        InputError: If β is not positive and finite, or the shapes differ.

    Example:
        >>> ipo_loss(torch.tensor([0.0]), torch.tensor([0.0]), beta=0.5)  # (0 - 1)²
        tensor([1.])

    References:
        Azar et al. (2023), arXiv:2310.12036, eq. (17).
    """
    require_positive(beta=beta)
    h = margin_of(reward_chosen, reward_rejected) / beta
    return (h - 1 / (2 * beta)).square()


def hinge_loss(
    reward_chosen: Float[Tensor, "*batch"], reward_rejected: Float[Tensor, "*batch"]
) -> Float[Tensor, "*batch"]:
    """How far the margin is from 1, and nothing beyond.

    Implements eq-pref-ipo::

        ℓ = max(0, 1 - (r̂(chosen) - r̂(rejected)))

    Args:
        reward_chosen: r̂ of the text that was preferred, see :func:`implicit_reward`.
        reward_rejected: r̂ of the other.

    Returns:
        ℓ [reward] for each pair.

    Raises:
        InputError: If the shapes differ.

    Example:
        >>> hinge_loss(torch.tensor([0.25, 2.0]), torch.tensor([0.0, 0.0]))
        tensor([0.7500, 0.0000])

    References:
        Zhao et al. (2023), SLiC-HF, arXiv:2305.10425, with the log-ratios to a reference of
        Liu et al. (2023), RSO, arXiv:2309.06657, eq. (10).
    """
    return relu(1 - margin_of(reward_chosen, reward_rejected))


def margin_of(reward_chosen: Tensor, reward_rejected: Tensor) -> Tensor:
    """What one reward is above the other, pair by pair."""
    require_alike(reward_chosen=reward_chosen, reward_rejected=reward_rejected)
    return reward_chosen - reward_rejected


def require_below_half(name: str, value: float | int, *, open_end: bool) -> None:
    """Refuse what is no share of wrong labels; from 1/2 on they tell nothing."""
    if not 0 <= value <= 0.5 or (open_end and value == 0.5):
        end = "below" if open_end else "at most"
        raise InputError(f"{name}={value} must be at least 0 and {end} 0.5")


def require_lengths(lengths: Tensor) -> None:
    """Refuse texts without a token."""
    if not (lengths >= 1).all():
        where = (~(lengths >= 1)).nonzero()[0].tolist()
        raise InputError(
            f"the text at {where} has {lengths[tuple(where)].item()} tokens; expected 1 or more"
        )


ROUNDING = 1e-5  # nats by which a log-probability may lie above 0


def log_odds(mean_logp: Float[Tensor, "*batch"]) -> Float[Tensor, "*batch"]:
    """Log of the odds of a text, whose probability is the geometric mean of its tokens'.

    Computes::

        log(p / (1 - p)) = log p - log(1 - p),   log p = log π(y | x) / |y|

    Args:
        mean_logp: log p, below 0 [nats/token].

    Raises:
        InputError: If an entry is not below 0: the odds of what is certain are infinite.

    Example:
        >>> log_odds(torch.tensor([0.75]).log())  # ln 3
        tensor([1.0986])

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

    Example:
        >>> half = torch.tensor([0.5]).log()
        >>> orpo_loss(half, half, weight=1.0)  # ln 2 + ln 2
        tensor([1.3863])

    References:
        Hong, Lee and Thorne (2024), arXiv:2403.07691, eq. (6) and (7).
    """
    require_nonnegative(weight=weight)
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

    Example:
        >>> same = torch.tensor([-1.0])
        >>> simpo_loss(same, same, gamma=0.0)  # ln 2
        tensor([0.6931])

    References:
        Meng, Xia and Chen (2024), arXiv:2405.14734, eq. (6).
    """
    require_positive(beta=beta)
    require_nonnegative(gamma=gamma)
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

    Example:
        >>> kto_loss(torch.zeros(2), torch.tensor([True, False]), kl=0.0, beta=0.1)  # 1 - σ(0)
        tensor([0.5000, 0.5000])

    References:
        Ethayarajh et al. (2024), arXiv:2402.01306, section 4.1, L_KTO.
    """
    require_positive(beta=beta)
    require_nonnegative(
        desirable_weight=desirable_weight, undesirable_weight=undesirable_weight
    )
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

        max(0, mean over i of log π(y_j | x_i) - log π_ref(y_j | x_i))

    where y_j, such as that of the next row, was given to another prompt than x_i.
    It is no unbiased estimate: the texts were not written by the policy. It needs no rollout.

    Args:
        logp: Log-probability of the text behind a prompt that is not its own [nats].
        logp_ref: The same under the reference.

    Returns:
        The estimate [nats], without gradient.

    Raises:
        InputError: If there are no texts, or the shapes differ.

    Example:
        >>> mismatched_kl(torch.tensor([-1.0, -2.0]), torch.tensor([-2.0, -2.0]))
        tensor(0.5000)

    References:
        Ethayarajh et al. (2024), arXiv:2402.01306, section 4.1.
    """
    if not len(logp):
        raise InputError("there are no texts to estimate the divergence from")
    require_alike(logp=logp, logp_ref=logp_ref)
    return (logp - logp_ref).mean().clamp(min=0).detach()
