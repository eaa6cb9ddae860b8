"""A tokenizer by its name, as options and configurations give it."""

from pathlib import Path

from ...errors import DataNotFoundError
from .byte_bpe import ByteBPE
from .bytes import Bytes

Tokenizer = Bytes | ByteBPE
BPE = "byte_bpe.json"  # of ByteBPE.save, in the folder of a model or of a run


def load_tokenizer(name: str) -> Tokenizer:
    """The tokenizer 'bytes', or that of a file of ByteBPE.save, a GGUF file or a folder."""
    if name == "bytes":
        return Bytes()
    if Path(name).is_dir():
        return beside_weights(Path(name)) or ByteBPE.from_gpt2(name)
    if not Path(name).is_file():
        raise DataNotFoundError(
            f"--tokenizer {name} is neither 'bytes', nor a file of ByteBPE.save, nor a folder"
        )
    return ByteBPE.from_gguf(name) if Path(name).suffix == ".gguf" else ByteBPE.load(name)


def beside_weights(folder: Path) -> ByteBPE | None:
    """The byte-level BPE that a folder of a model holds: ours, else GPT-2's files, or none."""
    if (folder / BPE).is_file():
        return ByteBPE.load(folder / BPE)
    if (folder / "vocab.bpe").is_file() or (folder / "merges.txt").is_file():
        return ByteBPE.from_gpt2(folder)
    return None
