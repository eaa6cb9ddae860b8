"""Documents of a user: text files, JSON lines, or a folder of both, in one fixed order."""

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path

from ...errors import DataError, DataNotFoundError, InputTypeError
from ..tokenizers.pretokenize import utf8

TEXT, JSON_LINES = (".txt", ".md"), (".jsonl", ".ndjson")
BLOCK = 1 << 20  # characters read at a time
logger = logging.getLogger(__name__)


def read_documents(path: str | os.PathLike[str], field: str = "text") -> Iterator[str]:
    """The documents of a file or a folder, one after another.

    A text file (``.txt``, ``.md``) is one document; each line of a ``.jsonl`` file is one, an
    object with the text under ``field``; empty lines are passed over. A folder gives the
    documents of its files, those of its folders too, in the order of their paths, on every
    machine the same; hidden files are passed over, and files of other kinds are counted and
    logged. One document at a time is in memory.

    Args:
        path: File or folder.
        field: Name under which an object has its text.

    Raises:
        DataNotFoundError: If there is no such file or folder.
        DataError: If a folder holds no such file, a file is of another kind or no UTF-8, or a
            line is not an object with a text; the message has file and line.

    Example:
        >>> import tempfile
        >>> from pathlib import Path
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     size = Path(folder, "play.txt").write_text("to be")
        ...     list(read_documents(f"{folder}/play.txt"))
        ['to be']
    """
    for parts in document_parts(path, field):
        yield "".join(parts)


def document_parts(
    path: str | os.PathLike[str], field: str = "text"
) -> Iterator[Iterator[str]]:
    """As :func:`read_documents`, each document in parts, so that a file may be of any size.

    The parts of a document are to be read before the next document.

    Raises:
        DataNotFoundError, DataError: As :func:`read_documents`.
    """
    for file in document_files(path):
        if file.suffix.lower() in TEXT:
            yield _text_parts(file)
        else:
            for text in _json_lines(file, field):
                yield iter([text])


def document_files(path: str | os.PathLike[str]) -> list[Path]:
    """The files that :func:`read_documents` reads, in their order.

    Raises:
        DataNotFoundError: If there is no such file or folder.
        DataError: If none is of a known kind.
    """
    if not isinstance(path, str | os.PathLike):
        raise InputTypeError(f"path={path!r} must be a str or a path")
    place, known = Path(path), ", ".join(TEXT + JSON_LINES)
    if not place.exists():
        raise DataNotFoundError(f"there is no file or folder {place}")
    if place.is_file():
        if place.suffix.lower() not in TEXT + JSON_LINES:
            raise DataError(f"{place} is of no known kind; documents are in {known}")
        return [place]
    files = [file for file in place.rglob("*") if _is_visible_file(file, place)]
    found = [file for file in files if file.suffix.lower() in TEXT + JSON_LINES]
    if not found:
        raise DataError(f"{place} holds {len(files)} files, none of them in {known}")
    if len(found) < len(files):
        logger.info("%s: passed over %d files not in %s", place, len(files) - len(found), known)
    return sorted(found, key=lambda file: file.relative_to(place).as_posix())


def _is_visible_file(file: Path, folder: Path) -> bool:
    """Whether no part of the path below the folder is hidden."""
    names = file.relative_to(folder).parts
    return file.is_file() and not any(name.startswith(".") for name in names)


def _text_parts(file: Path) -> Iterator[str]:
    """A text file, a block at a time; a mark of the byte order is no text."""
    try:
        with file.open(encoding="utf-8-sig", newline="") as source:
            while part := source.read(BLOCK):
                yield part
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read as UTF-8 text: {error}") from error


def _json_lines(file: Path, field: str) -> Iterator[str]:
    """The texts in the lines of a file."""
    try:
        with file.open(encoding="utf-8-sig", newline="\n") as source:
            for number, line in enumerate(source, start=1):
                if line.strip():
                    yield _text_of(line, field, f"line {number} of {file}")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(f"{file} cannot be read as UTF-8 text: {error}") from error


def _text_of(line: str, field: str, where: str) -> str:
    """The text in one line."""
    try:
        content = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise DataError(f"{where} is not JSON: {error}") from error
    if not isinstance(content, dict) or not isinstance(content.get(field), str):
        shown = line.strip()
        short = shown if len(shown) <= 60 else shown[:60] + "..."
        raise DataError(f"{where} is {short}, expected an object with a str under {field!r}")
    try:
        utf8(content[field])
    except ValueError as error:
        raise DataError(f"{where}: {error}") from error
    return content[field]
