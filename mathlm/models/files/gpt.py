"""The files of a pretrained GPT, GPT-2 or Llama family, as our configuration and weights."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from torch import Tensor, nn

from ...errors import CheckpointError, CheckpointMismatchError, ConfigError, InputError
from ..gpt_config import GPTConfig
from ..transformer_config import TransformerConfig
from . import gguf
from .hugging_face import (
    FLOATS,
    fill,
    flag,
    number,
    read_config,
    require_field,
    require_values,
    rope_of,
)
from .variants import VARIANTS, parts_of, refuse_unbuilt, variant_choices
from .weights import load_weights, plain, refuse_pickle, shapes_only

LLAMAS = ("llama", "mistral", "qwen2", "qwen3")
GPT2_ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
GATES = {"silu": "swiglu", "swish": "swiglu"}
GPT2_FIELDS = {
    "vocab_size": "vocab_size",
    "context": "n_positions",
    "d_model": "n_embd",
    "n_layers": "n_layer",
    "n_heads": "n_head",
    "norm_eps": "layer_norm_epsilon",
}
LLAMA_FIELDS = {
    "vocab_size": "vocab_size",
    "context": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "norm_eps": "rms_norm_eps",
}
GPT2_ONLY = {  # what else would compute something else, and the value that it must have
    "scale_attn_weights": True,
    "scale_attn_by_inverse_layer_idx": False,
    "reorder_and_upcast_attn": False,
    "add_cross_attention": False,
    "quantization_config": None,
}
LLAMA_ONLY = {"use_sliding_window": False, "quantization_config": None}
GPT2_PARTS = {
    "token_embedding": "wte",
    "position": "wpe",
    "blocks": "h",
    "attention_norm": "ln_1",
    "attention.W_q": "attn.c_attn",  # one below the other
    "attention.W_k": "attn.c_attn",
    "attention.W_v": "attn.c_attn",
    "attention.W_o": "attn.c_proj",
    "feed_forward_norm": "ln_2",
    "feed_forward.W_in": "mlp.c_fc",
    "feed_forward.W_out": "mlp.c_proj",
    "final_norm": "ln_f",
    "head": "lm_head",
    "gamma": "weight",
    "beta": "bias",
}
LLAMA_PARTS = {
    "token_embedding": "embed_tokens",
    "blocks": "layers",
    "attention_norm": "input_layernorm",
    "attention.W_q": "self_attn.q_proj",
    "attention.W_k": "self_attn.k_proj",
    "attention.W_v": "self_attn.v_proj",
    "attention.W_o": "self_attn.o_proj",
    "attention.q_norm": "self_attn.q_norm",
    "attention.k_norm": "self_attn.k_norm",
    "feed_forward_norm": "post_attention_layernorm",
    "feed_forward.W_in": "mlp.up_proj",
    "feed_forward.W_gate": "mlp.gate_proj",
    "feed_forward.W_out": "mlp.down_proj",
    "final_norm": "norm",
    "head": "lm_head",
    "gamma": "weight",
}
TRANSPOSED = re.compile(r"h\.\d+\.(attn|mlp)\.c_(attn|proj|fc)\.weight")  # stored (in, out)
BUFFERS = re.compile(
    r"h\.\d+\.attn\.(masked_)?bias|layers\.\d+\.self_attn\.rotary_emb\.inv_freq"
)


def read_folder(
    folder: Path, dtype: torch.dtype
) -> tuple[GPTConfig, dict[str, Tensor], Callable[[str], str]]:
    """The configuration, the tensors with matrices (out, in), and their names for ours."""
    fields = read_config(folder)
    refuse_unbuilt(fields)
    kind = require_field(fields, "model_type", ("gpt2", *LLAMAS, *VARIANTS))
    config = config_of(fields, kind)
    tensors = canonical(load_weights(folder), "transformer." if kind == "gpt2" else "model.")
    parts = GPT2_PARTS if kind == "gpt2" else LLAMA_PARTS
    if kind in VARIANTS:
        parts = parts | parts_of(kind)
    if config.tie_embeddings:
        drop_tied_head(tensors, f"{parts['token_embedding']}.weight")
    for name in tensors:  # one at a time, so that only one has to be in memory twice
        tensors[name] = oriented(name, tensors[name], dtype, transposed=kind == "gpt2")
    return config, tensors, lambda name: their_name(name, parts)


def config_of(fields: Mapping[str, Any], kind: str) -> GPTConfig:
    """The configuration that the fields of a ``config.json`` describe."""
    if kind == "gpt2":
        return gpt2_config(fields)
    if kind in VARIANTS:
        return make_config(fields, LLAMA_FIELDS, **variant_choices(fields, kind))
    return llama_config(fields, kind)


def gpt2_config(fields: Mapping[str, Any]) -> GPTConfig:
    """The configuration that the fields of GPT-2's ``config.json`` describe."""
    require_values(fields, GPT2_ONLY)
    act = require_field(
        {"activation_function": "gelu_new"} | dict(fields),
        "activation_function",
        GPT2_ACTIVATIONS,
    )
    return make_config(
        fields,
        GPT2_FIELDS,
        activation=act,
        d_ff=fields.get("n_inner"),
        bias=True,
        tie_embeddings=flag(fields, "tie_word_embeddings", True),
    )


def llama_config(fields: Mapping[str, Any], kind: str) -> GPTConfig:
    """The configuration that the fields of a Llama's ``config.json`` describe."""
    require_values(fields, LLAMA_ONLY)
    layers = fields.get("layer_types") or []
    if not isinstance(layers, list) or any(layer != "full_attention" for layer in layers):
        raise CheckpointMismatchError(
            f"config.json has layer_types={layers!r}: all must be 'full_attention' here"
        )
    base, scaling = rope_of(fields)
    return make_config(
        fields,
        LLAMA_FIELDS,
        norm="rms",
        position="rope",
        activation=require_field(fields, "hidden_act", GATES),
        n_kv_heads=fields.get("num_key_value_heads"),
        d_head=fields.get("head_dim"),
        rope_base=base,
        rope_scaling=scaling,
        window=fields.get("sliding_window") if kind == "mistral" else None,
        qk_norm=kind == "qwen3",
        bias=bias_of(fields, kind),
        tie_embeddings=flag(fields, "tie_word_embeddings", False),
    )


def bias_of(fields: Mapping[str, Any], kind: str) -> Any:
    """Which linear maps have a bias."""
    attention, mlp = flag(fields, "attention_bias", False), flag(fields, "mlp_bias", False)
    if attention != mlp or (mlp and kind != "llama"):
        raise CheckpointMismatchError(
            f"config.json has attention_bias={attention} and mlp_bias={mlp} with "
            f"model_type={kind!r}: here both are False, or, for 'llama', both True"
        )
    return "qkv" if kind == "qwen2" else attention


def make_config(
    fields: Mapping[str, Any], names: Mapping[str, str], **choices: Any
) -> GPTConfig:
    """A configuration of the fields that must be there, and choices."""
    missing = [their for their in names.values() if their not in fields]
    if missing:
        raise CheckpointMismatchError(f"config.json lacks {', '.join(missing)}")
    sizes = {our: fields[their] for our, their in names.items()}
    if type(sizes["norm_eps"]) is int:
        sizes["norm_eps"] = number(names["norm_eps"], sizes["norm_eps"])
    try:
        return GPTConfig(**sizes, **choices)
    except ConfigError as error:
        raise CheckpointMismatchError(f"config.json describes no GPT: {error}") from error


def canonical(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Tensors without the prefix that some files have, and without stored constants."""
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        short = name.removeprefix(prefix)
        if short in renamed:
            raise CheckpointMismatchError(f"the weights hold {short} under two names")
        if not BUFFERS.fullmatch(short):
            renamed[short] = tensor
    return renamed


def drop_tied_head(tensors: dict[str, Tensor], embedding: str) -> None:
    """Leave out a head that is the embedding; refuse one that is not."""
    head = tensors.pop("lm_head.weight", None)
    if head is not None and not torch.equal(head, tensors.get(embedding, head)):
        raise CheckpointMismatchError(
            f"config.json ties the head to the embedding, but lm_head.weight is not {embedding}"
        )


def oriented(name: str, tensor: Tensor, dtype: torch.dtype, *, transposed: bool) -> Tensor:
    """A weight in the dtype, (out, in) also where it is stored (in, out)."""
    if tensor.dtype not in FLOATS:
        raise CheckpointMismatchError(f"weight {name} is {plain(tensor.dtype)}")
    tensor = tensor.to(dtype)
    if transposed and tensor.ndim == 2 and TRANSPOSED.fullmatch(name):
        return tensor.mT.contiguous()
    return tensor


def their_name(name: str, parts: Mapping[str, str]) -> str:
    """Name that the folder has for one of our parameters."""
    listed = "|".join(map(re.escape, sorted(parts, key=len, reverse=True)))
    return re.sub(rf"(?<![^.])({listed})(?![^.])", lambda m: parts[m[0]], name)


C = TypeVar("C", GPTConfig, TransformerConfig)
M = TypeVar("M", bound=nn.Module)
LONGEST = 2**24  # positions; the angles of more would not fit into memory


@dataclass(frozen=True)
class Read(Generic[C]):
    """A configuration and tensors, as files gave them.

    Args:
        config: Sizes and choices.
        tensors: Weights under the names of the files, matrices (out, in).
        rename: Their name for one of our parameters.
        source: Which files, for messages.
    """

    config: C
    tensors: dict[str, Tensor]
    rename: Callable[[str], str]
    source: str


def read_model(path: Path, dtype: torch.dtype) -> Read[GPTConfig]:
    """What a folder of Hugging Face or a GGUF file holds; all weights in one dtype."""
    if dtype not in FLOATS:
        listed = ", ".join(map(plain, FLOATS))
        raise InputError(f"dtype={dtype} is not one of {listed}")
    if path.is_dir():
        return Read(*read_folder(path, dtype), f"weights of {path}")
    if not path.is_file():
        raise CheckpointError(f"there is no folder and no file {path}")
    refuse_pickle(path)
    if path.suffix == ".safetensors":
        raise CheckpointMismatchError(f"{path} is a part of a model: give its folder")
    return Read(*gguf.read_gguf(path, dtype), gguf.their_name, str(path))


def fill_model(make: Callable[[], M], read: Read) -> M:
    """A model made without values, and the tensors put in place of its weights."""
    config, held = read.config, len(read.tensors)
    if config.n_layers > max(100, held):  # too many to be made and listed
        raise CheckpointMismatchError(
            f"{read.source}: {config.n_layers} layers do not fit the {held} tensors there are"
        )
    if config.context > LONGEST:
        raise CheckpointMismatchError(
            f"{read.source}: a context of {config.context} tokens is more than {LONGEST}"
        )
    try:
        with shapes_only():
            model = make()
    except (RuntimeError, TypeError, OverflowError) as error:  # a size beyond int64
        raise CheckpointMismatchError(f"{read.source}: no such model: {error}") from error
    fill(model, read.tensors, read.rename, f"{read.source} do not fit the configuration")
    return model
