"""A corpus as one flat file of token ids, mapped into memory and checked by its hashes.

``NAME`` holds the ids one after another, little-endian, 16 bits each if the vocabulary fits and
else 32; ``NAME.json`` says how many, of which tokenizer, where each document begins, and the
SHA-256 of each 2²⁰ ids. The second file is written last: without it the first is unfinished.
"""

import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

import numpy as np
from numpy import ndarray

from ...errors import (
    DataError,
    DataNotFoundError,
    HashMismatchError,
    InputError,
    InputTypeError,
)
from ..tokenizers.files import hash_of, path_of
from ..tokenizers.named import Tokenizer
from .documents import document_parts

FORMAT, VERSION = "mathlm tokens", 1
END = "<|endoftext|>"  # written behind each document, if the tokenizer has it
SHARD = 1 << 20  # tokens that are hashed together


@dataclass(frozen=True, kw_only=True)
class TokenManifest:
    """What a file of token ids holds.

    Args:
        tokens: How many ids.
        vocab_size: Ids are below it.
        dtype: "<u2" or "<u4".
        tokenizer: SHA-256 of the tokenizer.
        end_id: Id behind each document, or None.
        documents: Where each document begins [tokens].
        sha256: Hash of each 2²⁰ ids as little-endian int64, as the Trainer hashes its data.
    """

    tokens: int
    vocab_size: int
    dtype: str
    tokenizer: str
    end_id: int | None
    documents: tuple[int, ...]
    sha256: tuple[str, ...]


def write_tokens(
    texts: Iterable[str] | os.PathLike[str],
    path: str | os.PathLike[str],
    tokenizer: Any,
    *,
    end_id: int | None = None,
) -> TokenManifest:
    """Encode documents one by one into a file, which appears whole or not at all.

    Args:
        texts: Documents, or the path of a file or folder that :func:`read_documents` reads; a
            text file is encoded in parts and may be of any size.
        path: File to write; what stood there is replaced at the end.
        tokenizer: A :class:`ByteBPE`, :class:`Bytes`, or another with ``encode``,
            ``vocab_size`` and ``sha256`` whose tokens do not reach over a space before a word.
        end_id: Id that is put behind each document, or None.

    Returns:
        What the file holds.

    Raises:
        DataError: If there are no tokens, the file cannot be written, or the documents cannot
            be read; what was there before is still there.
        InputError: If an id is not below ``vocab_size``, or a text has a lone surrogate.
        InputTypeError: If ``texts`` is one str, or a document is not a str.

    Example:
        >>> import tempfile
        >>> from mathlm.text import Bytes, open_tokens
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     manifest = write_tokens(["to", "be"], f"{folder}/tokens.bin", Bytes())
        ...     ids = open_tokens(f"{folder}/tokens.bin").tolist()
        >>> ids
        [116, 111, 98, 101]
    """
    place, documents = path_of(path), _documents(texts)
    if end_id is not None and not 0 <= end_id < tokenizer.vocab_size:
        raise InputError(f"end_id={end_id} is outside 0..{tokenizer.vocab_size - 1}")
    temporary = place.with_name(f".{place.name}.{uuid4().hex}")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        manifest = _write_ids(temporary, documents, tokenizer, end_id)
        content = _content_of(manifest)
        manifest_path(place).unlink(missing_ok=True)
        os.replace(temporary, place)
        _write_manifest(place, content)
    except OSError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(f"cannot write {place}: {error}") from error
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
    return manifest


def open_tokens(
    path: str | os.PathLike[str], tokenizer: Any = None, *, verify: bool = True
) -> np.memmap:
    """The ids in a file that :func:`write_tokens` wrote, on the disk until they are used.

    Args:
        path: The file.
        tokenizer: The one whose ids they must be, or None for any.
        verify: Compare every shard with its hash, which reads the whole file once.

    Returns:
        One dimension, read-only, uint16 or uint32.

    Raises:
        DataNotFoundError: If the file or its manifest is not there.
        HashMismatchError: If a shard has changed, or the tokenizer is another one.
        DataError: If the file was cut short or is of another format.

    Example:
        >>> import tempfile
        >>> from mathlm.text import Bytes
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write_tokens(["to", "be"], f"{folder}/tokens.bin", Bytes())
        ...     open_tokens(f"{folder}/tokens.bin", Bytes()).tolist()
        [116, 111, 98, 101]
    """
    place, manifest = path_of(path), read_manifest(path)
    if tokenizer is not None and tokenizer.sha256 != manifest.tokenizer:
        raise HashMismatchError(
            f"tokenizer differs from the one that {place} was written with: sha256 "
            f"{tokenizer.sha256}, expected {manifest.tokenizer}; write the tokens again"
        )
    found, expected = place.stat().st_size, manifest.tokens * np.dtype(manifest.dtype).itemsize
    if found != expected:
        raise DataError(f"{place} has {found:,} bytes, expected {expected:,}: write it again")
    ids: np.memmap = np.memmap(place, dtype=manifest.dtype, mode="r")
    if verify:
        _require_hashes(ids, manifest, place)
    return ids


def encode_corpus(
    texts: Iterable[str] | os.PathLike[str], tokenizer: Tokenizer
) -> tuple[np.memmap, ndarray]:
    """A corpus of any size as a memory map of token ids, and where its documents begin.

    It is encoded into a temporary file, which takes its space on the disk until the ids are no
    longer used. Behind each document stands the token ``<|endoftext|>``, if there is one.

    Args:
        texts: Documents; or the path of a file or folder that :func:`read_documents` reads, or
            of a file that :func:`write_tokens` wrote, which is read from where it is.
        tokenizer: What cuts them into tokens.

    Returns:
        Ids, as :func:`open_tokens` gives them; the first token of each document [tokens].

    Raises:
        DataError: If there are no tokens or the documents cannot be read.
        HashMismatchError: If a file of tokens has changed or is of another tokenizer.

    Example:
        >>> from mathlm.text import Bytes
        >>> ids, starts = encode_corpus(["to", "be"], Bytes())
        >>> ids.tolist(), starts
        ([116, 111, 98, 101], array([0, 2]))
    """
    if isinstance(texts, os.PathLike) and manifest_path(path_of(texts)).is_file():
        return open_tokens(texts, tokenizer), np.array(read_manifest(texts).documents)
    end = tokenizer.special.get(END)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        path = Path(folder) / "tokens"
        manifest = write_tokens(texts, path, tokenizer, end_id=end)
        return open_tokens(path, verify=False), np.array(manifest.documents)


def read_manifest(path: str | os.PathLike[str]) -> TokenManifest:
    """What the manifest beside a file of token ids says.

    Raises:
        DataNotFoundError: If the file or its manifest is not there.
        HashMismatchError: If the manifest has changed.
        DataError: If it is no manifest, or one of another version.

    Example:
        >>> import tempfile
        >>> from mathlm.text import Bytes
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     _ = write_tokens(["to", "be"], f"{folder}/tokens.bin", Bytes())
        ...     manifest = read_manifest(f"{folder}/tokens.bin")
        >>> manifest.tokens, manifest.documents
        (4, (0, 2))
    """
    place = path_of(path)
    for file, what in ((place, "file"), (manifest_path(place), "manifest")):
        if not file.is_file():
            raise DataNotFoundError(f"there is no {what} {file}: write_tokens makes both files")
    content = _json(manifest_path(place))
    expected = content.pop("sha256_of_manifest", None)
    if expected != (found := hash_of(content)):
        raise HashMismatchError(
            f"sha256 of {manifest_path(place)} is {found}, it says {expected}: it has changed "
            "since it was written; write the tokens again"
        )
    del content["format"], content["version"]
    try:
        lists = {key: tuple(content[key]) for key in ("documents", "sha256")}
        return TokenManifest(**content | lists)
    except (KeyError, TypeError) as error:
        raise DataError(f"{manifest_path(place)} is no manifest of tokens: {error}") from error


def manifest_path(path: Path) -> Path:
    """Where the manifest of a file of tokens is."""
    return path.with_name(path.name + ".json")


def shard_hashes(ids: ndarray) -> Iterator[str]:
    """SHA-256 of each 2²⁰ ids as little-endian int64."""
    for start in range(0, len(ids), SHARD):
        yield hashlib.sha256(ids[start : start + SHARD].astype("<i8").tobytes()).hexdigest()


def _documents(texts: Iterable[str] | os.PathLike[str]) -> Iterator[Iterable[str]]:
    """Each document as its parts."""
    if isinstance(texts, os.PathLike):
        return document_parts(texts)
    if isinstance(texts, str | bytes) or not isinstance(texts, Iterable):
        kind = type(texts).__name__
        raise InputTypeError(
            f"texts is one {kind}, expected documents: write [text], or Path(...) for a file"
        )
    return ([text] for text in texts)


def _write_ids(
    file: Path, documents: Iterator[Iterable[str]], tokenizer: Any, end_id: int | None
) -> TokenManifest:
    """Write all ids, wait until the disk has them, and describe them."""
    dtype, starts = "<u2" if tokenizer.vocab_size <= 1 << 16 else "<u4", []
    with file.open("wb") as target:
        for number, parts in enumerate(documents):
            starts.append(target.tell() // np.dtype(dtype).itemsize)
            for part in _safe_parts(parts):
                _append(target, tokenizer.encode(part), tokenizer.vocab_size, dtype, number)
            if end_id is not None:
                _append(target, [end_id], tokenizer.vocab_size, dtype, number)
        target.flush()
        os.fsync(target.fileno())
        if not target.tell():
            raise DataError("the corpus is empty (0 tokens after encoding)")
    ids = np.memmap(file, dtype=dtype, mode="r")
    return TokenManifest(
        tokens=len(ids), vocab_size=tokenizer.vocab_size, dtype=dtype,
        end_id=None if end_id is None else int(end_id),
        tokenizer=tokenizer.sha256, documents=tuple(starts), sha256=tuple(shard_hashes(ids)),
    )  # fmt: skip


def _safe_parts(parts: Iterable[str]) -> Iterator[str]:
    """Parts whose tokens are the tokens of the whole: each next one begins with a space."""
    rest = ""
    for part in parts:
        if not isinstance(part, str):
            raise InputTypeError(f"a document must be a str, got {type(part).__name__}")
        rest += part
        cut = _last_cut(rest)
        if cut:
            yield rest[:cut]
            rest = rest[cut:]
    if rest:
        yield rest


def _last_cut(text: str) -> int:
    """Where the last space behind a character that is no white space stands; 0 if none does."""
    at = text.rfind(" ")
    while at > 0 and text[at - 1].isspace():
        at = text.rfind(" ", 0, at)
    return max(at, 0)


def _append(target: BinaryIO, tokens: Any, vocab_size: int, dtype: str, number: int) -> None:
    """Write the ids of a part of document ``number``."""
    ids = np.asarray(tokens, np.int64)
    if ids.size and not 0 <= ids.min() <= ids.max() < vocab_size:
        bad = ids[(ids < 0) | (ids >= vocab_size)][0]
        raise InputError(f"document {number} has token {bad}, outside 0..{vocab_size - 1}")
    target.write(ids.astype(dtype).tobytes())


def _content_of(manifest: TokenManifest) -> str:
    """The manifest as JSON, with its own hash."""
    content = json.loads(json.dumps({"format": FORMAT, "version": VERSION} | asdict(manifest)))
    content["sha256_of_manifest"] = hash_of(content)
    return json.dumps(content) + "\n"


def _write_manifest(place: Path, content: str) -> None:
    """Write the manifest beside its place, then move it there in one step."""
    temporary = place.with_name(f".{place.name}.{uuid4().hex}")
    try:
        temporary.write_text(content, encoding="utf-8")
        os.replace(temporary, manifest_path(place))
    finally:
        temporary.unlink(missing_ok=True)


def _json(file: Path) -> dict[str, Any]:
    """The manifest as JSON data of this format and version."""
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{file} cannot be read as JSON: {error}") from error
    found = content.get("format") if isinstance(content, dict) else type(content).__name__
    if found != FORMAT:
        raise DataError(f"{file} has format {found!r}, expected {FORMAT!r}")
    if content.get("version") != VERSION:
        found = content.get("version")
        raise DataError(f"{file} has version {found!r}, this mathlm reads version {VERSION}")
    return content


def _require_hashes(ids: ndarray, manifest: TokenManifest, place: Path) -> None:
    """Compare each shard with its hash."""
    for shard, (found, expected) in enumerate(
        zip(shard_hashes(ids), manifest.sha256, strict=True)
    ):
        if found != expected:
            raise HashMismatchError(
                f"shard {shard} of {place} changed since it was written: sha256 {found}, "
                f"expected {expected}; write the tokens again"
            )
