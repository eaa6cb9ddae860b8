"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import reliability, style

from .demos import best_of_n_demo, comparisons_demo
from .figures import (
    accuracies,
    divergence_of_best,
    error_by_comparisons,
    known_and_unknown,
    proxy_and_gold,
    rating_counts,
    score_by_length,
)

__all__ = [
    "best_of_n_demo",
    "comparisons_demo",
    "divergence_of_best",
    "error_by_comparisons",
    "known_and_unknown",
    "proxy_and_gold",
    "rating_counts",
    "reliability",
    "score_by_length",
    "accuracies",
    "style",
]
