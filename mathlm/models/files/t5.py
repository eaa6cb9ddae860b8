"""A Hugging Face folder of a T5 as our configuration and our weights."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from ...errors import CheckpointMismatchError, ConfigError, InputError
from ...layers.feedforward import GATES
from ..transformer_config import TransformerConfig
from .gpt import Read, flag, number, require_values
from .hugging_face import FLOATS, read_config, require_field
from .weights import load_weights, plain

ACTIVATIONS = {  # feed_forward_proj: what dense_act_fn says beside it, and ours
    "relu": ("relu", "relu"),
    "gelu": ("gelu", "gelu"),
    "gelu_new": ("gelu_new", "gelu_tanh"),
    "silu": ("silu", "silu"),
    "gated-gelu": ("gelu_new", "geglu_tanh"),
    "gated-silu": ("silu", "swiglu"),
}
FIELDS = {
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "d_head": "d_kv",
    "d_ff": "d_ff",
    "n_layers": "num_layers",
    "n_heads": "num_heads",
}
DEFAULTS: dict[str, Any] = {  # what older files leave out
    "num_decoder_layers": None,
    "relative_attention_num_buckets": 32,
    "relative_attention_max_distance": 128,
    "layer_norm_epsilon": 1e-6,
    "feed_forward_proj": "relu",
    "n_positions": 512,
}
ONLY = {"is_encoder_decoder": True, "is_decoder": False, "quantization_config": None}
SHARED = "shared.weight"
COPIES = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight")
UNUSED = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
PARTS = {
    "source_embedding": "shared",
    "target_embedding": "shared",
    "source_position": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    "target_position": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    "encoder_norm": "encoder.final_layer_norm",
    "decoder_norm": "decoder.final_layer_norm",
    "head": "lm_head",
}
LAYERS = {  # of a block, by its stack and the first part of our name
    ("encoder", "attention"): "layer.0.SelfAttention",
    ("encoder", "attention_norm"): "layer.0.layer_norm",
    ("encoder", "feed_forward"): "layer.1.DenseReluDense",
    ("encoder", "feed_forward_norm"): "layer.1.layer_norm",
    ("decoder", "attention"): "layer.0.SelfAttention",
    ("decoder", "attention_norm"): "layer.0.layer_norm",
    ("decoder", "cross_attention"): "layer.1.EncDecAttention",
    ("decoder", "cross_attention_norm"): "layer.1.layer_norm",
    ("decoder", "feed_forward"): "layer.2.DenseReluDense",
    ("decoder", "feed_forward_norm"): "layer.2.layer_norm",
}
MAPS = {"W_q": "q", "W_k": "k", "W_v": "v", "W_o": "o", "W_out": "wo", "gamma": "weight"}
GATED = MAPS | {"W_gate": "wi_0", "W_in": "wi_1"}
PLAIN = MAPS | {"W_in": "wi"}


def read_t5(folder: Path, dtype: torch.dtype) -> Read[TransformerConfig]:
    """What the folder holds: a configuration, and tensors of one dtype under its names."""
    if dtype not in FLOATS:
        raise InputError(f"dtype={dtype} is not one of {', '.join(map(plain, FLOATS))}")
    fields = read_config(folder)
    require_field(fields, "model_type", ("t5",))
    tensors = without_copies(load_weights(folder))
    config = config_of(fields, tied=drop_tied_head(tensors, fields))
    if config.decoder_layers > max(100, len(tensors)):  # too many to be made and listed
        raise CheckpointMismatchError(
            f"config.json of {folder} has num_decoder_layers={config.decoder_layers}, but the "
            f"file holds {len(tensors)} tensors"
        )
    for name, tensor in tensors.items():
        if tensor.dtype not in FLOATS:
            raise CheckpointMismatchError(f"weight {name} is {plain(tensor.dtype)}")
        tensors[name] = tensor.to(dtype)
    maps = GATED if config.activation in GATES else PLAIN
    return Read(config, tensors, lambda name: their_name(name, maps), f"weights of {folder}")


def config_of(fields: Mapping[str, Any], *, tied: bool) -> TransformerConfig:
    """The configuration that the fields of ``config.json`` describe.

    Raises:
        CheckpointMismatchError: If they describe another model, or a field is missing or wrong.
    """
    require_values(fields, ONLY)
    missing = [their for their in FIELDS.values() if their not in fields]
    if missing:
        raise CheckpointMismatchError(f"config.json lacks {', '.join(missing)}")
    given = DEFAULTS | dict(fields)
    sizes = {our: given[their] for our, their in FIELDS.items()}
    try:
        return TransformerConfig(
            **sizes,
            **T5,
            context=given["n_positions"],
            n_decoder_layers=given["num_decoder_layers"],
            n_buckets=given["relative_attention_num_buckets"],
            max_distance=given["relative_attention_max_distance"],
            norm_eps=number("layer_norm_epsilon", given["layer_norm_epsilon"]),
            activation=activation_of(given),
            tie_embeddings="all" if tied else "inputs",
            scale_head=scales_head(fields),
        )
    except ConfigError as error:
        raise CheckpointMismatchError(f"config.json describes no T5: {error}") from error


T5: dict[str, Any] = {
    "norm": "rms",
    "norm_first": True,
    "position": "relative",
    "bias": False,
    "scale_embeddings": False,
    "attention_scale": False,
}


def activation_of(fields: Mapping[str, Any]) -> Any:
    """Of the feed-forward network; two other fields may say it again, not otherwise."""
    dense, ours = require_field(fields, "feed_forward_proj", ACTIVATIONS)
    gated = fields["feed_forward_proj"].startswith("gated-")
    require_field({"dense_act_fn": dense} | dict(fields), "dense_act_fn", (dense,))
    require_field({"is_gated_act": gated} | dict(fields), "is_gated_act", (gated,))
    return ours


def scales_head(fields: Mapping[str, Any]) -> bool:
    """Whether the head reads smaller vectors: said, or meant by files that tie it."""
    tied = flag(fields, "tie_word_embeddings", True)
    return flag(fields, "scale_decoder_outputs", tied)


def drop_tied_head(tensors: dict[str, Tensor], fields: Mapping[str, Any]) -> bool:
    """Leave out a head that is the embedding; whether there was none of its own."""
    head = tensors.get("lm_head.weight")
    if head is not None and not same(head, tensors.get(SHARED, head)):
        return False
    if head is None and not flag(fields, "tie_word_embeddings", True):
        raise CheckpointMismatchError(
            "config.json has tie_word_embeddings=False, but the weights lack lm_head.weight"
        )
    tensors.pop("lm_head.weight", None)
    return True


def without_copies(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors without copies of the shared embedding and the table that nothing reads.

    Raises:
        CheckpointMismatchError: If a copy differs.
    """
    kept = {name: t for name, t in tensors.items() if name not in (UNUSED, *COPIES)}
    for name in COPIES:
        copy = tensors.get(name)
        if copy is not None and not same(copy, kept.setdefault(SHARED, copy)):
            raise CheckpointMismatchError(f"weight {name} is not {SHARED}: T5 has one table")
    return kept


def same(a: Tensor, b: Tensor) -> bool:
    """Whether two tensors are equal in dtype, shape and every entry."""
    return a.dtype == b.dtype and torch.equal(a, b)


def their_name(name: str, maps: Mapping[str, str]) -> str:
    """Name that the folder has for one of our parameters."""
    if match := re.fullmatch(r"(encoder|decoder)\.(\d+)\.(\w+)\.(.+)", name):
        stack, i, part, rest = match.groups()
        inside = ".".join(maps.get(word, word) for word in rest.split("."))
        return f"{stack}.block.{i}.{LAYERS[stack, part]}.{inside}"
    part, kind = name.rsplit(".", 1)
    return f"{PARTS[part]}.{maps.get(kind, kind)}"
