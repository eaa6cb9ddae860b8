"""Where methods of groups come to rest: policies at which their expected gradient is zero."""

from collections.abc import Callable

import torch
from torch import Tensor

from ...checks import require_positive
from ...errors import InputError
from ...shapes import Float
from ..policy.kl import kl_k3
from .optimum import expectation, require_beta
from .values import next_token_table
from .world import World

HALVINGS = 100  # of the interval that holds λ: float64 has 53 digits
ROUNDS = 2000  # of the search for a spread
CLOSE = 1e-12  # relative change of a spread that is none

Tilt = Callable[[Tensor, Tensor, float | int], Tensor]


def forward_tilt(
    logp_ref: Float[Tensor, "*batch V"], q: Float[Tensor, "*batch V"], beta: float | int
) -> Float[Tensor, "*batch V"]:
    """The distribution of greatest mean, less β KL(p ‖ reference): an exponential tilt.

    Computes::

        p = π_ref exp(q / β) / Z

    Args:
        logp_ref: log π_ref [nats].
        q: What each choice is worth.
        beta: β > 0.

    Returns:
        log p [nats].

    Raises:
        InputError: If β is not positive and finite.

    Example:
        >>> logp_ref, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([1.0, 3.0]).log()
        >>> forward_tilt(logp_ref, q, beta=1.0).exp()
        tensor([0.2500, 0.7500])
    """
    require_positive(beta=beta)
    return (logp_ref + q / beta).log_softmax(-1)


def reverse_tilt(
    logp_ref: Float[Tensor, "*batch V"], q: Float[Tensor, "*batch V"], beta: float | int
) -> Float[Tensor, "*batch V"]:
    """The distribution of greatest mean, less β KL(reference ‖ p): a hyperbolic tilt.

    Implements eq-policy-hyperbolic::

        p = β π_ref / (ν - q),   ν > max q such that p sums to 1

    It is where a loss with the estimate k₃ comes to rest.

    Args:
        logp_ref: log π_ref [nats], finite.
        q: What each choice is worth.
        beta: β > 0.

    Returns:
        log p [nats]; exact to the rounding of ν, divided by ν - max q.

    Raises:
        InputError: If β is not positive and finite, or ν - max q is lost in rounding: the
            reference makes the best choice hardly ever.

    Example:
        >>> logp_ref, q = torch.tensor([0.5, 0.5]).log(), torch.tensor([0.0, 4 / 3])
        >>> reverse_tilt(logp_ref, q, beta=1.0).exp()  # ν = 2: 1/2 over 2, and over 2/3
        tensor([0.2500, 0.7500])
    """
    require_positive(beta=beta)
    share = beta * logp_ref.exp()
    low = (q + share).amax(-1, keepdim=True)  # there one term alone is 1
    high = q.amax(-1, keepdim=True) + beta  # there no term exceeds its share of the reference
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        too_much = (share / (middle - q)).sum(-1, keepdim=True) > 1
        low, high = middle.where(too_much, low), high.where(too_much, middle)
    best = q.amax(-1, keepdim=True)
    if (high - best < 4 * torch.finfo(q.dtype).eps * (best.abs() + beta)).any():
        least = float(logp_ref.min())
        raise InputError(
            f"the reference makes the best choice too seldom for {q.dtype}, whose digits do "
            f"not tell ν from max q: log π_ref goes down to {least:.4g}; use float64, or a "
            "larger probability"
        )
    return share.log() - (high - q).log()


def token_tilted(
    world: World, rewards: Float[Tensor, "P Y"], beta: float | int, tilt: Tilt
) -> Float[Tensor, "P Y"]:
    """The policy in which each token is tilted by the mean reward of what follows it.

    Computes::

        π(· | s) = tilt(π_ref(· | s), q(s, ·), β),   q(s, a) = E_π[r | s, a]

    from the last tokens to the first. A divergence that is charged token by token in the loss
    has this for its fixed point: at s nothing is known of what later tokens will be charged.

    Args:
        world: Gives the reference and the prefixes.
        rewards: r(x, y), or what a method makes of it.
        beta: β > 0.
        tilt: :func:`forward_tilt` for k₂ of each token, :func:`reverse_tilt` for k₃.

    Returns:
        log π(y | x) [nats].

    Example:
        >>> logp_ref, rewards = torch.tensor([[[0.5, 0.5]], [[1.0, 3.0]]]).log()
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> token_tilted(world, rewards, 1.0, forward_tilt).exp()
        tensor([[0.2500, 0.7500]])
    """
    tree = world.prefixes
    total = tree.log_sums(world.logp_ref)  # log π_ref of each prefix
    logp_ref = tree.after(total, world.logp_ref) - total[..., None]
    table, worth = torch.zeros_like(logp_ref), torch.zeros_like(total)
    for depth in range(int(tree.depth.max()), -1, -1):
        here = tree.depth == depth
        q = tree.after(worth, rewards)[:, here]
        table[:, here] = tilt(logp_ref[:, here], q, beta)
        worth[:, here] = (table[:, here].exp() * q).sum(-1)
    return tree.along(table).sum(-1)


def at_own_spread(
    solve: Callable[[Tensor], Tensor],
    rewards: Float[Tensor, "P Y"],
    start: Float[Tensor, "P Y"],
) -> Float[Tensor, "P Y"]:
    """The policy that a rule picks when rewards are divided by the policy's own spread.

    Computes::

        π = solve(r / σ),   σ² = Var_π(r)

    by going half of the way to the new σ until it stays. There may be several such policies:
    one that says nearly one thing has a small σ, which makes the reward large, which keeps it
    so. The one found is that to which the spread of ``start`` leads.

    Args:
        solve: From rewards to log π, such as :func:`token_tilted` with all else filled in.
        rewards: r(x, y).
        start: log π whose spread is tried first, such as the reference's.

    Returns:
        log π(y | x) [nats].

    Raises:
        InputError: If the spread vanishes, or does not settle.

    Example:
        >>> start, rewards = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.0, 4.0]])
        >>> stays = at_own_spread(lambda rewards: start, rewards, start)  # a rule that keeps it
        >>> stays.exp()
        tensor([[0.5000, 0.5000]])
    """
    sigma = _spread(start, rewards)
    for _ in range(ROUNDS):
        logp = solve(rewards / sigma)
        found = _spread(logp, rewards)
        if (found <= 1e-6).any():
            prompt = int((found <= 1e-6).nonzero()[0, 0])
            raise InputError(
                f"the spread of prompt {prompt} vanishes: the policy comes to say one thing, "
                "and no fixed point with other answers is reached from here"
            )
        if ((found / sigma).log().abs() < CLOSE).all():
            return logp
        sigma = (sigma * found).sqrt()
    raise InputError(f"the spread has not settled after {ROUNDS} rounds")


def _spread(logp: Tensor, rewards: Tensor) -> Tensor:
    """Standard deviation of the reward under a policy, (P, 1)."""
    above = rewards - expectation(logp, rewards)[:, None]
    return expectation(logp, above.square()).sqrt()[:, None]


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

    Example:
        >>> logp_ref, rewards = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 3.0]])
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> z = torch.zeros(1, 1, 2, requires_grad=True)
        >>> group_limit_loss(world, z.log_softmax(-1), beta=0, spread=False).sum().backward()
        >>> z.grad  # -π (r - E[r])
        tensor([[[ 0.5000, -0.5000]]])
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

    Example:
        >>> logp_ref, rewards = torch.tensor([[[0.5, 0.5]], [[1.0, 3.0]]]).log()
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> from mathlm.align.exact import regularized_reward
        >>> def loss(table):
        ...     return -regularized_reward(table[:, 0], logp_ref, rewards, beta=1.0)
        >>> follow(world, loss, logp_ref, close=1e-6).exp()  # to the optimum: as 1 to 3
        tensor([[0.2500, 0.7500]])
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
