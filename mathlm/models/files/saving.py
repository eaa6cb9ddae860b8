"""Our GPT as a Hugging Face folder, which other programs and :class:`GPT` read."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from ...errors import CheckpointError, ConfigError, InputError
from ...layers import MixtureOfExperts, QuantizedLinear
from ...layers.adapter import AdaptedBlock
from ...layers.low_rank import LoRALinear
from ..gpt import GPT
from ..gpt_config import GPTConfig, require_no_variant
from .atomic import write_files
from .gpt import (
    GATES,
    GPT2_ACTIVATIONS,
    GPT2_FIELDS,
    GPT2_PARTS,
    LLAMA_FIELDS,
    LLAMA_PARTS,
    TRANSPOSED,
    their_name,
)
from .hugging_face import FLOATS, KINDS
from .weights import FILE, plain

ADVICE = {
    "low-rank adapters": "merge_lora(model, keep=False) makes them part of the weights",
    "bottleneck adapters": "remove_adapters(model) takes them away",
    "a prefix or a prompt": "remove_adapters(model) takes it away",
}


def added_parts(model: nn.Module) -> list[str]:
    """The kinds of things that were added to a model.

    Low-rank updates count as long as they stand beside their maps, also while they are merged.

    Returns:
        Names, such as "low-rank adapters"; empty for a model that is as its class says.
    """
    modules = list(model.modules())
    there = {
        "low-rank adapters": any(isinstance(m, LoRALinear) for m in modules),
        "bottleneck adapters": any(isinstance(m, AdaptedBlock) for m in modules),
        "a prefix or a prompt": getattr(model, "virtual", None) is not None,
    }
    return [kind for kind, found in there.items() if found]


def explain_parts(model: nn.Module) -> str:
    """What was added to a model, and how it is removed, as part of an error's sentence."""
    parts = added_parts(model)
    advice = "; ".join(ADVICE[part] for part in parts)
    return f"{' and '.join(parts)}: {advice}"


CLASSES = {
    "gpt2": "GPT2LMHeadModel",
    "llama": "LlamaForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen2": "Qwen2ForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
}


def save_pretrained(
    model: GPT, folder: str | Path, *, dtype: torch.dtype | None = None
) -> Path:
    """Write a model as ``config.json`` and ``model.safetensors``, as GPT-2 or a Llama.

    :meth:`GPT.from_pretrained` and the transformers package read the folder; a tied head is
    written once.

    Args:
        model: Its choices must be those of one of the types gpt2, llama, mistral, qwen2, qwen3.
        folder: Made if it is not there; it must not hold a model.
        dtype: Of what is written: float16, bfloat16, float32 or float64; None = as it is.

    Returns:
        The folder.

    Raises:
        ConfigError: If no such type has these choices, the model is quantized, steered or has
            adapters or experts, or the dtype is not one of those.
        InputError: If a weight is NaN or infinite in the dtype.
        CheckpointError: If the folder holds a model already, or the disk refuses; then nothing
            is left of it.

    Example:
        >>> import os, tempfile
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     sorted(os.listdir(save_pretrained(GPT(GPTConfig(**sizes)), f"{folder}/mine")))
        ['config.json', 'model.safetensors']
    """
    folder, config = Path(folder), model.config
    if dtype is not None and dtype not in FLOATS:
        raise ConfigError(f"dtype={dtype} is not one of {', '.join(map(plain, FLOATS))}")
    require_alone(model, "such a folder")
    kind = kind_of(config)
    for name in ("config.json", FILE):
        if (folder / name).exists():
            raise CheckpointError(f"{folder / name} is there already: give another folder")
    fields = fields_of(config, kind)
    fields["dtype"] = plain(dtype or model.token_embedding.weight.dtype)
    tensors = gpt2_tensors(model) if kind == "gpt2" else llama_tensors(model)
    content = {name: t.to(dtype or t.dtype) for name, t in tensors.items()}
    require_numbers(content)
    said = (json.dumps(fields, indent=1) + "\n").encode()
    return write_files(folder, {FILE: content, "config.json": said}, "the model")


def require_numbers(tensors: Mapping[str, Tensor]) -> None:
    """Refuse to write weights that no reader takes."""
    for name, tensor in tensors.items():
        if tensor.numel() and not torch.stack(tensor.aminmax()).isfinite().all():
            bad = int((~tensor.isfinite()).sum())
            raise InputError(
                f"{name}: {bad} of {tensor.numel()} numbers are NaN or infinite in "
                f"{plain(tensor.dtype)}, and no file is written: give a wider dtype, or go "
                "back to an earlier state of the model"
            )


def require_alone(model: GPT, place: str) -> None:
    """Refuse a model that is quantized or steered, has experts, or was added to."""
    if any(isinstance(module, QuantizedLinear) for module in model.modules()):
        raise ConfigError(
            f"the model is quantized, which {place} cannot hold: save the model that it "
            "was made of, and quantize what is loaded"
        )
    if hasattr(model, "vectors"):  # of mathlm.interpret.Steered
        raise ConfigError(
            f"the model is steered, which {place} cannot hold: save model.source[0], and the "
            "vectors with torch.save(model.vectors, file)"
        )
    if any(isinstance(module, MixtureOfExperts) for module in model.modules()):
        raise ConfigError(
            f"the model has experts, which {place} cannot hold: save a checkpoint instead"
        )
    if added_parts(model):
        raise ConfigError(
            f"{place} holds a model alone; this one has {explain_parts(model)}, and "
            "save_adapter(model, folder) saves what was added"
        )


def kind_of(config: GPTConfig) -> str:
    """The type of model that has the choices of a configuration."""
    require_no_variant(config, "save_pretrained")
    kinds = {
        "gpt2": {"norm": "layer", "position": "learned", "bias": True, "qk_norm": False},
        "qwen2": {"norm": "rms", "position": "rope", "bias": "qkv", "qk_norm": False},
        "qwen3": {"norm": "rms", "position": "rope", "bias": False, "qk_norm": True},
        "llama": {"norm": "rms", "position": "rope", "qk_norm": False},
    }
    for kind, choices in kinds.items():
        if all(getattr(config, name) == value for name, value in choices.items()):
            return _refined(kind, config)
    found = {name: getattr(config, name) for name in kinds["gpt2"]}
    raise ConfigError(f"no type of Hugging Face model has {found}: save a checkpoint instead")


def _refined(kind: str, config: GPTConfig) -> str:
    """The type, once what it cannot say is excluded."""
    if kind == "llama" and config.window is not None and config.bias is False:
        return "mistral"
    acts = set((GPT2_ACTIVATIONS if kind == "gpt2" else GATES).values())
    usual = GPTConfig(d_model=config.d_model, n_heads=config.n_heads, vocab_size=1)
    fixed: dict[str, int | None] = {"window": None}
    if kind == "gpt2":
        fixed |= {"kv_heads": config.n_heads, "head_width": usual.head_width}
    if kind == "qwen2":
        fixed |= {"head_width": usual.head_width}
    wrong = {n: getattr(config, n) for n, v in fixed.items() if getattr(config, n) != v}
    if config.activation not in acts:
        wrong["activation"] = config.activation
    if wrong:
        raise ConfigError(f"a model of type {kind!r} has no {wrong}: save a checkpoint instead")
    return kind


def fields_of(config: GPTConfig, kind: str) -> dict[str, Any]:
    """``config.json`` of a configuration."""
    names = GPT2_FIELDS if kind == "gpt2" else LLAMA_FIELDS
    sizes = {their: getattr(config, our) for our, their in names.items() if our != "d_ff"}
    common = {
        "architectures": [CLASSES[kind]],
        "model_type": kind,
        "tie_word_embeddings": config.tie_embeddings,
        "bos_token_id": None,
        "eos_token_id": None,
    }
    own = gpt2_fields(config) if kind == "gpt2" else llama_fields(config, kind)
    return common | sizes | own


def gpt2_fields(config: GPTConfig) -> dict[str, Any]:
    """What GPT-2 has besides its sizes."""
    theirs = {our: their for their, our in reversed(GPT2_ACTIVATIONS.items())}
    drops = dict.fromkeys(("resid_pdrop", "embd_pdrop", "attn_pdrop"), config.dropout)
    activation = theirs[config.activation]
    return {"activation_function": activation, "n_inner": config.ff_width} | drops


def llama_fields(config: GPTConfig, kind: str) -> dict[str, Any]:
    """What a Llama has besides its sizes."""
    fields = {
        "intermediate_size": config.ff_width,
        "num_key_value_heads": config.kv_heads,
        "head_dim": config.head_width,
        "hidden_act": "silu",
        "attention_bias": config.bias is True,
        "mlp_bias": config.bias is True,
        "sliding_window": config.window,
        "attention_dropout": config.dropout,
        "rope_parameters": rope_parameters(config),
    }
    own = {"llama": {"sliding_window"}, "mistral": {"attention_bias", "mlp_bias"}}
    left = own.get(kind, {"attention_bias", "mlp_bias", "sliding_window"})
    return {name: value for name, value in fields.items() if name not in left}


def rope_parameters(config: GPTConfig) -> dict[str, Any]:
    """Base and scaling of rotary positions."""
    said: dict[str, Any] = {"rope_type": "default", "rope_theta": config.rope_base}
    scaling = config.rope_scaling
    if scaling is None:
        return said
    said["rope_type"] = scaling.kind
    values = {their: getattr(scaling, our) for their, our in KINDS[scaling.kind].items()}
    return said | {their: value for their, value in values.items() if value is not None}


def gpt2_tensors(model: GPT) -> dict[str, Tensor]:
    """Weights under GPT-2's names: q, k, v side by side, matrices stored (in, out)."""
    state = model.state_dict()
    for i in range(model.config.n_layers):
        at = f"blocks.{i}.attention."
        for end in ("weight", "bias"):
            parts = [state.pop(f"{at}W_{c}.{end}") for c in "qkv"]
            state[f"{at}W_q.{end}"] = torch.cat(parts)
    named = {their_name(n, GPT2_PARTS): t for n, t in stored_once(model, state).items()}
    turned = {n: t.mT if TRANSPOSED.fullmatch(n) else t for n, t in named.items()}
    return {n if n.startswith("lm_head") else f"transformer.{n}": t for n, t in turned.items()}


def llama_tensors(model: GPT) -> dict[str, Tensor]:
    """Weights under the names of a Llama."""
    named = {
        their_name(n, LLAMA_PARTS): t for n, t in stored_once(model, model.state_dict()).items()
    }
    return {n if n.startswith("lm_head") else f"model.{n}": t for n, t in named.items()}


def stored_once(model: GPT, state: dict[str, Tensor]) -> dict[str, Tensor]:
    """The state without a head that is the embedding."""
    tied = model.config.tie_embeddings
    return {n: t for n, t in state.items() if not (tied and n == "head.weight")}
