"""Make an adapter part of its base: one folder that needs no other."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import torch
import tyro

from ..chat import folder as chat_folder
from ..errors import ConfigError
from ..models import save_pretrained
from ..models.files.atomic import write_files
from ..text.tokenizers.hugging_face import hugging_face_files
from .command import Maybe, execute, parse

log = logging.getLogger(__name__)


@dataclass(frozen=True, kw_only=True)
class MergeConfig:
    """Make an adapter part of its base: a folder of a whole model, which needs no other.

    The folder holds the weights as Hugging Face does, the tokenizer and the chat template, and
    is read by every command, by GPT.from_pretrained and by the transformers package.

        mathlm merge runs/my-smollm2-lora models/mine
        mathlm chat --model models/mine
    """

    adapter: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="ADAPTER")]
    """A folder that sft, dpo, ppo or grpo wrote."""
    folder: Annotated[tyro.conf.Positional[Path], tyro.conf.arg(metavar="FOLDER")]
    """Where to write the model."""
    dtype: Maybe[Literal["float16", "bfloat16", "float32"]] = None
    """Of the weights; None: as those of the base are loaded."""


def run(config: MergeConfig) -> Path:
    """Load, merge and write; returns the folder."""
    if (chat_folder.read(config.adapter) or {}).get("kind") != "adapter":
        raise ConfigError(
            f"{config.adapter} is not the folder of an adapter, which sft, dpo, ppo and grpo "
            "write where nothing else is asked for: there is nothing to merge"
        )
    chat_model = chat_folder.load_whole(config.adapter)
    dtype = None if config.dtype is None else getattr(torch, config.dtype)
    theirs = hugging_face_files(chat_model.tokenizer)
    save_pretrained(chat_model.model, config.folder, dtype=dtype)
    said = {"kind": "model", "base": str(config.adapter.resolve()), "marks": False}
    chat_folder.write(config.folder, chat_model, quantize=None, **said)
    write_files(config.folder, theirs, "the tokenizer")
    log.info("%s", config.folder)
    return config.folder


def main(argv: Sequence[str] | None = None) -> Path:
    """The command ``mathlm merge``."""
    return run(parse(MergeConfig, argv, prog="mathlm merge"))


if __name__ == "__main__":
    execute(main)
