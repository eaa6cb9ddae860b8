"""Modules: they own parameters; the mathematics is in ``mathlm.functional``."""

from .adapter import AdaptedBlock, Bottleneck
from .attention import SelfAttention, SharedRows
from .block import Block, PostNormBlock
from .cache import DecoderCache, KeyValueCache, LayerCache, MemoryCache, SlidingLayerCache
from .decoder_block import CrossAttention, DecoderBlock, PostNormDecoderBlock
from .feedforward import FeedForward
from .low_rank import LoRALinear, LoRASettings
from .normalization import BatchNorm, LayerNorm, RMSNorm
from .position import (
    AlibiPosition,
    LearnedPosition,
    RelativePosition,
    RotaryPosition,
    SinusoidalPosition,
)
from .prefix import Ahead, GatedAhead, Prefix
from .quantization import (
    ByteLinear,
    NibbleLinear,
    QuantizedEmbedding,
    QuantizedLinear,
    fused_rows,
)
from .recurrent import GRU, LSTM, RNN, StateCache
from .taps import Scope, Taps, scope, tap

__all__ = [
    "AdaptedBlock",
    "Ahead",
    "AlibiPosition",
    "BatchNorm",
    "Block",
    "Bottleneck",
    "ByteLinear",
    "CrossAttention",
    "DecoderBlock",
    "DecoderCache",
    "FeedForward",
    "GRU",
    "GatedAhead",
    "KeyValueCache",
    "LSTM",
    "LayerCache",
    "LayerNorm",
    "LearnedPosition",
    "LoRALinear",
    "LoRASettings",
    "MemoryCache",
    "NibbleLinear",
    "PostNormBlock",
    "PostNormDecoderBlock",
    "Prefix",
    "QuantizedEmbedding",
    "QuantizedLinear",
    "RMSNorm",
    "RNN",
    "RelativePosition",
    "RotaryPosition",
    "Scope",
    "SelfAttention",
    "SharedRows",
    "SinusoidalPosition",
    "SlidingLayerCache",
    "StateCache",
    "Taps",
    "fused_rows",
    "scope",
    "tap",
]
