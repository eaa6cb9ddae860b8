"""The training loop and what surrounds it."""

from .averages import Averages
from .carried import carried_loss
from .checkpoint import checkpoints, load_checkpoint, newest_checkpoint, save_checkpoint
from .config import TrainerConfig
from .data import TokenWindows, check_ids
from .device import resolve_device
from .distributed import RankError, process_group
from .memory import LiveBytes
from .objective_batches import CorruptedWindows, CutSpans, DrawPrefix, MaskTokens
from .objectives import (
    MaskedPairs,
    MultiToken,
    TokenLoss,
    masked_token,
    next_sentence,
    next_token,
    prefix_token,
    read_causal,
    read_masked,
    read_prefix,
    read_spans,
    span_corruption,
)
from .parallel import bare, distribute
from .pipeline import bubble_fraction
from .precision import LossScale
from .recompute import recompute_blocks
from .record import describe, write_record
from .sentence_pairs import SentencePairBatches
from .tensor_parallel import cut_block
from .traffic import Traffic, ring_bytes, sent_bytes, step_bytes
from .trainer import Trainer
from .word2vec import NegativeSampling, SkipGramBatches
from .zero import ZeroAdam

__all__ = [
    "Averages",
    "CorruptedWindows",
    "CutSpans",
    "DrawPrefix",
    "LiveBytes",
    "LossScale",
    "MaskTokens",
    "MaskedPairs",
    "MultiToken",
    "NegativeSampling",
    "RankError",
    "SentencePairBatches",
    "SkipGramBatches",
    "TokenLoss",
    "TokenWindows",
    "Traffic",
    "Trainer",
    "TrainerConfig",
    "ZeroAdam",
    "bare",
    "bubble_fraction",
    "carried_loss",
    "check_ids",
    "checkpoints",
    "cut_block",
    "describe",
    "distribute",
    "load_checkpoint",
    "masked_token",
    "newest_checkpoint",
    "next_sentence",
    "next_token",
    "prefix_token",
    "process_group",
    "read_causal",
    "read_masked",
    "read_prefix",
    "read_spans",
    "recompute_blocks",
    "resolve_device",
    "ring_bytes",
    "save_checkpoint",
    "sent_bytes",
    "span_corruption",
    "step_bytes",
    "write_record",
]
