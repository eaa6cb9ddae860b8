"""How a language model is judged: questions, samples, comparisons, and how sure a number is."""

from .choices import (
    ChoiceScores,
    right_answers,
    score_choices,
    score_letters,
    written_choice,
)
from .intervals import Comparison, compare_paired, questions_needed, wilson_interval
from .ratings import elo_expected, elo_ratings, elo_scale
from .samples import majority, pass_at_k

__all__ = [
    "ChoiceScores",
    "Comparison",
    "compare_paired",
    "elo_expected",
    "elo_ratings",
    "elo_scale",
    "majority",
    "pass_at_k",
    "questions_needed",
    "right_answers",
    "score_choices",
    "score_letters",
    "wilson_interval",
    "written_choice",
]
