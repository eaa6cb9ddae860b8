"""Pure functions of tensors: one function, one equation; no parameters, no state."""

from .activation import gelu, gelu_tanh, relu, silu, swiglu
from .attention import attention_weights, causal_mask, dot_product_attention, fused_attention
from .likelihood import pad_documents, perplexity
from .loss import cross_entropy, token_cross_entropy
from .normalization import layer_norm, rms_norm
from .pooling import first_pool, l2_normalize, mean_pool
from .position import (
    alibi_bias,
    alibi_slopes,
    half_split_order,
    rotary_table,
    rotate_half_split,
    rotate_interleaved,
    sinusoidal_table,
)
from .recurrent import gru_cell, lstm_cell, rnn_cell
from .tokens import require_token_batch, require_token_ids
from .word2vec import negative_sampling_loss

__all__ = [
    "alibi_bias",
    "alibi_slopes",
    "attention_weights",
    "causal_mask",
    "cross_entropy",
    "dot_product_attention",
    "first_pool",
    "fused_attention",
    "gelu",
    "gelu_tanh",
    "gru_cell",
    "half_split_order",
    "l2_normalize",
    "layer_norm",
    "lstm_cell",
    "mean_pool",
    "negative_sampling_loss",
    "pad_documents",
    "perplexity",
    "relu",
    "require_token_batch",
    "require_token_ids",
    "rms_norm",
    "rnn_cell",
    "rotary_table",
    "rotate_half_split",
    "rotate_interleaved",
    "silu",
    "sinusoidal_table",
    "swiglu",
    "token_cross_entropy",
]
