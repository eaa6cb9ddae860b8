"""Tokenizers that others trained: GPT-2's two files, and the metadata of a GGUF file."""

import json
import os
from pathlib import Path
from typing import Any

from ...errors import DataError, DataNotFoundError, InputError
from ..gguf_file import open_gguf
from .bpe_definition import Definition
from .byte_alphabet import ALPHABET, from_printable
from .pretokenize import utf8
from .tokenizer_files import pair_ids, path_of, text_of

NAMES = (("vocab.bpe", "encoder.json"), ("merges.txt", "vocab.json"))
GGUF_PATTERNS = {"gpt-2": "gpt2", "smollm": "smollm2"}
NORMAL, CONTROL = 1, 3  # kinds of token in a GGUF file


def read_gpt2(folder: str | os.PathLike[str]) -> Definition:
    """GPT-2's merges and ids.

    What is neither a byte nor the product of a merge is a special token.

    Raises:
        DataNotFoundError: If the files are not in the folder.
        DataError: If they are malformed or contradict each other.
    """
    merges_path, ids_path = _gpt2_paths(path_of(folder))
    lines = text_of(merges_path).split("\n")
    first = 1 if lines[0].startswith("#version") else 0
    pairs = [tuple(line.split(" ")) for line in lines[first:] if line]
    ids = _token_ids(ids_path)
    ordinary = {*ALPHABET, *("".join(pair) for pair in pairs)}
    special = {text: token for text, token in ids.items() if text not in ordinary}
    try:
        return _definition(sorted(ids, key=ids.__getitem__), pairs, special, "gpt2")
    except InputError as error:
        raise DataError(f"{merges_path} and {ids_path.name} do not agree: {error}") from error


def read_gguf(path: str | os.PathLike[str]) -> Definition:
    """The byte-level BPE in the metadata of a GGUF file; its control tokens are special.

    Raises:
        DataNotFoundError: If there is no such file, or the gguf package is not installed.
        DataError: If the file is malformed, or its tokenizer is of another kind.
    """
    found = _gguf_metadata(path_of(path))
    model, pattern = found["model"], found["pre"]
    if model != "gpt2":
        raise DataError(
            f"{path} has a tokenizer of kind {model!r}, expected 'gpt2', which is BPE"
        )
    if pattern not in GGUF_PATTERNS:
        raise DataError(f"{path} cuts words by {pattern!r}; known are {sorted(GGUF_PATTERNS)}")
    kinds = found["token_type"]
    if unknown := set(kinds) - {NORMAL, CONTROL}:
        raise DataError(f"{path} has tokens of kinds {sorted(unknown)}; known are 1 and 3")
    tokens = found["tokens"]
    special = {tokens[i]: i for i, kind in enumerate(kinds) if kind == CONTROL}
    pairs = [tuple(merge.split(" ")) for merge in found["merges"]]
    try:
        return _definition(tokens, pairs, special, GGUF_PATTERNS[pattern])
    except InputError as error:
        raise DataError(f"the tokenizer of {path} is malformed: {error}") from error


def _definition(
    texts: list[str], pairs: list[tuple[str, ...]], special: dict[str, int], pattern: str
) -> Definition:
    names = set(special.values())
    tokens = [
        utf8(text) if i in names else from_printable(text) for i, text in enumerate(texts)
    ]
    ordinary = [None if i in names else text for i, text in enumerate(texts)]
    return Definition(tuple(tokens), pair_ids(pairs, ordinary), special, pattern)


def _gpt2_paths(folder: Path) -> tuple[Path, Path]:
    for merges, ids in NAMES:
        if (folder / merges).is_file() and (folder / ids).is_file():
            return folder / merges, folder / ids
    wanted = " or ".join(f"{merges} and {ids}" for merges, ids in NAMES)
    raise DataNotFoundError(
        f"{folder} must hold {wanted}; text.pretrained.find('gpt2') is such a folder"
    )


def _token_ids(path: Path) -> dict[str, int]:
    text = text_of(path)
    try:
        ids = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON: {error}") from error
    if not isinstance(ids, dict) or not all(type(token) is int for token in ids.values()):
        raise DataError(f"{path} must be a JSON object of tokens and their ids")
    if sorted(ids.values()) != list(range(len(ids))):
        raise DataError(f"the ids in {path} are not 0..{len(ids) - 1}, each once")
    return ids


def _gguf_metadata(path: Path) -> dict[str, Any]:
    """The fields ``tokenizer.ggml.*`` that a tokenizer needs."""
    fields = open_gguf(path).fields
    wanted = {name: f"tokenizer.ggml.{name}" for name in _WANTED}
    if missing := [key for key in wanted.values() if key not in fields]:
        raise DataError(f"{path} has no {', '.join(missing)}: it holds no byte-level BPE")
    return {name: fields[key].contents() for name, key in wanted.items()}


_WANTED = ("model", "pre", "tokens", "token_type", "merges")

__all__ = ["read_gguf", "read_gpt2"]
