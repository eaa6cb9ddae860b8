"""The training loop and what surrounds it."""

from .carried import carried_loss
from .checkpoint import checkpoints, load_checkpoint, newest_checkpoint, save_checkpoint
from .config import TrainerConfig
from .data import TokenWindows, check_ids
from .device import resolve_device
from .distributed import RankError, process_group
from .objectives import next_token
from .record import describe, write_record
from .trainer import Trainer
from .word2vec import NegativeSampling, SkipGramBatches

__all__ = [
    "NegativeSampling",
    "RankError",
    "SkipGramBatches",
    "TokenWindows",
    "Trainer",
    "TrainerConfig",
    "carried_loss",
    "check_ids",
    "checkpoints",
    "describe",
    "load_checkpoint",
    "newest_checkpoint",
    "next_token",
    "process_group",
    "resolve_device",
    "save_checkpoint",
    "write_record",
]
