"""Whole models, one file each."""

from .gpt import GPT
from .gpt_config import PRESETS, GPTConfig
from .mlp import MLP, MLPConfig
from .reach import gradient_reach
from .recurrent import Recurrent, RecurrentConfig

__all__ = [
    "GPT",
    "GPTConfig",
    "MLP",
    "MLPConfig",
    "PRESETS",
    "Recurrent",
    "RecurrentConfig",
    "gradient_reach",
]
