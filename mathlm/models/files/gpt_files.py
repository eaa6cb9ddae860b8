"""What the files of a pretrained GPT hold, whatever their format, and a model made of it."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

import torch
from torch import Tensor, nn

from ...errors import CheckpointError, CheckpointMismatchError, InputError
from ..gpt_config import GPTConfig
from ..transformer_config import TransformerConfig
from . import gguf, gpt_folder
from .hugging_face import FLOATS, fill
from .weights import plain, refuse_pickle, shapes_only

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
        return Read(*gpt_folder.read_folder(path, dtype), f"weights of {path}")
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
