"""The training loop and what surrounds it."""

from .activation_checkpointing import checkpoint_activations
from .checkpoint import checkpoints, load_checkpoint, newest_checkpoint, save_checkpoint
from .config import TrainerConfig
from .diagnosis import Expected, Finding, RunHistory, diagnose, expected_first, run_history
from .distributed import RankError, process_group, resolve_device
from .ema import Averages
from .log_line import LogLines
from .loggers import CSVLogger, JSONLLogger, TensorBoardLogger, WandbLogger, run_loggers
from .memory import LiveBytes
from .objective_batches import (
    CorruptedWindows,
    CutSpans,
    DrawPrefix,
    MaskLevels,
    MaskTokens,
    SentencePairBatches,
)
from .objectives import (
    BalancedExperts,
    MaskedPairs,
    MultiToken,
    TokenLoss,
    masked_diffusion,
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
from .parallel import distribute, unwrap
from .precision import LossScale
from .record import describe, write_record
from .trainer import Trainer
from .windows import TokenizedWindows, TokenWindows, check_ids
from .word2vec import NegativeSampling, SkipGramBatches

__all__ = [
    "Averages",
    "BalancedExperts",
    "CSVLogger",
    "CorruptedWindows",
    "CutSpans",
    "DrawPrefix",
    "Expected",
    "Finding",
    "JSONLLogger",
    "LiveBytes",
    "LogLines",
    "LossScale",
    "MaskLevels",
    "MaskTokens",
    "MaskedPairs",
    "MultiToken",
    "NegativeSampling",
    "RankError",
    "RunHistory",
    "SentencePairBatches",
    "SkipGramBatches",
    "TensorBoardLogger",
    "TokenLoss",
    "TokenWindows",
    "TokenizedWindows",
    "Trainer",
    "TrainerConfig",
    "WandbLogger",
    "check_ids",
    "checkpoint_activations",
    "checkpoints",
    "describe",
    "diagnose",
    "distribute",
    "expected_first",
    "load_checkpoint",
    "masked_diffusion",
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
    "resolve_device",
    "run_history",
    "run_loggers",
    "save_checkpoint",
    "span_corruption",
    "unwrap",
    "write_record",
]
