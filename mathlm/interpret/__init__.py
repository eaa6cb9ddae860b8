"""Looking into models: what they compute on the way, and what happens without parts of it."""

from .ablation import head_means, losses_by_head, losses_without_heads, without_heads
from .attribution import (
    PathAttribution,
    gradient_times_input,
    integrated_gradients,
    swap_estimates,
    tap_gradients,
)
from .autoencoder import SparseAutoencoder, spliced_losses
from .causal_tracing import activation_patching, recovered
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
from .lens import logit_lens
from .logit_attribution import (
    logit_contributions,
    stream_contributions,
    stream_writes,
    write_logits,
)
from .patching import At, patch
from .paths import path_patch, path_patching
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
from .probes import Probe, control_labels, grouped_interval, linear_probe
from .recording import Watched, record
from .steering import Steered, steering_vector
from .top_tokens import TopTokens, top_tokens

__all__ = [
    "At",
    "DictionaryReport",
    "PathAttribution",
    "Probe",
    "SparseAutoencoder",
    "SparseReconstruction",
    "Steered",
    "TopTokens",
    "VectorBatches",
    "Watched",
    "activation_patching",
    "attention_entropy",
    "control_labels",
    "diagonal_score",
    "dictionary_report",
    "first_token_score",
    "gradient_times_input",
    "grouped_interval",
    "head_means",
    "head_scores",
    "induction_score",
    "integrated_gradients",
    "linear_probe",
    "logit_contributions",
    "logit_lens",
    "losses_by_head",
    "losses_without_heads",
    "matched_cosine",
    "mean_distance",
    "patch",
    "path_patch",
    "path_patching",
    "previous_token_score",
    "record",
    "recovered",
    "repeated_ids",
    "resample_idle",
    "spliced_losses",
    "steering_vector",
    "stream_contributions",
    "stream_writes",
    "swap_estimates",
    "tap_gradients",
    "top_contexts",
    "top_tokens",
    "train_dictionary",
    "without_heads",
    "write_logits",
]
