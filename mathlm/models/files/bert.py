"""A Hugging Face folder of a BERT as our configuration and our weights."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from torch import Tensor, nn

from ...errors import CheckpointMismatchError, ConfigError
from ..bert_config import BertConfig
from .hugging_face import fill, require_field
from .weights import shapes_only

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
Model = TypeVar("Model", bound=nn.Module)


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


def canonical(
    tensors: Mapping[str, Tensor], left_out: tuple[str, ...] = LEFT_OUT
) -> dict[str, Tensor]:
    """Tensors under the names of today, without those that the model does not have.

    Args:
        tensors: Of the file, under its names.
        left_out: How the names begin that the model does not have.

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
        if not name.startswith(left_out):
            renamed[name] = tensor
    return renamed


def their_name(name: str) -> str:
    """Name that the folder has for one of our parameters."""
    parts = "|".join(map(re.escape, sorted(PARTS, key=len, reverse=True)))
    return re.sub(rf"(?<![^.])({parts})(?![^.])", lambda m: PARTS[m[0]], name)


def fill_model(
    make: Callable[[BertConfig], Model],
    config: BertConfig,
    tensors: Mapping[str, Tensor],
    rename: Callable[[str], str],
    folder: Path,
) -> Model:
    """The model that ``make`` makes of a configuration, with the tensors as its weights.

    Args:
        make: From a configuration to a model.
        config: As :func:`config_of` read it.
        tensors: As :func:`canonical` named them.
        rename: Their name for one of ours.
        folder: For messages.

    Raises:
        CheckpointMismatchError: If there is no model of such sizes, or the tensors do not fit.
        CheckpointCorruptError: If an entry is NaN or infinite.
    """
    if config.n_layers > max(100, len(tensors)):  # too many to be made and listed
        raise CheckpointMismatchError(
            f"config.json of {folder} has num_hidden_layers={config.n_layers}, but the "
            f"file holds {len(tensors)} tensors"
        )
    try:
        with shapes_only():
            model = make(config)
    except (RuntimeError, TypeError, OverflowError) as error:  # a size beyond int64
        raise CheckpointMismatchError(f"{folder}: no such model: {error}") from error
    fill(model, tensors, rename, f"weights of {folder} do not fit its config.json")
    return model
