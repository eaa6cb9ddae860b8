"""Worlds small enough to list: the truth that estimators, losses and trainers are held to."""

from .drawing import draw_completions
from .fixed_points import at_own_spread, forward_tilt, reverse_tilt, token_tilted
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
    "at_own_spread",
    "divergence",
    "draw_completions",
    "expectation",
    "forward_tilt",
    "policy_gradient",
    "prefixes_of",
    "regularized_reward",
    "reverse_tilt",
    "reward_kl_frontier",
    "score_function_objective",
    "standard_scores",
    "standard_world",
    "tilted_optimum",
    "token_tilted",
    "world_of",
]
