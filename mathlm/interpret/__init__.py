"""Looking into models: what they compute on the way, and what happens without parts of it."""

from .ablation import head_means, without_heads
from .harm import losses_by_head, losses_without_heads
from .patterns import (
    attention_entropy,
    diagonal_score,
    first_token_score,
    head_scores,
    induction_score,
    mean_distance,
    previous_token_score,
    repeated_ids,
)
from .recording import Watched, record

__all__ = [
    "Watched",
    "attention_entropy",
    "diagonal_score",
    "first_token_score",
    "head_means",
    "head_scores",
    "induction_score",
    "losses_by_head",
    "losses_without_heads",
    "mean_distance",
    "previous_token_score",
    "record",
    "repeated_ids",
    "without_heads",
]
