"""Changing a pretrained model by few numbers, and finding the way back."""

from .additions import Addition, additions, remove_adapters
from .bottleneck import add_adapters
from .counting import count_trainable, trainable
from .fingerprint import base_fingerprint
from .freezing import freeze
from .lora import adapter_names, add_lora, remove_adapter, use_adapter
from .merging import merge_lora, unmerge_lora
from .prefix import add_prefix
from .prompt import add_prompt
from .replay import Replay
from .saving import load_adapter, save_adapter
from .staying import TowardsStart

__all__ = [
    "Addition",
    "Replay",
    "TowardsStart",
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
