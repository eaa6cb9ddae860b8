"""Tiny random models, written as folders of the form that current models are published in."""

import json
from pathlib import Path
from typing import Any

import torch

from mathlm.models import GPT, GPTConfig
from mathlm.models.files.gpt import LLAMA_PARTS, config_of, their_name
from mathlm.models.files.variants import VARIANTS, parts_of
from mathlm.models.files.weights import to_bytes

SMALL: dict[str, Any] = {
    "vocab_size": 60, "hidden_size": 16, "num_hidden_layers": 6, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 40, "max_position_embeddings": 64,
    "rms_norm_eps": 1e-6, "head_dim": 4, "hidden_act": "silu", "sliding_window": 8,
}  # fmt: skip
GEMMA: dict[str, Any] = {"hidden_activation": "gelu_pytorch_tanh", "query_pre_attn_scalar": 4}
KINDS: dict[str, dict[str, Any]] = {
    "llama": {},
    "qwen3": {"sliding_window": None},
    "gemma2": GEMMA,
    "gemma3_text": GEMMA,
    "olmo2": {},
    "olmo3": {},
}


def write_folder(folder: Path, kind: str, **changes: Any) -> Path:
    """A folder with ``config.json`` and random weights of a type of model."""
    fields = {"model_type": kind} | SMALL | KINDS.get(kind, {}) | changes
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(fields))
    if kind in KINDS:
        weights = random_weights(config_of(fields, kind), kind)
        (folder / "model.safetensors").write_bytes(to_bytes(weights))
    return folder


def random_weights(config: GPTConfig, kind: str) -> dict[str, torch.Tensor]:
    """Weights of such a model under the names of its type."""
    parts = LLAMA_PARTS | (parts_of(kind) if kind in VARIANTS else {})
    state = GPT(config).state_dict()
    if config.tie_embeddings:
        del state["head.weight"]
    named = {their_name(name, parts): tensor for name, tensor in state.items()}
    return {n if n == "lm_head.weight" else f"model.{n}": t for n, t in named.items()}
