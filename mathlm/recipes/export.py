"""Write a GPT, of a run or tuned, as a Hugging Face folder or as a GGUF file."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from ..chat import folder as chat_folder
from ..errors import CheckpointMismatchError, ConfigError
from ..models import GPT, GPTConfig, load_weights, save_gguf, save_pretrained
from ..models.gpt_config import require_choices
from ..train import load_checkpoint
from ..train.checkpoint import locate
from .command import Maybe, execute, parse

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Write a GPT as a Hugging Face folder, in safetensors, or as a GGUF file.

    A folder is read by GPT.from_pretrained and by the transformers package. It holds no
    tokenizer: keep the one that the run was trained with. A file is read by GPT.from_pretrained
    and by llama.cpp.

        mathlm export runs/mine models/mine --dtype float16
        mathlm generate --model models/mine --prompt "To be, or"
        mathlm export models/tuned tuned.gguf --tokenizer base.gguf
        mathlm export runs/mine models/mine --format gguf
    """

    run: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="RUN")]
    """A checkpoint, a folder of them, of which the newest is taken, a folder of a model, or
    one of an adapter, which is made part of its base."""
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Where to write the model."""
    format: Maybe[Literal["hf", "gguf"]] = None
    """A Hugging Face folder, or a GGUF file, whose name ends in .gguf; None: as it is named."""
    dtype: Maybe[Literal["float16", "bfloat16", "float32"]] = None
    """Of the weights; None: as they are, and in a GGUF file float32."""
    tokenizer: Maybe[Path] = None
    """For a GGUF file: one whose tokenizer is copied, as of the model tuned; None: none."""

    def __post_init__(self) -> None:
        if self.format is not None:
            require_choices(self, {"format": ["hf", "gguf"]})
        named = self.folder.suffix == ".gguf"
        if named and self.format == "hf":
            raise ConfigError(
                f"--format hf writes a folder, and {self.folder} is the name of a GGUF file: "
                "give another name, or --format gguf"
            )
        if self.tokenizer is not None and not self.is_file:
            raise ConfigError(
                f"--tokenizer is for a GGUF file, and {self.folder} is a folder: add "
                "--format gguf, name a file that ends in .gguf, or leave the option out"
            )

    @property
    def is_file(self) -> bool:
        """Whether a GGUF file is written."""
        return self.format == "gguf" or self.folder.suffix == ".gguf"

    @property
    def place(self) -> Path:
        """The folder, or the file with its ending."""
        if self.is_file and self.folder.suffix != ".gguf":
            return self.folder.with_name(f"{self.folder.name}.gguf")
        return self.folder


def load(run: Path) -> GPT:
    """The model of the newest checkpoint, or of a folder that holds a model or an adapter.

    Raises:
        CheckpointError: If there is no checkpoint.
        CheckpointMismatchError: If its model is not a GPT.
    """
    if (run / "config.json").is_file():
        return GPT.from_pretrained(run).eval()
    if (chat_folder.read(run) or {}).get("kind") == "adapter":
        return chat_folder.load_whole(run).model
    path = locate(run)
    sizes = json.loads((path / "state.json").read_text())["config"].get("model", {})
    if sizes.pop("class", None) != GPTConfig.__name__:
        raise CheckpointMismatchError(f"{path} holds no GPT: a run of recipes.pretrain does")
    dtype = next(iter(load_weights(path).values())).dtype
    model = GPT(GPTConfig(**sizes)).to(dtype)
    load_checkpoint(path, model)
    return model.eval()


def run(config: ExportConfig) -> Path:
    """Read and write; returns the folder, or the file."""
    dtype = None if config.dtype is None else getattr(torch, config.dtype)
    if config.is_file:
        options: dict[str, Any] = {
            "tokenizer": config.tokenizer,
            "dtype": dtype or torch.float32,
        }
        place = save_gguf(load(config.run), config.place, **options)
    else:
        place = save_pretrained(load(config.run), config.place, dtype=dtype)
    log.info("%s", place)
    return place


def main(argv: Sequence[str] | None = None) -> Path:
    """The command ``mathlm export``."""
    return run(parse(ExportConfig, argv, prog="mathlm export"))


if __name__ == "__main__":
    execute(main)
