"""Looking into models: what they compute on the way, and what happens without parts of it."""

from .ablation import head_means, without_heads
from .alignment import alignment_score, cross_attention
from .autoencoder import SparseAutoencoder
from .contributions import logit_contributions, stream_contributions
from .dictionary import (
    DictionaryReport,
    SparseReconstruction,
    VectorBatches,
    dictionary_report,
    matched_cosine,
    resample_idle,
    top_contexts,
    train_dictionary,
)
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
from .splice import spliced_losses
from .steering import Steered, steering_vector
from .stream import stream_writes, write_logits

__all__ = [
    "DictionaryReport",
    "SparseAutoencoder",
    "SparseReconstruction",
    "Steered",
    "VectorBatches",
    "Watched",
    "alignment_score",
    "attention_entropy",
    "cross_attention",
    "diagonal_score",
    "dictionary_report",
    "first_token_score",
    "head_means",
    "head_scores",
    "induction_score",
    "logit_contributions",
    "logit_lens",
    "losses_by_head",
    "losses_without_heads",
    "matched_cosine",
    "mean_distance",
    "previous_token_score",
    "record",
    "repeated_ids",
    "resample_idle",
    "spliced_losses",
    "steering_vector",
    "stream_contributions",
    "stream_writes",
    "top_contexts",
    "train_dictionary",
    "without_heads",
    "write_logits",
]
