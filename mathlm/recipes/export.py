"""Write a GPT, of a run or tuned, as a Hugging Face folder or as a GGUF file."""

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import torch
import tyro

from ..chat import folder as chat_folder
from ..chat.model import ChatModel, format_from
from ..errors import CheckpointMismatchError, ConfigError, HashMismatchError
from ..models import GPT, GPTConfig, load_weights, save_gguf, save_pretrained
from ..models.files.atomic import write_files
from ..models.files.gguf_saving import bpe_fields
from ..models.gpt_config import require_choices
from ..text import ByteBPE, Bytes
from ..text.tokenizers.hugging_face import FILES, hugging_face_files
from ..text.tokenizers.named import BPE, Tokenizer, beside_weights, load_tokenizer
from ..train import load_checkpoint
from ..train.checkpoint import locate
from .command import Maybe, execute, parse
from .result import places, say

UNKNOWN = "none: the run's is not known; give --tokenizer FILE"


@dataclass(frozen=True, kw_only=True)
class ExportConfig:
    """Write a GPT as a Hugging Face folder, in safetensors, or as a GGUF file.

    A folder is read by every command, by GPT.from_pretrained and by the transformers package:
    it holds the tokenizer too, in a form for each, and of a tuned model the chat template. A
    file is read by GPT.from_pretrained and by llama.cpp; it holds the tokenizer if llama.cpp
    has a name for how it cuts words, which it has for GPT-2 and SmolLM2. The table at the end
    says what was written.

        mathlm export runs/mine models/mine --dtype float16
        mathlm generate --model models/mine --prompt "To be, or"
        mathlm export runs/old models/mine --tokenizer tokens.bin.tokenizer.json
        mathlm export models/tuned tuned.gguf --tokenizer base.gguf
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
    tokenizer: Maybe[str] = None
    """'bytes', a file of ByteBPE.save, a GGUF file or a folder, whose tokenizer is written;
    None: that of the run or of the folder, where it is known."""

    def __post_init__(self) -> None:
        if self.format is not None:
            require_choices(self, {"format": ["hf", "gguf"]})
        named = self.folder.suffix == ".gguf"
        if named and self.format == "hf":
            raise ConfigError(
                f"--format hf writes a folder, and {self.folder} is the name of a GGUF file: "
                "give another name, or --format gguf"
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
    model = new_model(path)
    load_checkpoint(path, model)
    return model.eval()


def new_model(path: Path) -> GPT:
    """A GPT of the sizes and the format of a checkpoint, whose weights are not loaded yet.

    Raises:
        CheckpointMismatchError: If its model is not a GPT.
    """
    sizes = json.loads((path / "state.json").read_text())["config"].get("model")
    if not isinstance(sizes, dict) or sizes.pop("class", None) != GPTConfig.__name__:
        raise CheckpointMismatchError(f"{path} holds no GPT: a run of recipes.pretrain does")
    dtype = next(iter(load_weights(path).values())).dtype
    return GPT(GPTConfig(**sizes)).to(dtype)


def recorded_sha256(run: Path) -> str | None:
    """SHA-256 of the tokenizer that a run recorded; None of a folder of a model."""
    if (run / "config.json").is_file() or chat_folder.read(run) is not None:
        return None
    data = json.loads((locate(run) / "state.json").read_text())["config"].get("data", {})
    return data.get("tokenizer_sha256")


def own_tokenizer(run: Path, vocab_size: int) -> Tokenizer | None:
    """The tokenizer beside the weights, or above the checkpoint; that of bytes needs none."""
    recorded, said = recorded_sha256(run), chat_folder.read(run)
    found = beside_weights(run) or beside_weights(run.parent if recorded else run)
    if found is not None and recorded in (None, found.sha256):
        return found
    if said is not None:
        return Bytes(format_from(said["turns"], chat_folder.FILE).special)
    plain = vocab_size == Bytes.vocab_size and recorded in (None, Bytes.sha256)
    return Bytes() if plain else None


def named_tokenizer(config: ExportConfig, vocab_size: int) -> Tokenizer | None:
    """The tokenizer of ``--tokenizer``, or the run's own.

    Raises:
        HashMismatchError: If it is not the one that the run recorded.
        ConfigError: If the model has no row for one of its tokens.
    """
    if config.tokenizer is None:
        return own_tokenizer(config.run, vocab_size)
    tokenizer, recorded = load_tokenizer(config.tokenizer), recorded_sha256(config.run)
    if recorded is not None and tokenizer.sha256 != recorded:
        raise HashMismatchError(
            f"--tokenizer {config.tokenizer} has sha256 {tokenizer.sha256}, and {config.run} "
            f"was trained with {recorded}: give the file that --tokenizer was then"
        )
    if tokenizer.vocab_size > vocab_size:
        raise ConfigError(
            f"--tokenizer {config.tokenizer} has a tokenizer of {tokenizer.vocab_size} tokens, "
            f"and the model one of {vocab_size}: give the one that it was trained with"
        )
    return tokenizer


def write_folder(config: ExportConfig, model: GPT, tokenizer: Tokenizer | None) -> str:
    """Write a Hugging Face folder; returns what is said of the tokenizer."""
    said, place = chat_folder.read(config.run), config.place
    theirs = {} if tokenizer is None else hugging_face_files(tokenizer)
    save_pretrained(model, place, dtype=dtype_of(config))
    if tokenizer is None:
        return UNKNOWN
    if said is not None:
        turns = format_from(said["turns"], chat_folder.FILE)
        whole = ChatModel(model=model, tokenizer=tokenizer, format=turns)
        notes = {"kind": "model", "base": str(config.run.resolve()), "marks": False}
        chat_folder.write(place, whole, quantize=None, **notes)
    elif isinstance(tokenizer, ByteBPE):
        tokenizer.save(place / BPE)
    write_files(place, theirs, "the tokenizer")
    return ", ".join(
        name for name in (chat_folder.FILE, BPE, *FILES) if (place / name).exists()
    )


def write_file(config: ExportConfig, model: GPT, tokenizer: Tokenizer | None) -> str:
    """Write a GGUF file; returns what is said of the tokenizer."""
    options: dict[str, Any] = {"dtype": dtype_of(config) or torch.float32}
    copied = config.tokenizer if Path(config.tokenizer or "").suffix == ".gguf" else None
    why = None if copied else reason_against(tokenizer, model.config.vocab_size)
    words = tokenizer if why is None and isinstance(tokenizer, ByteBPE) else copied
    save_gguf(model, config.place, tokenizer=words, **options)
    return why or "in the file"


def reason_against(tokenizer: Tokenizer | None, vocab_size: int) -> str | None:
    """Why a GGUF file cannot hold a tokenizer; None if it can."""
    if tokenizer is None:
        return UNKNOWN
    if isinstance(tokenizer, Bytes):
        return "none: llama.cpp has none of bytes; mathlm takes --tokenizer bytes"
    try:
        bpe_fields(tokenizer, vocab_size)
    except ConfigError as error:
        return f"none: {error}"
    return None


def dtype_of(config: ExportConfig) -> torch.dtype | None:
    """The type of the weights, if it is given."""
    return None if config.dtype is None else getattr(torch, config.dtype)


def run(config: ExportConfig) -> Path:
    """Read and write; returns the folder, or the file."""
    start, model = time.perf_counter(), load(config.run)
    tokenizer = None
    if not (config.is_file and Path(config.tokenizer or "").suffix == ".gguf"):
        tokenizer = named_tokenizer(config, model.config.vocab_size)
    said = (write_file if config.is_file else write_folder)(config, model, tokenizer)
    rows = [("parameters", f"{sum(p.numel() for p in model.parameters()):,}")]
    option = " --tokenizer FILE" if said.startswith("none") else ""
    following = [f'mathlm generate --model {config.place}{option} --prompt "To be"']
    seconds = time.perf_counter() - start
    say(rows, [("tokenizer", said)], places(seconds, following, written_to=config.place))
    return config.place


def main(argv: Sequence[str] | None = None) -> Path:
    """The command ``mathlm export``."""
    return run(parse(ExportConfig, argv, prog="mathlm export"))


if __name__ == "__main__":
    execute(main)
