"""Numbers of a distribution over listed completions, and the distribution that is best."""

import math
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from ...errors import InputError
from ...shapes import Float


@dataclass(frozen=True, eq=False)
class Optimum:
    """The best policy for a reward and a KL coefficient.

    Attributes:
        beta: β, the KL coefficient [reward/nat].
        logp: log π*(y), (P, Y) [nats].
        value: What it reaches, E[r] - β KL = β log Z, (P,).
        reward: E[r] under it, (P,).
        kl: KL(π* ‖ π_ref), (P,) [nats].
    """

    beta: float
    logp: Float[Tensor, "P Y"]
    value: Float[Tensor, " P"]
    reward: Float[Tensor, " P"]
    kl: Float[Tensor, " P"]


def expectation(logp: Float[Tensor, "P Y"], f: Float[Tensor, "P Y"]) -> Float[Tensor, " P"]:
    """Exact mean of a number of each completion.

    Computes::

        E[f] = Σ_y π(y) f(y)

    Args:
        logp: log π(y) [nats]; -∞ = never, and f does not count there.
        f: Any number of each completion.

    Example:
        >>> logp, f = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 3.0]])
        >>> expectation(logp, f).round(decimals=4)
        tensor([2.])
    """
    never = logp == -math.inf
    return (logp.exp() * f.masked_fill(never, 0.0)).sum(-1)


def divergence(logp: Float[Tensor, "P Y"], other: Float[Tensor, "P Y"]) -> Float[Tensor, " P"]:
    """Exact KL(π ‖ other) over the listed completions.

    Computes::

        KL(π ‖ q) = Σ_y π(y) (log π(y) - log q(y))

    Args:
        logp: log π(y) [nats]; -∞ = never.
        other: log q(y) [nats].

    Returns:
        (P,) [nats]; infinite where q never says what π says.

    Example:
        >>> one, both = torch.tensor([[0.0, -torch.inf]]), torch.tensor([[0.5, 0.5]]).log()
        >>> divergence(one, both), divergence(both, one)  # ln 2
        (tensor([0.6931]), tensor([inf]))
    """
    gap = logp - other.where(logp > -math.inf, 0.0)
    off = gap == math.inf  # however seldom: π(y) itself may be too small for its format
    return expectation(logp, gap.masked_fill(off, 0.0)).masked_fill(off.any(-1), math.inf)


def regularized_reward(
    logp: Float[Tensor, "P Y"],
    logp_ref: Float[Tensor, "P Y"],
    rewards: Float[Tensor, "P Y"],
    beta: float | int,
) -> Float[Tensor, " P"]:
    """What alignment maximizes: mean reward less β times the divergence from the reference.

    Implements eq-policy-gap::

        J(π) = E_π[r] - β KL(π ‖ π_ref) = β log Z - β KL(π ‖ π*)

    Args:
        logp: log π(y) [nats].
        logp_ref: log π_ref(y) [nats].
        rewards: r(y).
        beta: β ≥ 0 [reward/nat].

    Example:
        >>> logp, logp_ref = torch.tensor([[0.0, -torch.inf]]), torch.tensor([[0.5, 0.5]]).log()
        >>> regularized_reward(logp, logp_ref, torch.tensor([[2.0, 5.0]]), beta=1.0)  # 2 - ln 2
        tensor([1.3069])
    """
    require_beta(beta)
    reward = expectation(logp, rewards)
    return reward if beta == 0 else reward - beta * divergence(logp, logp_ref)


def tilted_optimum(
    logp_ref: Float[Tensor, "P Y"], rewards: Float[Tensor, "P Y"], beta: float | int
) -> Optimum:
    """The reference, tilted by the reward: the policy that no other betters.

    Implements eq-policy-optimum::

        π*(y) = π_ref(y) exp(r(y) / β) / Z,   Z = Σ_y π_ref(y) exp(r(y) / β)
        E[r] - β KL(π* ‖ π_ref) = β log Z

    β = 0 is the limit in which only the best rewards are left, as the reference weighs them;
    β = ∞ that in which the policy is the reference.

    Args:
        logp_ref: log π_ref(y) [nats]; -∞ where the reference never goes, nor the optimum.
        rewards: r(y), finite.
        beta: β, from 0 to ∞ [reward/nat].

    Returns:
        The optimum and its numbers, for each prompt.

    Raises:
        InputError: If β is negative or NaN, or a reward is not finite.

    Example:
        >>> logp_ref, rewards = torch.tensor([[[0.5, 0.5]], [[1.0, 3.0]]]).log()
        >>> best = tilted_optimum(logp_ref, rewards, beta=1.0)
        >>> best.logp.exp(), best.value  # as 1 to 3, and ln 2
        (tensor([[0.2500, 0.7500]]), tensor([0.6931]))
    """
    require_beta(beta, infinite=True)
    if not rewards.isfinite().all():
        raise InputError("a reward is NaN or infinite: the optimum needs finite ones")
    logp = _tilted(logp_ref, rewards, beta)
    reward, kl = expectation(logp, rewards), divergence(logp, logp_ref)
    if is_large(beta, logp_ref, rewards):
        value = large_beta_value(logp_ref, rewards, beta)
    else:
        value = reward if beta in (0, math.inf) else reward - beta * kl
    return Optimum(float(beta), logp, value, reward, kl)


def is_large(beta: float | int, logp_ref: Tensor, rewards: Tensor) -> bool:
    """Whether β is so far above the spread of the rewards that β log Z is mostly rounding."""
    never = logp_ref == -math.inf
    lowest, highest = (
        rewards.masked_fill(never, math.inf),
        rewards.masked_fill(never, -math.inf),
    )
    return 1000 * float((highest.amax(-1) - lowest.amin(-1)).max()) < beta < math.inf


def large_beta_value(logp_ref: Tensor, rewards: Tensor, beta: float | int) -> Tensor:
    """β log Z = E[r] + β log E[exp((r - E[r]) / β)]: no β times a rounding error."""
    p, never = logp_ref.softmax(-1), logp_ref == -math.inf
    mean = (p * rewards.masked_fill(never, 0.0)).sum(-1, keepdim=True)
    gap = (rewards - mean).masked_fill(never, 0.0)
    return mean.squeeze(-1) + beta * (p * (gap / beta).expm1()).sum(-1).log1p()


def _tilted(logp_ref: Tensor, rewards: Tensor, beta: float | int) -> Tensor:
    """Logarithm of π*."""
    if beta == math.inf:
        return logp_ref - logp_ref.logsumexp(-1, keepdim=True)
    reachable = rewards.masked_fill(logp_ref == -math.inf, -math.inf)
    gap = rewards - reachable.amax(-1, keepdim=True)  # 0 at the best
    best = torch.zeros_like(gap).masked_fill(gap != 0, -math.inf)
    tilt = best if beta == 0 else gap / beta
    scores = logp_ref + tilt.where(logp_ref > -math.inf, 0.0)
    return scores - scores.logsumexp(-1, keepdim=True)


def require_beta(beta: float | int, infinite: bool = False) -> None:
    """Refuse a KL coefficient below 0, and an infinite one where it has no meaning."""
    if not 0 <= beta <= math.inf or (beta == math.inf and not infinite):
        raise InputError(f"beta={beta} must be at least 0" + ("" if infinite else ", finite"))


def policy_gradient(objective: Float[Tensor, ""], model: nn.Module) -> dict[str, Tensor]:
    """Gradient of a number in each trainable weight of a model, by name.

    Args:
        objective: Made from the model, such as the mean of ``World.objective``.
        model: Its weights stay as they are, and so do the gradients they hold.

    Returns:
        Gradients by the weights' names; 0 for a weight that plays no part.

    Example:
        >>> model = torch.nn.Linear(2, 1)
        >>> policy_gradient(3 * model.weight.sum(), model)
        {'weight': tensor([[3., 3.]]), 'bias': tensor([0.])}
    """
    weights = {name: w for name, w in model.named_parameters() if w.requires_grad}
    grads = torch.autograd.grad(objective, list(weights.values()), allow_unused=True)
    pairs = zip(weights.items(), grads, strict=True)
    return {name: torch.zeros_like(w) if g is None else g for (name, w), g in pairs}


def score_function_objective(
    logp: Float[Tensor, "P Y"],
    logp_ref: Float[Tensor, "P Y"],
    rewards: Float[Tensor, "P Y"],
    beta: float | int,
    baseline: float | int | Float[Tensor, "P 1"] = 0.0,
) -> Float[Tensor, " P"]:
    """A number whose gradient is the policy gradient, as samples estimate it.

    Implements eq-policy-modified::

        Σ_y sg[π(y) (r(y) - β log(π(y) / π_ref(y)) - b)] log π(y)
        ∇ = E_π[(r - β log(π / π_ref) - b) ∇log π] = ∇(E_π[r] - β KL(π ‖ π_ref))

    sg[·] passes no gradient; the value itself means nothing. The baseline changes nothing in
    the mean, as E_π[∇log π] = 0.

    Args:
        logp: log π(y) [nats].
        logp_ref: log π_ref(y) [nats].
        rewards: r(y).
        beta: β ≥ 0 [reward/nat].
        baseline: b, of each prompt.

    Example:
        >>> z = torch.zeros(1, 2, requires_grad=True)
        >>> logp, rewards = z.log_softmax(-1), torch.tensor([[1.0, 3.0]])
        >>> score_function_objective(logp, logp.detach(), rewards, beta=1.0).sum().backward()
        >>> z.grad  # π (r - E[r])
        tensor([[-0.5000,  0.5000]])
    """
    require_beta(beta)
    penalty = beta * (logp - logp_ref) if beta else torch.zeros_like(logp)
    weight = logp.exp() * (rewards - penalty - baseline)
    return (weight.detach() * logp).sum(-1)
