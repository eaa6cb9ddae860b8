"""Worlds small enough to list: the truth that estimators, losses and trainers are held to."""

from .data import TableSampler, WorldPairs, WorldRollouts
from .estimators import Moments, estimator_moments, score_matrix
from .fixed_points import (
    at_own_spread,
    follow,
    forward_tilt,
    group_limit_loss,
    reverse_tilt,
    token_tilted,
)
from .optimum import (
    Optimum,
    divergence,
    expectation,
    policy_gradient,
    regularized_reward,
    score_function_objective,
    tilted_optimum,
)
from .prefixes import Prefixes, prefixes_of
from .standard import standard_scores, standard_world, world_of
from .values import kl_by_token, next_token_table, policy_values, soft_values, token_advantages
from .world import Frontier, World, all_completions, draw_completions, reward_kl_frontier

__all__ = [
    "Frontier",
    "Moments",
    "Optimum",
    "Prefixes",
    "TableSampler",
    "World",
    "WorldPairs",
    "WorldRollouts",
    "all_completions",
    "at_own_spread",
    "divergence",
    "draw_completions",
    "estimator_moments",
    "expectation",
    "follow",
    "forward_tilt",
    "group_limit_loss",
    "kl_by_token",
    "next_token_table",
    "policy_gradient",
    "policy_values",
    "prefixes_of",
    "regularized_reward",
    "reverse_tilt",
    "reward_kl_frontier",
    "score_function_objective",
    "score_matrix",
    "soft_values",
    "standard_scores",
    "standard_world",
    "tilted_optimum",
    "token_advantages",
    "token_tilted",
    "world_of",
]
