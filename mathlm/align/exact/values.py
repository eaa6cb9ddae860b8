"""Truth token by token: what every prefix is worth, and what every token adds."""

import math

import torch
from torch import Tensor

from ...shapes import Float
from .optimum import divergence, is_large, large_beta_value, require_beta
from .world import World


def next_token_table(world: World, logp: Float[Tensor, "P Y"]) -> Float[Tensor, "P N V"]:
    """Next-token probabilities that a distribution over completions implies.

    Computes::

        log π(v | s) = log Σ_{y begins with s v} π(y) - log Σ_{y begins with s} π(y)

    It is the optimal policy token by token where ``logp`` is the optimum.

    Args:
        world: Gives the prefixes.
        logp: log π(y) [nats].

    Returns:
        log π(v | s) of every token v at every prefix s; -∞ throughout at a prefix that
        never comes.

    Example:
        >>> logp, rewards = torch.tensor([[0.25, 0.75]]).log(), torch.zeros(1, 2)
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp, rewards)
        >>> next_token_table(world, logp).exp()
        tensor([[[0.2500, 0.7500]]])
    """
    total = world.prefixes.log_sums(logp)
    table = world.prefixes.after(total, logp) - total[..., None]
    return table.masked_fill((total == -math.inf)[..., None], -math.inf)


def soft_values(world: World, beta: float | int) -> Float[Tensor, "P N"]:
    """The most that can still come from each prefix on: the value of the best policy there.

    Computes::

        V*(s) = β log Σ_v π_ref(v | s) exp(V*(s v) / β),   V*(y) = r(y) at the end
              = max over π of E[r - β Σ_{t ≥ |s|} log π(y_t) / π_ref(y_t) | s]

    The optimal policy is π*(v | s) = π_ref(v | s) exp((V*(s v) - V*(s)) / β).

    Args:
        world: Gives reference, rewards and prefixes.
        beta: β, from 0 to ∞ [reward/nat].

    Returns:
        V* of each prefix; that of the empty one is β log Z. The reference must be able to come
        to every prefix.

    Example:
        >>> logp_ref, rewards = torch.tensor([[[0.5, 0.5]], [[1.0, 3.0]]]).log()
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> soft_values(world, beta=1.0)  # ln((1 + 3) / 2)
        tensor([[0.6931]])
    """
    require_beta(beta, infinite=True)
    if beta == math.inf:
        return policy_values(world, world.logp_ref, 0)
    reachable = world.rewards.masked_fill(world.logp_ref == -math.inf, -math.inf)
    if beta == 0:
        each = reachable[:, None].masked_fill(~world.prefixes.inside, -math.inf)
        return each.amax(-1)
    if is_large(beta, world.logp_ref, world.rewards):
        behind = world.logp_ref[:, None].masked_fill(~world.prefixes.inside, -math.inf)
        return large_beta_value(behind, world.rewards[:, None], beta)
    tilted = world.prefixes.log_sums(world.logp_ref + reachable / beta)
    return beta * (tilted - world.prefixes.log_sums(world.logp_ref))


def policy_values(
    world: World, logp: Float[Tensor, "P Y"], beta: float | int
) -> Float[Tensor, "P N"]:
    """What a policy will earn from each prefix on: what PPO's value model is to learn.

    Implements eq-policy-value::

        V(s) = E_π[r - β Σ_{t ≥ |s|} log π(y_t) / π_ref(y_t) | s]

    The divergence paid before s is gone; what is still to be paid counts.

    Args:
        world: Gives reference, rewards and prefixes.
        logp: log π(y) [nats].
        beta: β ≥ 0, the KL coefficient, for a penalty in the reward.

    Returns:
        V of each prefix; that of the empty one is the policy's objective.

    Example:
        >>> logp_ref, rewards = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 3.0]])
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> policy_values(world, logp_ref, beta=1.0).round(decimals=4)  # the mean reward
        tensor([[2.]])
    """
    require_beta(beta)
    table, reference = (next_token_table(world, x) for x in (logp, world.logp_ref))
    tree, chance = world.prefixes, table.exp()
    paid = beta * (table - reference) if beta else torch.zeros_like(table)
    values = torch.zeros_like(table[..., 0])
    for depth in range(int(tree.depth.max()), -1, -1):  # the longest know what follows
        here = tree.depth == depth
        worth = (tree.after(values, world.rewards) - paid)[:, here]
        values[:, here] = _mean(chance[:, here], worth)
    return values


def token_advantages(
    world: World, logp: Float[Tensor, "P Y"], beta: float | int
) -> Float[Tensor, "P N V"]:
    """What each token adds to what its prefix promised; its mean under the policy is 0.

    Computes::

        A(s, v) = -β log π(v | s) / π_ref(v | s) + V(s v) - V(s)

    Args:
        world: Gives reference, rewards and prefixes.
        logp: log π(y) [nats].
        beta: β ≥ 0.

    Returns:
        A of each token v at each prefix s; infinite for a token that the reference says and
        the policy never, if β > 0.

    Example:
        >>> logp_ref, rewards = torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[1.0, 3.0]])
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> token_advantages(world, logp_ref, beta=1.0).round(decimals=4)
        tensor([[[-1.,  1.]]])
    """
    table, reference = (next_token_table(world, x) for x in (logp, world.logp_ref))
    values = policy_values(world, logp, beta)
    ahead = world.prefixes.after(values, world.rewards)
    paid = beta * (table - reference) if beta else torch.zeros_like(table)
    never = (table == -math.inf) & (reference == -math.inf)  # nothing is paid for it
    return ahead - paid.masked_fill(never, 0.0) - values[..., None]


def kl_by_token(
    world: World, logp: Float[Tensor, "P Y"], other: Float[Tensor, "P Y"]
) -> Float[Tensor, "P n"]:
    """The divergence of completions, as a sum of divergences of their tokens.

    Computes::

        KL_t = Σ_{s of t tokens} π(s) KL(π(· | s) ‖ q(· | s)),   Σ_t KL_t = KL(π ‖ q)

    Args:
        world: Gives the prefixes.
        logp: log π(y) [nats].
        other: log q(y) [nats].

    Returns:
        What token t adds [nats]; never negative, but for rounding; infinite where q never
        says what π says.

    Example:
        >>> logp_ref, rewards = torch.tensor([[[0.5, 0.5]], [[1.0, 3.0]]]).log()
        >>> world = World(torch.tensor([[0]]), torch.tensor([[0], [1]]), logp_ref, rewards)
        >>> logp = torch.tensor([[0.25, 0.75]]).log()
        >>> kl_by_token(world, logp, logp_ref)  # ln 2 - H(1/4, 3/4)
        tensor([[0.1308]])
    """
    table, q = next_token_table(world, logp), next_token_table(world, other)
    each = divergence(table.flatten(0, 1), q.flatten(0, 1)).unflatten(0, table.shape[:2])
    off = each == math.inf  # apart: 0 times infinity is NaN
    weighted = world.prefixes.log_sums(logp).exp() * each.masked_fill(off, 0.0)
    depth = torch.nn.functional.one_hot(world.prefixes.depth).to(weighted)
    infinite = off.to(weighted) @ depth > 0
    return (weighted @ depth).masked_fill(infinite, math.inf)


def _mean(chance: Tensor, worth: Tensor) -> Tensor:
    """Mean over tokens; those that never come do not count."""
    return (chance * worth.masked_fill(chance == 0, 0.0)).sum(-1)
