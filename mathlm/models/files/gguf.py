"""A GGUF file of the Llama architecture as our configuration and our weights."""

import os
import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ...errors import CheckpointMismatchError, ConfigError
from ...functional import half_split_order
from ...text import gguf_numbers, open_gguf
from ..gpt_config import GPTConfig

FIELDS = {
    "context": "context_length",
    "d_model": "embedding_length",
    "n_layers": "block_count",
    "n_heads": "attention.head_count",
    "n_kv_heads": "attention.head_count_kv",
    "d_head": "attention.key_length",
    "d_ff": "feed_forward_length",
    "norm_eps": "attention.layer_norm_rms_epsilon",
    "rope_base": "rope.freq_base",
}
DEFAULTS = {"n_kv_heads": None, "d_head": None, "rope_base": 10_000.0}  # where absent
CHECKED = {"vocab_size", "attention.value_length", "rope.dimension_count"}
PARTS = {
    "token_embedding": "token_embd",
    "blocks": "blk",
    "attention_norm": "attn_norm",
    "attention.W_q": "attn_q",
    "attention.W_k": "attn_k",
    "attention.W_v": "attn_v",
    "attention.W_o": "attn_output",
    "feed_forward_norm": "ffn_norm",
    "feed_forward.W_in": "ffn_up",
    "feed_forward.W_gate": "ffn_gate",
    "feed_forward.W_out": "ffn_down",
    "final_norm": "output_norm",
    "head": "output",
    "gamma": "weight",
}
TURNED = re.compile(r"blk\.\d+\.attn_[qk]\.weight")


def read_gguf(
    path: str | os.PathLike[str], dtype: torch.dtype
) -> tuple[GPTConfig, dict[str, Tensor]]:
    """The configuration of a GGUF file and its tensors, under the names of the file.

    Quantized numbers are written out. Queries and keys, whose features are paired with their
    neighbors in these files, are put into the order that mathlm's models turn: see
    :func:`mathlm.functional.half_split_order`.

    Raises:
        DataError, DataNotFoundError: As :func:`mathlm.text.open_gguf`.
        CheckpointMismatchError: If the file is of another architecture, or says something of
            the model that this one cannot be told.
    """
    reader = open_gguf(path)
    shapes = {tensor.name: tensor.shape.tolist()[::-1] for tensor in reader.tensors}
    fields = {name: field.contents() for name, field in reader.fields.items() if plain(field)}
    config = config_of(fields, shapes, str(path))
    tensors = {t.name: written_out(t, config, dtype) for t in reader.tensors}
    return config, tensors


def plain(field: Any) -> bool:
    """Whether a field is of the model: vocabularies take long to read and are not."""
    return len(field.types) == 1 or not field.name.startswith("tokenizer.")


def config_of(
    fields: Mapping[str, Any], shapes: Mapping[str, list[int]], source: str
) -> GPTConfig:
    """The configuration that the metadata of a file describe."""
    architecture = fields.get("general.architecture")
    if architecture != "llama":
        raise CheckpointMismatchError(
            f"{source} is of the architecture {architecture!r}; mathlm reads 'llama'"
        )
    found = {n.removeprefix("llama."): v for n, v in fields.items() if n.startswith("llama.")}
    if strange := sorted(found.keys() - set(FIELDS.values()) - CHECKED):
        raise CheckpointMismatchError(
            f"{source} has fields that this model does not have: "
            + ", ".join(f"llama.{name}={found[name]!r}" for name in strange)
        )
    missing = [t for our, t in FIELDS.items() if t not in found and our not in DEFAULTS]
    if missing or len(shapes.get("token_embd.weight", ())) != 2:
        lacks = ", ".join(f"llama.{name}" for name in missing) or "a matrix token_embd.weight"
        raise CheckpointMismatchError(f"{source} lacks {lacks}")
    sizes = {our: found.get(their, DEFAULTS.get(our)) for our, their in FIELDS.items()}
    config = make_config(sizes, shapes, source)
    require_agreement(found, config, source)
    return config


def make_config(
    sizes: Mapping[str, Any], shapes: Mapping[str, list[int]], source: str
) -> GPTConfig:
    """A configuration of the sizes; the tensors tell the vocabulary, and if the head is one."""
    try:
        return GPTConfig(
            **sizes,
            vocab_size=shapes["token_embd.weight"][0],
            norm="rms",
            activation="swiglu",
            position="rope",
            bias=False,
            tie_embeddings="output.weight" not in shapes,
        )
    except (ConfigError, TypeError) as error:
        raise CheckpointMismatchError(f"{source} describes no GPT: {error}") from error


def require_agreement(found: Mapping[str, Any], config: GPTConfig, source: str) -> None:
    """Refuse fields that say again, and differently, what others or the tensors say."""
    expected = {
        "vocab_size": config.vocab_size,
        "attention.value_length": config.head_width,
        "rope.dimension_count": config.head_width,
    }
    for name, value in expected.items():
        if found.get(name, value) != value:
            raise CheckpointMismatchError(
                f"{source} has llama.{name}={found[name]!r}, this model needs {value}"
            )


def written_out(tensor: Any, config: GPTConfig, dtype: torch.dtype) -> Tensor:
    """One tensor of the file, not quantized, its features in the order of mathlm."""
    numbers = gguf_numbers(tensor)
    numbers = numbers.reshape(tensor.shape.tolist()[::-1])
    own = numbers.copy() if np.shares_memory(numbers, tensor.data) else numbers
    weight = torch.from_numpy(own).to(dtype)
    return half_split(weight, config.head_width) if TURNED.fullmatch(tensor.name) else weight


def half_split(weight: Tensor, d_head: int) -> Tensor:
    """The rows of each head, in the order of half-split pairs instead of adjacent ones."""
    if weight.shape[0] % d_head:
        return weight  # of a wrong shape, which is refused with all others
    return weight.unflatten(0, (-1, d_head))[:, half_split_order(d_head)].flatten(0, 1)


def their_name(name: str) -> str:
    """Name that the file has for one of our parameters."""
    parts = "|".join(map(re.escape, sorted(PARTS, key=len, reverse=True)))
    return re.sub(rf"(?<![^.])({parts})(?![^.])", lambda m: PARTS[m[0]], name)
