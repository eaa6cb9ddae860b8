"""A Hugging Face folder of a BERT as our configuration and our weights."""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from ..errors import CheckpointMismatchError, ConfigError
from .bert_config import BertConfig
from .hugging_face import require_field

ACTIVATIONS = {
    "gelu": "gelu",
    "gelu_new": "gelu_tanh",
    "gelu_pytorch_tanh": "gelu_tanh",
    "relu": "relu",
    "silu": "silu",
    "swish": "silu",
}
FIELDS = {
    "vocab_size": "vocab_size",
    "context": "max_position_embeddings",
    "d_model": "hidden_size",
    "n_layers": "num_hidden_layers",
    "n_heads": "num_attention_heads",
    "d_ff": "intermediate_size",
    "n_segments": "type_vocab_size",
    "norm_eps": "layer_norm_eps",
}
PARTS = {
    "token_embedding": "embeddings.word_embeddings",
    "position": "embeddings.position_embeddings",
    "segment_embedding": "embeddings.token_type_embeddings",
    "embedding_norm": "embeddings.LayerNorm",
    "blocks": "encoder.layer",
    "attention.W_q": "attention.self.query",
    "attention.W_k": "attention.self.key",
    "attention.W_v": "attention.self.value",
    "attention.W_o": "attention.output.dense",
    "attention_norm": "attention.output.LayerNorm",
    "feed_forward.W_in": "intermediate.dense",
    "feed_forward.W_out": "output.dense",
    "feed_forward_norm": "output.LayerNorm",
    "gamma": "weight",
    "beta": "bias",
}
OLD_NORM = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}
LEFT_OUT = ("pooler.", "cls.", "embeddings.position_ids")


def config_of(fields: Mapping[str, Any], dropout: float | int) -> BertConfig:
    """The configuration that the fields of ``config.json`` describe.

    Raises:
        CheckpointMismatchError: If they describe another model, or a field is missing or wrong.
    """
    require_field(fields, "model_type", ("bert",))
    require_field(
        {"position_embedding_type": "absolute"} | dict(fields),
        "position_embedding_type",
        ("absolute",),
    )
    for name in ("is_decoder", "add_cross_attention"):
        require_field({name: False} | dict(fields), name, (False,))
    activation = require_field(fields, "hidden_act", ACTIVATIONS)
    missing = [their for their in FIELDS.values() if their not in fields]
    if missing:
        raise CheckpointMismatchError(f"config.json lacks {', '.join(missing)}")
    sizes = {our: fields[their] for our, their in FIELDS.items()}
    try:
        return BertConfig(**sizes, activation=activation, dropout=dropout)
    except ConfigError as error:
        raise CheckpointMismatchError(f"config.json describes no BERT: {error}") from error


def canonical(tensors: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Tensors under the names of today, without those that the model does not have.

    Raises:
        CheckpointMismatchError: If two of them have one name today.
    """
    renamed: dict[str, Tensor] = {}
    for name, tensor in tensors.items():
        name = name.removeprefix("bert.")
        for old, new in OLD_NORM.items():
            name = name.replace(old, new)
        if name in renamed:
            raise CheckpointMismatchError(f"the weights hold {name} under two names")
        if not name.startswith(LEFT_OUT):
            renamed[name] = tensor
    return renamed


def their_name(name: str) -> str:
    """Name that the folder has for one of our parameters."""
    parts = "|".join(map(re.escape, sorted(PARTS, key=len, reverse=True)))
    return re.sub(rf"(?<![^.])({parts})(?![^.])", lambda m: PARTS[m[0]], name)
