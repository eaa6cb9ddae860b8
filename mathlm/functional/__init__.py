"""Pure functions of tensors: one function, one equation; no parameters, no state."""

from .activation import geglu_tanh, gelu, gelu_tanh, relu, silu, swiglu
from .attention import attention_weights, causal_mask, dot_product_attention, fused_attention
from .circuits import head_contributions, output_value_circuit, query_key_circuit
from .collapse import token_spread
from .distance_bias import alibi_bias, alibi_slopes, relative_bias, relative_buckets
from .jacobian_norms import influence
from .likelihood import pad_documents, perplexity
from .loss import cross_entropy, token_cross_entropy
from .normalization import (
    batch_norm,
    batch_statistics,
    fixed_batch_norm,
    layer_norm,
    rms_norm,
)
from .pooling import first_pool, l2_normalize, mean_pool
from .position import (
    half_split_order,
    rotary_table,
    rotate_half_split,
    rotate_interleaved,
    sinusoidal_table,
)
from .recurrent import gru_cell, lstm_cell, rnn_cell
from .rotary_scaling import (
    RopeScaling,
    dynamic_factor,
    rotary_frequencies,
    scaled_frequencies,
)
from .tokens import require_token_batch, require_token_ids
from .word2vec import negative_sampling_loss

__all__ = [
    "RopeScaling",
    "alibi_bias",
    "alibi_slopes",
    "attention_weights",
    "batch_norm",
    "batch_statistics",
    "causal_mask",
    "cross_entropy",
    "dot_product_attention",
    "dynamic_factor",
    "first_pool",
    "fixed_batch_norm",
    "fused_attention",
    "geglu_tanh",
    "gelu",
    "gelu_tanh",
    "gru_cell",
    "half_split_order",
    "head_contributions",
    "influence",
    "l2_normalize",
    "layer_norm",
    "lstm_cell",
    "mean_pool",
    "negative_sampling_loss",
    "output_value_circuit",
    "pad_documents",
    "perplexity",
    "query_key_circuit",
    "relative_bias",
    "relative_buckets",
    "relu",
    "require_token_batch",
    "require_token_ids",
    "rms_norm",
    "rnn_cell",
    "rotary_frequencies",
    "rotary_table",
    "rotate_half_split",
    "rotate_interleaved",
    "scaled_frequencies",
    "silu",
    "sinusoidal_table",
    "swiglu",
    "token_cross_entropy",
    "token_spread",
]
