"""Pure functions of tensors: one function, one equation; no parameters, no state."""

from .activation import geglu_tanh, gelu, gelu_tanh, relu, silu, swiglu
from .activation_aware import (
    activation_scale,
    aware_rounding,
    best_activation_scale,
    output_error,
)
from .adapter import bottleneck
from .attention import attention_weights, causal_mask, dot_product_attention, fused_attention
from .calibration import (
    brier_score,
    expected_calibration_error,
    fit_temperature,
    reliability_bins,
    top_prediction,
)
from .circuits import head_contributions, output_value_circuit, query_key_circuit
from .distance_bias import alibi_bias, alibi_slopes, relative_bias, relative_buckets
from .jacobian_norms import influence
from .likelihood import pad_documents, perplexity
from .log_complement import log1mexp
from .log_partition import z_loss
from .loss import cross_entropy, token_cross_entropy
from .low_rank import lora_scale, low_rank_update, merged_weight
from .normalization import (
    batch_norm,
    batch_statistics,
    fixed_batch_norm,
    layer_norm,
    rms_norm,
)
from .packed import document_mask, document_positions
from .pooling import first_pool, l2_normalize, mean_pool
from .position import (
    half_split_order,
    rotary_table,
    rotate_half_split,
    rotate_interleaved,
    sinusoidal_table,
)
from .prefix import gated_prefix
from .quantization import (
    Levels,
    affine_levels,
    decibels,
    expected_decibels,
    product_variance,
    rounding_variance,
    symmetric_levels,
)
from .recurrent import gru_cell, lstm_cell, rnn_cell
from .rotary_scaling import (
    RopeScaling,
    dynamic_factor,
    rotary_frequencies,
    scaled_frequencies,
)
from .rounded_logits import expected_rounding_divergence, rounding_divergence
from .rounding import float_spacing, round_stochastic, round_to
from .sliding import strided_likelihood
from .speculation import (
    acceptance_probability,
    best_ahead,
    expected_operations,
    expected_speedup,
    expected_tokens,
    output_distribution,
    residual_distribution,
)
from .tokens import require_token_batch, require_token_ids
from .word2vec import negative_sampling_loss

__all__ = [
    "Levels",
    "RopeScaling",
    "acceptance_probability",
    "activation_scale",
    "affine_levels",
    "alibi_bias",
    "alibi_slopes",
    "attention_weights",
    "aware_rounding",
    "batch_norm",
    "batch_statistics",
    "best_activation_scale",
    "best_ahead",
    "bottleneck",
    "brier_score",
    "causal_mask",
    "cross_entropy",
    "decibels",
    "document_mask",
    "document_positions",
    "dot_product_attention",
    "dynamic_factor",
    "expected_calibration_error",
    "expected_decibels",
    "expected_operations",
    "expected_rounding_divergence",
    "expected_speedup",
    "expected_tokens",
    "first_pool",
    "fit_temperature",
    "fixed_batch_norm",
    "float_spacing",
    "fused_attention",
    "gated_prefix",
    "geglu_tanh",
    "gelu",
    "gelu_tanh",
    "gru_cell",
    "half_split_order",
    "head_contributions",
    "influence",
    "l2_normalize",
    "layer_norm",
    "log1mexp",
    "lora_scale",
    "low_rank_update",
    "lstm_cell",
    "mean_pool",
    "merged_weight",
    "negative_sampling_loss",
    "output_distribution",
    "output_error",
    "output_value_circuit",
    "pad_documents",
    "perplexity",
    "product_variance",
    "query_key_circuit",
    "relative_bias",
    "relative_buckets",
    "reliability_bins",
    "relu",
    "require_token_batch",
    "require_token_ids",
    "residual_distribution",
    "rms_norm",
    "rnn_cell",
    "rotary_frequencies",
    "rotary_table",
    "rotate_half_split",
    "rotate_interleaved",
    "round_stochastic",
    "round_to",
    "rounding_divergence",
    "rounding_variance",
    "scaled_frequencies",
    "silu",
    "sinusoidal_table",
    "strided_likelihood",
    "swiglu",
    "symmetric_levels",
    "token_cross_entropy",
    "top_prediction",
    "z_loss",
]
