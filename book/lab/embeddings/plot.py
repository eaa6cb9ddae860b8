"""What the page calls plot: its figures and demos, and those that it shares."""

from mathlm.plot import style

from .demos import embedding_rows_demo, word_neighbors_demo
from .figures import (
    analogy_scores,
    cosine_spread,
    cosine_tables,
    human_ratings,
    log_ratios,
    row_motion,
    rows_touched,
    score_identity,
    scores_while_training,
    sense_maps,
    senses_by_layer,
)

__all__ = [
    "analogy_scores",
    "cosine_spread",
    "cosine_tables",
    "embedding_rows_demo",
    "human_ratings",
    "log_ratios",
    "row_motion",
    "rows_touched",
    "score_identity",
    "scores_while_training",
    "sense_maps",
    "senses_by_layer",
    "style",
    "word_neighbors_demo",
]
