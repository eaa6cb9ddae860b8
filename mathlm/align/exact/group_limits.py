"""What large groups do on average: the expected loss of a group method, and where it leads."""

from collections.abc import Callable

import torch
from torch import Tensor

from ...errors import InputError
from ...shapes import Float
from ..policy.kl import kl_k3
from .optimum import expectation, require_beta
from .values import next_token_table
from .world import World

Estimate = Callable[[Tensor, Tensor], Tensor]


def group_limit_loss(
    world: World,
    table: Float[Tensor, "P N V"],
    beta: float | int,
    *,
    estimate: Estimate = kl_k3,
    spread: bool = True,
    mean_of_tokens: bool = True,
) -> Float[Tensor, " P"]:
    """A loss whose gradient is the expected one of a group method, for groups without end.

    Computes::

        Σ_y sg[π(y)] 1/|y| Σ_t [-sg[A(y)] log π(y_t) + β k(y_t)],   A = (r - E_π[r]) / std_π(r)

    sg[·] passes no gradient. So it is GRPO as published, on texts of the policy itself; the
    options undo its parts one by one.

    Args:
        world: Gives reference, rewards and prefixes.
        table: log π(v | s) of every token at every prefix [nats].
        beta: β ≥ 0, weight of the divergence.
        estimate: k, from log π and log π_ref of each token: :func:`kl_k3`, or :func:`kl_k2`.
        spread: Whether rewards are divided by their standard deviation under the policy.
        mean_of_tokens: Whether a text counts by the mean over its tokens, not by their sum.

    Raises:
        InputError: If β is negative or not finite, or the rewards of a prompt do not differ
            under the policy.
    """
    require_beta(beta)
    tree = world.prefixes
    tokens = tree.along(table)
    ref = tree.along(next_token_table(world, world.logp_ref))
    logp = tokens.sum(-1).detach()
    A = world.rewards - expectation(logp, world.rewards)[:, None]
    if spread:
        std = expectation(logp, A.square()).sqrt()[:, None]
        if not (std > 0).all():
            raise InputError("the rewards of a prompt do not differ under the policy")
        A = A / std
    each = beta * estimate(tokens, ref) - A[..., None] * tokens
    of_text = each.where(tree.real, 0.0).sum(-1)
    return expectation(logp, of_text / tree.real.sum(-1) if mean_of_tokens else of_text)


def follow(
    world: World,
    loss: Callable[[Float[Tensor, "P N V"]], Float[Tensor, " P"]],
    start: Float[Tensor, "P Y"],
    *,
    rate: float | int = 0.3,
    close: float = 1e-10,
    most: int = 5000,
) -> Float[Tensor, "P Y"]:
    """Where a policy of free logits at every prefix is led by an expected gradient.

    Computes::

        z(s, v) ← z(s, v) - η ∂loss/∂z(s, v) / (π(s) π(v | s))   until ∂loss/∂z vanishes

    The division, a natural gradient, changes the way and not the end.

    Args:
        world: Gives the prefixes.
        loss: From log π(v | s) to a loss of each prompt, such as :func:`group_limit_loss`.
        start: log π(y) where it begins, such as the reference's.
        rate: η, size of a step.
        close: Largest entry of the gradient that counts as none.
        most: Steps at most.

    Returns:
        log π(y) at the end [nats].

    Raises:
        InputError: If it has not come to rest by then.
    """
    z, tree = next_token_table(world, start), world.prefixes
    for _ in range(most):
        z = z.log_softmax(-1).detach().requires_grad_(True)
        table = z.log_softmax(-1)
        (gradient,) = torch.autograd.grad(loss(table).sum(), z)
        logp = tree.along(table.detach()).sum(-1)
        if gradient.abs().max() < close:
            return logp
        reached = tree.log_sums(logp).exp()[..., None]
        z = z - rate * gradient / (reached * table.exp())
    raise InputError(
        f"the gradient is {gradient.abs().max():.2g} after most={most} steps: lower rate={rate}"
    )
