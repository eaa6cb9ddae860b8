"""Worlds small enough to list: the truth that estimators, losses and trainers are held to."""

from .drawing import draw_completions
from .frontiers import Frontier, reward_kl_frontier
from .gradients import policy_gradient, score_function_objective
from .optimum import Optimum, divergence, expectation, regularized_reward, tilted_optimum
from .prefixes import Prefixes, prefixes_of
from .standard import standard_scores, standard_world, world_of
from .table_sampler import TableSampler
from .world import World, all_completions

__all__ = [
    "Frontier",
    "Optimum",
    "Prefixes",
    "TableSampler",
    "World",
    "all_completions",
    "divergence",
    "draw_completions",
    "expectation",
    "policy_gradient",
    "prefixes_of",
    "regularized_reward",
    "reward_kl_frontier",
    "score_function_objective",
    "standard_scores",
    "standard_world",
    "tilted_optimum",
    "world_of",
]
