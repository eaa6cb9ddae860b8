"""Looking into models: what they compute on the way, and what happens without parts of it."""

from .ablation import head_means, without_heads
from .alignment import alignment_score, cross_attention
from .harm import losses_by_head, losses_without_heads
from .lens import logit_lens
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
from .stream import stream_writes, write_logits

__all__ = [
    "Watched",
    "alignment_score",
    "attention_entropy",
    "cross_attention",
    "diagonal_score",
    "first_token_score",
    "head_means",
    "head_scores",
    "induction_score",
    "logit_lens",
    "losses_by_head",
    "losses_without_heads",
    "mean_distance",
    "previous_token_score",
    "record",
    "repeated_ids",
    "stream_writes",
    "without_heads",
    "write_logits",
]
