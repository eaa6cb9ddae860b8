"""Exact gradients of expectations under a policy, in two forms."""

import torch
from torch import Tensor, nn

from ...shapes import Float
from .optimum import require_beta


def policy_gradient(objective: Float[Tensor, ""], model: nn.Module) -> dict[str, Tensor]:
    """Gradient of a number in each trainable weight of a model, by name.

    Args:
        objective: Made from the model, such as the mean of ``World.objective``.
        model: Its weights stay as they are, and so do the gradients they hold.

    Returns:
        Gradients by the weights' names; 0 for a weight that plays no part.
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
    """
    require_beta(beta)
    price = beta * (logp - logp_ref) if beta else torch.zeros_like(logp)
    weight = logp.exp() * (rewards - price - baseline)
    return (weight.detach() * logp).sum(-1)
