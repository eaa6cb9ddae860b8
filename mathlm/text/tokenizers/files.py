"""Tokenizers as files: our JSON, GPT-2's two files, and the metadata of a GGUF file."""

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
from ..gguf_file import open_gguf
from .bpe import Definition
from .pretokenize import PATTERNS, require_pattern, utf8


def _alphabet() -> tuple[str, ...]:
    """Bytes with a visible Latin-1 character keep it; the others get U+0100 onwards."""
    visible = {*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)}
    others = (chr(0x100 + n) for n in range(256 - len(visible)))
    return tuple(chr(byte) if byte in visible else next(others) for byte in range(256))


ALPHABET = _alphabet()
BYTES = {character: byte for byte, character in enumerate(ALPHABET)}


def to_printable(data: bytes) -> str:
    """Bytes as visible characters, one each; the space becomes Ġ and the newline Ċ.

    Example:
        >>> to_printable(" café".encode())
        'ĠcafÃ©'

    References:
        Radford et al. (2019), Language Models are Unsupervised Multitask Learners, section 2.2.
    """
    return "".join(ALPHABET[byte] for byte in data)


def from_printable(text: str) -> bytes:
    """The bytes that :func:`to_printable` wrote as ``text``.

    Raises:
        InputError: If a character stands for no byte; the message has its position.

    Example:
        >>> from_printable("Ġthe")
        b' the'
    """
    try:
        return bytes([BYTES[character] for character in text])
    except KeyError as error:
        position = next(i for i, character in enumerate(text) if character not in BYTES)
        raise InputError(
            f"character {text[position]!r} at position {position} of {text!r} stands for no "
            f"byte; the alphabet has 256 characters from {ALPHABET[0x21]!r} to {max(BYTES)!r}"
        ) from error


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
    content = _json(path_of(path), "a saved ByteBPE")
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


def _json(path: Path, wanted: str) -> dict[str, Any]:
    text = text_of(path)
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path} is not JSON ({error}): give {wanted}") from error
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
        if len(pair) != 2 or pair[0] not in ids or pair[1] not in ids:
            raise InputError(f"merge {rank} is {' '.join(pair)!r}, expected two tokens")
    return tuple((ids[left], ids[right]) for left, right in pairs)


NAMES = (("vocab.bpe", "encoder.json"), ("merges.txt", "vocab.json"))
BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False}
HUGGING_FACE_CUTS = [  # what cuts words in a tokenizer.json, and the pattern that cuts so
    ([BYTE_LEVEL | {"use_regex": True}], "gpt2"),
    (
        [{"type": "Digits", "individual_digits": True}, BYTE_LEVEL | {"use_regex": True}],
        "smollm2",
    ),
    *(
        (
            [
                {"type": "Split", "pattern": {"Regex": regex.replace(r"\Z", r"\z")}}
                | {"behavior": "Isolated", "invert": False},
                BYTE_LEVEL | {"use_regex": False},
            ],
            name,
        )
        for name, regex in PATTERNS.items()
    ),
]
GGUF_PATTERNS = {"gpt-2": "gpt2", "smollm": "smollm2"}
NORMAL, CONTROL = 1, 3  # kinds of token in a GGUF file


def read_gpt2(folder: str | os.PathLike[str]) -> Definition:
    """GPT-2's merges and ids.

    What is neither a byte nor the product of a merge is a special token. A ``tokenizer.json``
    of Hugging Face beside them says what cuts words; without it that is GPT-2's pattern.

    Raises:
        DataNotFoundError: If the files are not in the folder.
        DataError: If they are malformed or contradict each other, or words are cut otherwise
            than by a known pattern.
    """
    merges_path, ids_path = _gpt2_paths(path_of(folder))
    lines = text_of(merges_path).split("\n")
    first = 1 if lines[0].startswith("#version") else 0
    pairs = [tuple(line.split(" ")) for line in lines[first:] if line]
    ids, pattern = _token_ids(ids_path), _hugging_face_pattern(path_of(folder))
    ordinary = {*ALPHABET, *("".join(pair) for pair in pairs)}
    special = {text: token for text, token in ids.items() if text not in ordinary}
    try:
        return _definition(sorted(ids, key=ids.__getitem__), pairs, special, pattern)
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
    if len(kinds) != len(tokens):
        raise DataError(f"{path} has {len(tokens)} tokens, but {len(kinds)} of their kinds")
    if not all(isinstance(text, str) for text in (*tokens, *found["merges"])):
        raise DataError(f"{path} has tokens or merges that are no texts, expected strings")
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


def _hugging_face_pattern(folder: Path) -> str:
    """Name of the pattern that a tokenizer.json in the folder cuts words by; else GPT-2's."""
    path = folder / "tokenizer.json"
    content = _json(path, "one of Hugging Face") if path.is_file() else {}
    if "pre_tokenizer" not in content:
        return "gpt2"
    found = content["pre_tokenizer"]
    steps = found.get("pretokenizers", [found]) if isinstance(found, dict) else [found]
    for known, pattern in HUGGING_FACE_CUTS:
        if len(steps) == len(known) and all(map(_says, steps, known)):
            return pattern
    raise DataError(
        f"{path} cuts words by {json.dumps(found)[:300]}; known are those of {sorted(PATTERNS)}"
    )


def _says(step: Any, known: dict[str, Any]) -> bool:
    """Whether a step of a tokenizer.json has these fields; ``use_regex`` is the default."""
    return isinstance(step, dict) and known.items() <= ({"use_regex": True} | step).items()


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
