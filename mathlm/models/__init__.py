"""Whole models, one file each."""

from .gpt import GPT
from .gpt_config import PRESETS, GPTConfig

__all__ = ["GPT", "GPTConfig", "PRESETS"]
