"""Modules: they own parameters; the mathematics is in ``mathlm.functional``."""

from .adapter import AdaptedBlock, Bottleneck
from .attention import SelfAttention
from .attention_variants import (
    BranchNormBlock,
    CappedHead,
    CenteredRMSNorm,
    SandwichBlock,
    ScaledEmbedding,
    VariantAttention,
)
from .block import Block, PostNormBlock
from .cache import DecoderCache, KeyValueCache, LayerCache, MemoryCache, SlidingLayerCache
from .decoder_block import CrossAttention, DecoderBlock, PostNormDecoderBlock
from .feedforward import FeedForward
from .latent_attention import LatentAttention, LatentCache
from .low_rank import LoRALinear, LoRASettings
from .moe import MixtureOfExperts
from .normalization import BatchNorm, LayerNorm, RMSNorm
from .position import (
    AlibiPosition,
    LearnedPosition,
    RelativePosition,
    RotaryPosition,
    SinusoidalPosition,
)
from .prefix import GatedPrefixKV, Prefix, PrefixKV
from .quantization import (
    ByteLinear,
    NibbleLinear,
    QuantizedEmbedding,
    QuantizedLinear,
    fused_rows,
)
from .recurrent import GRU, LSTM, RNN, StateCache
from .state_space import GatedDeltaNet, GatedRMSNorm, LinearStateCache, Mamba2
from .taps import Scope, Taps, scope, tap

__all__ = [
    "AdaptedBlock",
    "AlibiPosition",
    "BatchNorm",
    "Block",
    "Bottleneck",
    "BranchNormBlock",
    "ByteLinear",
    "CappedHead",
    "CenteredRMSNorm",
    "CrossAttention",
    "DecoderBlock",
    "DecoderCache",
    "FeedForward",
    "GRU",
    "GatedPrefixKV",
    "KeyValueCache",
    "LSTM",
    "LatentAttention",
    "LatentCache",
    "LayerCache",
    "LayerNorm",
    "LearnedPosition",
    "LoRALinear",
    "LoRASettings",
    "MemoryCache",
    "MixtureOfExperts",
    "NibbleLinear",
    "PostNormBlock",
    "PostNormDecoderBlock",
    "Prefix",
    "PrefixKV",
    "QuantizedEmbedding",
    "QuantizedLinear",
    "RMSNorm",
    "RNN",
    "RelativePosition",
    "RotaryPosition",
    "SandwichBlock",
    "ScaledEmbedding",
    "Scope",
    "SelfAttention",
    "SinusoidalPosition",
    "SlidingLayerCache",
    "StateCache",
    "Taps",
    "VariantAttention",
    "fused_rows",
    "scope",
    "tap",
    "GatedDeltaNet",
    "GatedRMSNorm",
    "LinearStateCache",
    "Mamba2",
]
