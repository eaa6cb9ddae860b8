"""How much better an answer, or a token of it, did than was to be expected."""

import math

import torch
from torch import Tensor

from ...checks import require_nonnegative, require_positive, require_share
from ...errors import InputError
from ...shapes import Bool, Float
from ..masks import counted, require_alike, require_finite, require_row_each

GROUP_EPS = 1e-4  # below it a spread of rewards is taken for noise


def gae(
    rewards: Float[Tensor, "B T"],
    values: Float[Tensor, "B T"],
    gamma: float | int,
    lam: float | int,
    last_value: Float[Tensor, " B"] | float | int = 0.0,
    mask: Bool[Tensor, "B T"] | None = None,
) -> Float[Tensor, "B T"]:
    """Generalised advantage of each token: what came, beyond what the values said would come.

    Implements eq-policy-gae::

        δ_t = r_t + γ V_{t+1} - V_t
        A_t = Σ_{k ≥ 0} (γλ)^k δ_{t+k} = δ_t + γλ A_{t+1}

    t counts the tokens that the mask counts: others are skipped, be they before, between or
    behind. What follows the last of them is worth ``last_value``: 0 if the text ended there,
    the value of where it broke off if it was cut.

    Args:
        rewards: r, what came with each token.
        values: V, what was expected before each token was chosen.
        gamma: γ, what a reward loses for each token it comes later, in [0, 1].
        lam: λ in [0, 1]: 0 trusts the values, 1 trusts nothing but the rewards.
        last_value: Worth of what follows the last token: one number, or one a sequence.
        mask: True where a token was chosen; None = everywhere.

    Returns:
        A; exactly 0 where nothing was chosen.

    Raises:
        InputError: If shapes differ, γ or λ is outside 0..1, or a number that counts is NaN or
            infinite.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> gae(torch.tensor([[0.0, 0.0, 1.0]]), torch.zeros(1, 3), gamma=1.0, lam=0.5)
        tensor([[0.2500, 0.5000, 1.0000]])

    References:
        Schulman et al. (2016), arXiv:1506.02438, eq. (16).
    """
    require_alike(rewards=rewards, values=values, mask=mask)
    require_share(gamma=gamma, lam=lam)
    rewards, values = counted(rewards, mask), counted(values, mask)
    after = _last_value(last_value, values)
    for name, x in (("reward", rewards), ("value", values)):
        require_finite(x, name, "row", "position")
    later, steps = torch.zeros_like(after), []
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + gamma * after - values[:, t]
        here = delta + gamma * lam * later
        chosen = None if mask is None else mask[:, t]
        later, after = _if(chosen, here, later), _if(chosen, values[:, t], after)
        steps.append(counted(here, chosen))
    return torch.stack(steps[::-1], 1) if steps else torch.zeros_like(rewards)


def _if(chosen: Tensor | None, new: Tensor, old: Tensor) -> Tensor:
    return new if chosen is None else torch.where(chosen, new, old)


def _last_value(last_value: Tensor | float | int, values: Tensor) -> Tensor:
    """One number for each row."""
    if isinstance(last_value, Tensor):
        require_row_each(last_value, values, "last_value")
        require_finite(last_value, "last value", "row")
        return last_value.to(values)
    if not math.isfinite(last_value):
        raise InputError(f"last_value={last_value} must be a finite number")
    return values.new_full(values.shape[:1], float(last_value))


def returns(
    rewards: Float[Tensor, "B T"],
    gamma: float | int = 1.0,
    last_value: Float[Tensor, " B"] | float | int = 0.0,
    mask: Bool[Tensor, "B T"] | None = None,
) -> Float[Tensor, "B T"]:
    """What is still to come from each token on.

    Computes::

        R_t = Σ_{k ≥ 0} γ^k r_{t+k} + γ^n · last_value   with n tokens from t on

    Args:
        rewards: r, what came with each token.
        gamma: γ in [0, 1].
        last_value: Worth of what follows the last token: one number, or one a sequence.
        mask: True where a token was chosen; None = everywhere.

    Returns:
        R; exactly 0 where nothing was chosen.

    Raises:
        InputError, InputTypeError: As :func:`gae`.

    Example:
        >>> returns(torch.tensor([[0.0, 0.0, 1.0]]), gamma=0.5)
        tensor([[0.2500, 0.5000, 1.0000]])
    """
    return gae(rewards, torch.zeros_like(rewards), gamma, 1.0, last_value, mask)


def rewards_with_kl(
    rewards: Float[Tensor, " B"],
    logp: Float[Tensor, "B T"],
    logp_ref: Float[Tensor, "B T"],
    mask: Bool[Tensor, "B T"],
    beta: float | int,
) -> Float[Tensor, "B T"]:
    """Reward of each token: its share of the divergence is paid at once, the text's at its end.

    Computes::

        r_t = -β (log π(y_t) - log π_ref(y_t)) + [t is the last token] r(x, y)

    Their sum is r(x, y) - β k₁, whose expectation is the regularised reward. Gradients do not
    pass: rewards are numbers.

    Args:
        rewards: r(x, y) of each text.
        logp: log π of its tokens under the policy that wrote it [nats].
        logp_ref: log π_ref of the same.
        mask: True where a token was written.
        beta: β ≥ 0 [1/nat].

    Returns:
        r_t; exactly 0 where nothing was written.

    Raises:
        InputError: If shapes differ, a reward is not finite, β is negative, or a text is empty.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> logp, logp_ref = torch.tensor([[-1.0, -1.0]]), torch.tensor([[-2.0, -1.0]])
        >>> mask = torch.ones(1, 2, dtype=torch.bool)
        >>> rewards_with_kl(torch.tensor([1.0]), logp, logp_ref, mask, beta=0.1)
        tensor([[-0.1000,  1.0000]])

    References:
        Ziegler et al. (2019), arXiv:1909.08593, eq. (2).
    """
    require_alike(logp=logp, logp_ref=logp_ref, mask=mask)
    require_row_each(rewards, logp, "rewards")
    require_finite(rewards, "reward", "sample")
    require_nonnegative(beta=beta)
    if not mask.any(1).all():
        row = int((~mask.any(1)).nonzero()[0])
        raise InputError(f"text {row} has no token to carry its reward; leave it out")
    last = mask & (mask.cumsum(1) == mask.sum(1, keepdim=True))
    paid = counted(beta * (logp_ref - logp), mask).detach()
    return paid + torch.where(last, rewards.detach()[:, None], 0.0)


def group_advantages(
    rewards: Float[Tensor, "G N"], correction: int = 0, eps: float | int = GROUP_EPS
) -> Float[Tensor, "G N"]:
    """Rewards of answers to one prompt, centred and divided by their spread.

    Implements eq-policy-group::

        A_i = (r_i - mean r) / (std r + ε)   over the N samples of a group, std with 1/(N - c)

    Equal rewards give exactly 0. ε = 1e-4 decides what is noise: rewards that differ by 1e-9
    give advantages of 1e-5 at most and not of 1, and a spread of 1e-4 counts by half. With
    rewards of 0 and 1 and N ≥ 4, division by the spread gives questions that are nearly always
    or nearly never answered well more weight than those in between.

    Args:
        rewards: N ≥ 2 samples of each of G prompts.
        correction: c: 0 for the spread of the group, 1 for that of a sample, the default of
            ``torch.std``, which libraries use.
        eps: ε > 0 [reward].

    Returns:
        A, with mean 0 in each group.

    Raises:
        InputError: If a group has one sample, a reward is NaN or infinite, c is neither 0 nor
            1, or ε is not positive.

    Example:
        >>> group_advantages(torch.tensor([[0.0, 0.0, 1.0, 1.0]])).round(decimals=3)
        tensor([[-1., -1.,  1.,  1.]])

    References:
        Shao et al. (2024), arXiv:2402.03300, section 4.1.2.
    """
    require_positive(eps=eps)
    if correction not in (0, 1):
        raise InputError(f"correction={correction} must be 0 (1/N) or 1 (1/(N - 1))")
    centred = centred_advantages(rewards)
    squares = centred.square().sum(1, keepdim=True)
    return centred / ((squares / (rewards.shape[1] - correction)).sqrt() + eps)


def centred_advantages(rewards: Float[Tensor, "G N"]) -> Float[Tensor, "G N"]:
    """Rewards of answers to one prompt, less their mean.

    Computes::

        A_i = r_i - mean r   over the N samples of a group

    Its gradient is that of the mean reward times (N - 1)/N, for each reward stands in its own
    baseline.

    Args:
        rewards: N ≥ 2 samples of each of G prompts.

    Returns:
        A, with mean 0 in each group; exactly 0 where the rewards of a group are equal.

    Raises:
        InputError: As :func:`group_advantages`.

    Example:
        >>> centred_advantages(torch.tensor([[1.0, 3.0]]))
        tensor([[-1.,  1.]])

    References:
        Liu et al. (2025), arXiv:2503.20783.
    """
    if rewards.shape[1] < 2:
        raise InputError(
            f"groups have {rewards.shape[1]} sample: an advantage is relative to others; draw "
            "at least 2 samples of each prompt"
        )
    require_finite(rewards, "reward", "group", "sample")
    above = rewards - rewards[:, :1]  # exactly 0 if all are equal, so that the mean is, too
    return above - above.mean(1, keepdim=True)


def leave_one_out_advantages(rewards: Float[Tensor, "G N"]) -> Float[Tensor, "G N"]:
    """Rewards of answers to one prompt, less the mean of the other answers.

    Implements eq-policy-loo::

        A_i = r_i - 1/(N-1) Σ_{j ≠ i} r_j = N/(N-1) (r_i - mean r)

    The baseline does not depend on sample i, so the gradient is unbiased.

    Args:
        rewards: N ≥ 2 samples of each of G prompts.

    Returns:
        A, with mean 0 in each group.

    Raises:
        InputError: As :func:`group_advantages`.

    Example:
        >>> leave_one_out_advantages(torch.tensor([[1.0, 3.0]]))
        tensor([[-2.,  2.]])

    References:
        Kool, van Hoof and Welling (2019), Buy 4 REINFORCE samples, get a baseline for free.
        Ahmadian et al. (2024), arXiv:2402.14740.
    """
    N = rewards.shape[1]
    return centred_advantages(rewards) * (N / max(1, N - 1))


def maxrl_advantages(rewards: Float[Tensor, "G N"]) -> Float[Tensor, "G N"]:
    """Rewards of 0 or 1, less their mean and divided by it: maximum likelihood of success.

    Computes::

        A_i = (r_i - mean r) / mean r   over the N samples of a group; 0 if none succeeds
        E[1/N Σ_i A_i ∇log π(y_i)] = (1 + (1 - p) + … + (1 - p)^(N-2)) ∇p
                                   → ∇p / p = ∇log p   for many samples,   p = E_π[r]

    The mean reward has the gradient ∇p, so a prompt counts by how fast it improves; log p
    divides that by p, so prompts that are hardly ever answered count most. This form climbs the
    series -Σ_k (1 - p)^k / k of log p to its order N - 1; it would be N, as in the paper's
    theorem, with advantages of -1 in the groups that are skipped here.

    Args:
        rewards: N ≥ 2 samples of each of G prompts, each 0 or 1.

    Returns:
        A, with mean 0 in each group; exactly 0 where none or all succeed.

    Raises:
        InputError: As :func:`group_advantages`, or if a reward is neither 0 nor 1.

    Example:
        >>> maxrl_advantages(torch.tensor([[0.0, 0.0, 0.0, 1.0]]))  # (r - 1/4) / (1/4)
        tensor([[-1., -1., -1.,  3.]])

    References:
        Tajwar et al. (2026), arXiv:2602.02710, section 4.
    """
    centred = centred_advantages(rewards)
    other = (rewards != 0) & (rewards != 1)
    if other.any():
        group, sample = other.nonzero()[0].tolist()
        raise InputError(
            f"reward of group {group}, sample {sample} is {rewards[group, sample].item():g}: "
            "the likelihood of success needs rewards of 0 and 1; use group_advantages"
        )
    return centred / rewards.mean(1, keepdim=True).clamp(min=1 / rewards.shape[1])


def gdpo_advantages(
    rewards: Float[Tensor, "R G N"],
    weights: Float[Tensor, " R"] | None = None,
    eps: float | int = GROUP_EPS,
) -> Float[Tensor, "G N"]:
    """Several rewards, each judged against its own group before they are added.

    Computes::

        A = whiten(Σ_k w_k A^(k)),   A^(k) = group_advantages(r^(k))

    The group advantage of a sum cannot tell which reward was earned: with two rewards of 0 or
    1, a group with totals 0 and 1 and one with totals 0 and 2 have the same advantages. Here
    the second group counts twice as much, and a reward of small spread as much as one of large
    spread.

    Args:
        rewards: R rewards of N ≥ 2 samples of each of G prompts.
        weights: w, one for each reward; None = 1.
        eps: ε > 0 of :func:`group_advantages` [reward].

    Returns:
        A, with mean 0 and spread 1 over the batch; exactly 0 if all rewards are equal.

    Raises:
        InputError: As :func:`group_advantages`, or if there is not one weight for each reward.

    Example:
        >>> gdpo_advantages(torch.tensor([[[0.0, 0.0, 1.0, 1.0]]])).round(decimals=3)
        tensor([[-1., -1.,  1.,  1.]])

    References:
        Liu et al. (2026), arXiv:2601.05242.
    """
    if rewards.ndim != 3 or (weights is not None and weights.shape != rewards.shape[:1]):
        found = None if weights is None else tuple(weights.shape)
        raise InputError(
            f"rewards have shape {tuple(rewards.shape)} and weights {found}: expected "
            "(R, G, N), reward by prompt by sample, and (R,)"
        )
    parts = torch.stack([group_advantages(one, eps=eps) for one in rewards])
    w = rewards.new_ones(len(rewards)) if weights is None else weights.to(rewards)
    return whiten((w[:, None, None] * parts).sum(0))


WHITEN_EPS = 1e-4  # as for groups: below it a spread is taken for noise


def whiten(
    x: Float[Tensor, "*batch"], mask: Bool[Tensor, "*batch"] | None = None
) -> Float[Tensor, "*batch"]:
    """Numbers less their mean, divided by their spread, over all that count.

    Computes::

        (x - mean x) / (std x + 1e-4),   std with 1/n

    Equal numbers give exactly 0.

    Args:
        x: Such as the advantages of all tokens of a batch.
        mask: True where a number counts; None = everywhere.

    Returns:
        Mean 0 and spread 1 (but for the 1e-4) over what counts; exactly 0 elsewhere.

    Raises:
        InputError: If less than two numbers count, one is NaN or infinite, or shapes differ.
        InputTypeError: If the mask is not boolean.

    Example:
        >>> whiten(torch.tensor([1.0, 3.0])).round(decimals=3)
        tensor([-1.,  1.])
    """
    require_alike(x=x, mask=mask)
    chosen = x.flatten() if mask is None else x[mask]
    if len(chosen) < 2:
        raise InputError(f"{len(chosen)} number counts: a spread needs at least two")
    require_finite(chosen, "number", "entry")
    mean = chosen[0] + (chosen - chosen[0]).mean()  # exact if all are equal
    std = (chosen - mean).square().mean().sqrt()
    return counted(x - mean, mask) / (std + WHITEN_EPS)
