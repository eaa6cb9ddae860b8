"""A byte-pair encoding as a readable JSON file that carries its own hash."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar
from uuid import uuid4

from ...errors import (
    DataError,
    DataNotFoundError,
    HashMismatchError,
    InputError,
    InputTypeError,
)
from .bpe_definition import Definition
from .byte_alphabet import from_printable, to_printable
from .pretokenize import PATTERNS, require_pattern, utf8

T = TypeVar("T")

FORMAT, VERSION = "mathlm byte-level BPE", 1
FIELDS = {"format", "version", "pattern", "special", "tokens", "merges"}  # and the hash


def content_of(definition: Definition) -> dict[str, Any]:
    """The definition as JSON data; special tokens stand under their names only."""
    special = set(definition.special.values())
    tokens = [to_printable(data) for data in definition.tokens]
    return {
        "format": FORMAT,
        "version": VERSION,
        "pattern": {"name": definition.pattern, "regex": PATTERNS[definition.pattern]},
        "special": definition.special,
        "tokens": [None if i in special else token for i, token in enumerate(tokens)],
        "merges": [f"{tokens[left]} {tokens[right]}" for left, right in definition.merges],
    }


def hash_of(content: dict[str, Any]) -> str:
    """SHA-256 of JSON data, whatever the order and spacing in which it was written."""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()


def sha256(definition: Definition) -> str:
    """SHA-256 of the content that the file would have."""
    return hash_of(content_of(definition))


def write(path: str | os.PathLike[str], definition: Definition) -> None:
    """Write the file beside its place, then move it there in one step.

    Raises:
        DataError: If that is not possible; no file is left behind.
        InputTypeError: If ``path`` is no path.
    """
    place, content = path_of(path), content_of(definition)
    text = json.dumps(content | {"sha256": hash_of(content)}, indent=0, ensure_ascii=False)
    try:
        _replace(Path(os.path.realpath(place)), text + "\n")
    except (OSError, ValueError) as error:  # a NUL in a path is a ValueError
        raise DataError(f"cannot write {place}: {error}") from error


def _replace(path: Path, text: str) -> None:
    """Put a new file in the place of ``path``, with the permissions of the one there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{uuid4().hex}")
    try:
        temporary.write_text(text, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def read(path: str | os.PathLike[str]) -> Definition:
    """The definition in a file that :func:`write` wrote.

    Raises:
        DataNotFoundError: If there is no such file.
        HashMismatchError: If its content is not that which was written.
        DataError: If it is another kind of file, or of another version.
    """
    content = _json(path_of(path))
    if content.get("format") != FORMAT:
        found = content.get("format")
        raise DataError(
            f"{path} has format {found!r}, expected {FORMAT!r}: give a saved ByteBPE"
        )
    found = content.get("version")
    if type(found) is not int or found != VERSION:
        raise DataError(f"{path} has version {found!r}, this mathlm reads version {VERSION}")
    expected = content.pop("sha256", None)
    if expected != (found := hash_of(content)):
        raise HashMismatchError(
            f"sha256 of the content of {path} is {found}, the file says {expected}: it has "
            "changed since it was saved; save it again"
        )
    try:
        return _parse(content)
    except (InputError, InputTypeError) as error:
        raise DataError(f"{path} does not hold a byte-pair encoding: {error}") from error


def build(make: Callable[..., T], definition: Definition, where: str | os.PathLike[str]) -> T:
    """``make(*definition)``, whose errors name the file.

    Raises:
        DataError: If the definition is not allowed.
    """
    try:
        return make(*definition)
    except (InputError, InputTypeError) as error:
        raise DataError(f"{where} does not hold a byte-pair encoding: {error}") from error


def path_of(path: str | os.PathLike[str]) -> Path:
    """``path`` as a Path.

    Raises:
        InputTypeError: If it is neither a str nor a path.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"path={path!r} must be a str or a path")
    return Path(path)


def text_of(path: Path) -> str:
    """The text of a file.

    Raises:
        DataNotFoundError: If there is no such file.
        DataError: If it is no UTF-8 text or cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise DataNotFoundError(f"there is no file {path}") from error
    except (OSError, ValueError) as error:
        raise DataError(f"{path} cannot be read as UTF-8 text: {error}") from error


def _json(path: Path) -> dict[str, Any]:
    text = text_of(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON ({error}): give a saved ByteBPE") from error
    if not isinstance(content, dict):
        raise DataError(f"{path} holds a {type(content).__name__}, expected a JSON object")
    return content


def _parse(content: dict[str, Any]) -> Definition:
    if set(content) != FIELDS:
        raise _fault("its list of fields", sorted(content), ", ".join(sorted(FIELDS)))
    texts, special = content["tokens"], content["special"]
    pattern = _pattern(content["pattern"])
    _require_list("tokens", texts, (str, type(None)), "a string, or null for a special token")
    _require_list("merges", content["merges"], (str,), "two tokens")
    names = _names(special, texts)
    tokens = [
        utf8(names[i]) if text is None else from_printable(text) for i, text in enumerate(texts)
    ]
    pairs = [tuple(merge.split(" ")) for merge in content["merges"]]
    return Definition(tuple(tokens), pair_ids(pairs, texts), special, pattern)


def _fault(field: str, found: Any, expected: str) -> InputError:
    """What to raise for a field."""
    shown = repr(found)
    short = shown if len(shown) <= 60 else shown[:60] + "..."
    return InputError(f"{field} is {short}, expected {expected}")


def _pattern(found: Any) -> str:
    """Name of a pattern that is given with its regular expression."""
    if not isinstance(found, dict) or set(found) != {"name", "regex"}:
        raise _fault("pattern", found, "its name and regex")
    name = found["name"]
    if not isinstance(name, str):
        raise _fault("pattern.name", name, "a string")
    require_pattern(name)
    if found["regex"] != PATTERNS[name]:
        raise InputError(f"its pattern {name!r} is not the one of this mathlm")
    return name


def _require_list(field: str, found: Any, kinds: tuple[type, ...], expected: str) -> None:
    """Raise unless ``found`` is a list of these kinds."""
    if not isinstance(found, list):
        raise _fault(field, found, "a list")
    for i, item in enumerate(found):
        if not isinstance(item, kinds):
            raise _fault(f"{field}[{i}]", item, expected)


def _names(special: Any, texts: list[str | None]) -> dict[int, str]:
    """Name of the special token of each id whose text is null."""
    if not isinstance(special, dict):
        raise _fault("special", special, "an object of names and their ids")
    names: dict[int, str] = {}
    for name, token in special.items():
        if type(token) is not int or not 0 <= token < len(texts):
            expected = f"an integer in 0..{len(texts) - 1}"
            raise InputError(f"special {name!r} has id {token!r}, expected {expected}")
        if token in names:
            raise InputError(f"special {names[token]!r} and {name!r} both have id {token}")
        if texts[token] is not None:
            raise _fault(f"tokens[{token}]", texts[token], f"null: it is the special {name!r}")
        names[token] = name
    for i, text in enumerate(texts):
        if text is None and i not in names:
            raise _fault(f"tokens[{i}]", text, f"a string: no special token has id {i}")
    return names


def pair_ids(
    pairs: list[tuple[str, ...]], tokens: list[str | None]
) -> tuple[tuple[int, int], ...]:
    """Ids of pairs of tokens that are given as text.

    Raises:
        InputError: If one is no pair, or has text that is no token.
    """
    ids = {text: i for i, text in enumerate(tokens)}
    for rank, pair in enumerate(pairs):
        if len(pair) != 2 or not all(text in ids for text in pair):
            raise InputError(f"merge {rank} is {' '.join(pair)!r}, expected two tokens")
    return tuple((ids[left], ids[right]) for left, right in pairs)


__all__ = ["build", "read", "sha256", "write"]
