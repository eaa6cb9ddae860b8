"""Changing a pretrained model by few numbers, and finding the way back."""

from .additions import Addition, additions, remove_adapters
from .bottleneck import add_adapters
from .files import base_fingerprint
from .freezing import count_trainable, freeze, trainable
from .lora import adapter_names, add_lora, merge_lora, remove_adapter, unmerge_lora, use_adapter
from .prefix import add_prefix, add_prompt
from .retention import L2SP, Replay
from .saving import load_adapter, save_adapter

__all__ = [
    "Addition",
    "Replay",
    "L2SP",
    "adapter_names",
    "add_adapters",
    "add_lora",
    "add_prefix",
    "add_prompt",
    "additions",
    "base_fingerprint",
    "count_trainable",
    "freeze",
    "load_adapter",
    "merge_lora",
    "remove_adapter",
    "remove_adapters",
    "save_adapter",
    "trainable",
    "unmerge_lora",
    "use_adapter",
]
