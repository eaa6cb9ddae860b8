"""Small worlds for tests, and policies near their references."""

from functools import cache

import torch

from mathlm.align.exact import World, standard_world, world_of


@cache
def plain():
    """Three tokens, completions of two, two prompts."""
    return standard_world(1, vocabulary=3, length=2, prompts=2)


@cache
def ended():
    """Three tokens, of which 2 ends a completion of at most three."""
    return standard_world(2, vocabulary=3, length=3, prompts=2, end=2)


@cache
def asked():
    """The same completions behind prompts of two tokens that begin or end alike."""
    world, prompts = ended(), torch.tensor([[0, 1], [0, 0], [2, 1]])
    return world_of(world.model, prompts, world.completions, world.rewards[[0, 1, 0]])


def narrow():
    """The same completions, of which the reference never says the best: what begins with 1."""
    world = ended()
    never = world.completions[:, 0] == 1
    never[0] = True  # and the first, which shares a beginning with others
    logp_ref = world.logp_ref.masked_fill(never, -torch.inf).log_softmax(-1)
    rewards = world.rewards + 5 * never
    return World(world.prompts, world.completions, logp_ref, rewards)


@cache
def standard():
    """The standard world."""
    return standard_world()


def moved(world, seed=0, by=0.1):
    """The reference with noise on its weights."""
    model, draws = world.reference(), torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weights in model.parameters():
            weights.add_(by * torch.randn(weights.shape, generator=draws))
    return model


def other(world, seed=0):
    """Log-probabilities of another distribution, no model's."""
    draws = torch.Generator().manual_seed(seed)
    return torch.randn(world.rewards.shape, generator=draws).log_softmax(-1)
