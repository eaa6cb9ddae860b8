"""Small worlds for tests, and policies near their references."""

from functools import cache

import torch

from mathlm.align.exact import standard_world


@cache
def plain():
    """Three tokens, completions of two, two prompts."""
    return standard_world(1, vocabulary=3, length=2, prompts=2)


@cache
def ended():
    """Three tokens, of which 2 ends a completion of at most three."""
    return standard_world(2, vocabulary=3, length=3, prompts=2, end=2)


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
