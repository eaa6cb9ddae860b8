"""A tokenizer by its name, as options and configurations give it."""

from pathlib import Path

from ...errors import DataNotFoundError
from .byte_bpe import ByteBPE
from .bytes import Bytes

Tokenizer = Bytes | ByteBPE


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer 'bytes', that of a file of ByteBPE.save, or that of a folder of GPT-2."""
    if name == "bytes":
        return Bytes()
    if Path(name).is_dir():
        return ByteBPE.from_gpt2(name)
    if not Path(name).is_file():
        raise DataNotFoundError(
            f"--tokenizer {name} is neither 'bytes', nor a file of ByteBPE.save, nor a folder"
        )
    return ByteBPE.load(name)
