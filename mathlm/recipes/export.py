"""Write the GPT of a pretraining run as a Hugging Face folder."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from ..errors import CheckpointMismatchError
from ..models import GPT, GPTConfig, load_weights, save_pretrained
from ..train import load_checkpoint
from ..train.checkpoint import locate
from .command import execute, parse

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Write the GPT of a pretraining run as a Hugging Face folder, in safetensors.

    The folder is read by GPT.from_pretrained and by the transformers package. It holds no
    tokenizer: keep the one that the run was trained with.

        mathlm export runs/mine models/mine --dtype float16
        mathlm generate --model models/mine --prompt "To be, or"
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A checkpoint, or a folder of them, of which the newest is taken."""
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Where to write the model."""
    dtype: Literal["float16", "bfloat16", "float32"] | None = None
    """Of the weights; None: as they are."""


def load(run: Path) -> GPT:
    """The model of the newest checkpoint.

    Raises:
        CheckpointError: If there is no checkpoint.
        CheckpointMismatchError: If its model is not a GPT.
    """
    path = locate(run)
    sizes = json.loads((path / "state.json").read_text())["config"].get("model", {})
    if sizes.pop("class", None) != GPTConfig.__name__:
        raise CheckpointMismatchError(f"{path} holds no GPT: a run of recipes.pretrain does")
    dtype = next(iter(load_weights(path).values())).dtype
    model = GPT(GPTConfig(**sizes)).to(dtype)
    load_checkpoint(path, model)
    return model.eval()


def run(config: ExportConfig) -> Path:
    """Read and write; returns the folder."""
    dtype = None if config.dtype is None else getattr(torch, config.dtype)
    folder = save_pretrained(load(config.run), config.folder, dtype=dtype)
    log.info("%s", folder)
    return folder


def main(argv: Sequence[str] | None = None) -> Path:
    """The command ``mathlm export``."""
    return run(parse(ExportConfig, argv, prog="mathlm export"))


if __name__ == "__main__":
    execute(main)
