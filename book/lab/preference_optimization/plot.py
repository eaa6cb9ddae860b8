"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import fixed_margins_demo, three_answers_demo
from .figures import (
    course_to_optimum,
    divergence_by_comparisons,
    family_ends,
    margin_by_time,
    margins_by_preference,
    pair_course,
    reward_against_divergence,
    rewards_in_disguise,
    shares_of_mass,
    shift_by_reward,
    value_by_price,
)

__all__ = [
    "course_to_optimum",
    "divergence_by_comparisons",
    "family_ends",
    "fixed_margins_demo",
    "margin_by_time",
    "margins_by_preference",
    "pair_course",
    "reward_against_divergence",
    "rewards_in_disguise",
    "shares_of_mass",
    "shift_by_reward",
    "style",
    "three_answers_demo",
    "value_by_price",
]
