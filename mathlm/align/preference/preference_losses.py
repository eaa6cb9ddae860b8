"""Losses on pairs of implicit rewards: a text that was preferred, and one that was not.

An implicit reward says how much more likely a policy makes a text than its reference does. All
losses here read pairs of them, and none reduces over the pairs.

Rewards come from a model, and nothing here looks at their values: what is NaN stays NaN in the
loss of its own pair, reaches no other, and the trainer stops there and names the samples.
Shapes are compared: a column beside a row would become a table of pairs that nobody made.
"""

from torch import Tensor
from torch.nn.functional import logsigmoid, relu

from ...errors import InputError
from ...shapes import Float
from ..masks import require_alike, require_positive


def implicit_reward(
    logp: Float[Tensor, "*batch"], logp_ref: Float[Tensor, "*batch"], beta: float | int
) -> Float[Tensor, "*batch"]:
    """Reward for which the policy would be optimal, up to a number that the prompt fixes.

    Implements eq-pref-implicit::

        r̂(x, y) = β (log π(y | x) - log π_ref(y | x))

    Args:
        logp: log π(y | x), summed over the tokens of y [nats].
        logp_ref: log π_ref(y | x) [nats].
        beta: β > 0, price of a nat of divergence [reward/nat].

    Returns:
        r̂ [reward].

    Raises:
        InputError: If β is not positive and finite, or the shapes differ.

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

    References:
        Lambert et al. (2024), Tülu 3, arXiv:2411.15124, section 5.1.2.
    """
    require_alike(logp=logp, logp_ref=logp_ref, lengths=lengths)
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

    References:
        Rafailov et al. (2023), arXiv:2305.18290, eq. (7).
        Mitchell (2023), A note on DPO with noisy preferences, eq. (3), for ε > 0.
    """
    require_share("label_smoothing", label_smoothing, open_end=False)
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

    References:
        Chowdhury, Kini and Natarajan (2024), arXiv:2403.00409, section 3.1.
    """
    require_share("flip", flip, open_end=True)
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

    References:
        Zhao et al. (2023), SLiC-HF, arXiv:2305.10425, with the log-ratios to a reference of
        Liu et al. (2023), RSO, arXiv:2309.06657, eq. (10).
    """
    return relu(1 - margin_of(reward_chosen, reward_rejected))


def margin_of(reward_chosen: Tensor, reward_rejected: Tensor) -> Tensor:
    """What one reward is above the other, pair by pair."""
    require_alike(reward_chosen=reward_chosen, reward_rejected=reward_rejected)
    return reward_chosen - reward_rejected


def require_share(name: str, value: float | int, *, open_end: bool) -> None:
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


__all__ = [
    "dpo_loss",
    "hinge_loss",
    "implicit_reward",
    "ipo_loss",
    "length_normalized_reward",
    "robust_dpo_loss",
]
