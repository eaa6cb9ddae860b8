"""Unpack an archive from a stranger: every entry is judged before anything is written.

Zip, and tar as it is or compressed by gzip or bzip2. Files and folders only; permissions,
owners and times of the archive are not taken over.
"""

import bz2
import gzip
import os
import shutil
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO, Any
from uuid import uuid4

from ...errors import DataError, DataNotFoundError, InputError, MathLMError

BLOCK = 1 << 20  # [bytes] copied at a time
HEADERS, PADDING = 4096, 2**24  # [bytes] of a tar for each entry's headers, and after the last
LONGEST, DEEPEST = 4096, 100  # characters of a name, and folders in it


@dataclass(frozen=True)
class Entry:
    """One entry of an archive, as the archive describes it.

    Args:
        name: Path inside the archive.
        size: Size after decompression [bytes].
        kind: "file", "folder", or what it is instead.
        open: Opens the entry's bytes.
    """

    name: str
    size: int
    kind: str
    open: Callable[[], IO[bytes] | None]

    @property
    def parts(self) -> tuple[str, ...]:
        """Folders and file, without the dots that mean "here"."""
        return PurePosixPath(self.name).parts


def extract(
    archive: str | os.PathLike[str],
    folder: str | os.PathLike[str],
    *,
    max_bytes: int = 2**32,
    max_members: int = 10_000,
) -> Path:
    """Unpack an archive into a new folder, or refuse it as a whole.

    Nothing is written unless every entry is a plain file or folder that stays inside. The
    entries go to a temporary folder beside ``folder``, which takes its place in one step.

    Args:
        archive: A zip file, or a tar file, plain or compressed by gzip or bzip2.
        folder: Where the entries go: a folder that does not exist yet or is empty.
        max_bytes: Largest sum of the sizes after decompression [bytes].
        max_members: Largest number of entries.

    Returns:
        ``folder`` as a path.

    Raises:
        InputError: If ``folder`` holds something or a limit is below 1.
        DataNotFoundError: If there is no file ``archive``.
        DataError: If the archive is broken, too large, or has an entry that is a link, a
            device, sparse, encrypted, named twice, or outside of ``folder``.
    """
    source, target = Path(archive), Path(os.path.abspath(folder))
    _require_arguments(source, target, max_bytes, max_members)
    try:
        with _entries(source, max_bytes, max_members) as entries:
            _require_distinct(entries)
            _write(entries, target)
    except MathLMError:
        raise
    except Exception as error:  # the readers of zip and tar raise many kinds on damaged bytes
        why = f"{type(error).__name__}: {error}"
        raise DataError(f"archive {source} cannot be unpacked into {target}: {why}") from error
    return target


def _require_arguments(source: Path, target: Path, max_bytes: int, max_members: int) -> None:
    if not source.is_file():
        raise DataNotFoundError(f"there is no archive {source}: fetch it first")
    if min(max_bytes, max_members) < 1:
        raise InputError(
            f"max_bytes={max_bytes} and max_members={max_members} must be 1 or more"
        )
    taken = target.is_dir() and any(target.iterdir())
    if target.is_symlink() or target.is_file() or taken:
        raise InputError(f"{target} must be a new or an empty folder, and is not: name another")


# --- reading --------------------------------------------------------------------------------


@contextmanager
def _entries(source: Path, max_bytes: int, max_members: int) -> Iterator[list[Entry]]:
    """Every entry, each of them judged; the archive stays open for their bytes."""
    with source.open("rb") as file:
        magic = file.read(4)
    if magic[:2] == b"PK":
        with zipfile.ZipFile(source) as archive:
            yield _judged(_zip_entries(archive), max_bytes, max_members)
        return
    compressions: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZ": bz2.open}
    with compressions.get(magic[:2], open)(source, "rb") as file:
        meter = _Meter(file, HEADERS * max_members + PADDING)
        with tarfile.open(fileobj=meter, mode="r:") as archive:  # type: ignore[call-overload]
            entries = _judged(_tar_entries(archive), max_bytes, max_members)
            meter.left = max_bytes
            yield entries


class _Meter:
    """A file that hands out a limited number of bytes, which bounds what a header can ask."""

    def __init__(self, file: Any, left: int) -> None:
        self.file, self.left = file, left
        self.seek, self.tell = file.seek, file.tell

    def read(self, size: int) -> bytes:
        """The next ``size`` bytes."""
        if not 0 <= size <= self.left:
            raise DataError(
                f"archive asks for {size:,} bytes, and {self.left:,} are left to it"
            )
        self.left -= size
        return self.file.read(size)


def _zip_entries(archive: zipfile.ZipFile) -> Iterator[Entry]:
    for info in archive.infolist():
        yield Entry(info.filename, info.file_size, _zip_kind(info), partial(archive.open, info))


def _zip_kind(info: zipfile.ZipInfo) -> str:
    form = stat.S_IFMT(info.external_attr >> 16)
    if form not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "a symbolic link" if form == stat.S_IFLNK else "a device"
    if info.flag_bits & 1:
        return "encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"compressed by method {info.compress_type}"
    return "folder" if info.is_dir() else "file"


def _tar_entries(archive: tarfile.TarFile) -> Iterator[Entry]:
    for member in archive:
        open_member = partial(archive.extractfile, member)
        yield Entry(member.name, member.size, _tar_kind(member), open_member)
    file: Any = archive.fileobj
    file.seek(archive.offset)
    if file.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise DataError(f"archive is damaged or cut off at byte {archive.offset:,}")
    while file.read(BLOCK):
        pass  # the checksum of a compressed file is held against its bytes at the end


def _tar_kind(member: tarfile.TarInfo) -> str:
    if member.issparse():
        return "sparse"
    if member.issym() or member.islnk():
        return f"a {'symbolic' if member.issym() else 'hard'} link"
    if member.isdir():
        return "folder"
    return "file" if member.isreg() else "a device"


# --- judging --------------------------------------------------------------------------------


def _judged(entries: Iterable[Entry], max_bytes: int, max_members: int) -> list[Entry]:
    """The entries, if each is safe and all are within the limits; stops at the first fault."""
    kept: list[Entry] = []
    total = 0
    for entry in entries:
        _require_safe(entry)
        total += entry.size
        if total > max_bytes:
            raise DataError(
                f"archive member {entry.name!r} brings the size to {total:,} bytes, more than "
                f"max_bytes={max_bytes:,}"
            )
        kept.append(entry)
        if len(kept) > max_members:
            raise DataError(f"archive has more than max_members={max_members:,} members")
    return kept


def _require_safe(entry: Entry) -> None:
    if entry.kind not in ("file", "folder"):
        raise DataError(f"archive member {entry.name!r} is {entry.kind}, not a file or folder")
    if entry.size < 0 or (entry.kind == "file" and not entry.parts):
        raise DataError(f"archive member {entry.name!r} of {entry.size} bytes makes no sense")
    if len(entry.name) > LONGEST or len(entry.parts) > DEEPEST:
        raise DataError(f"archive member {entry.name[:80]!r}... has too long a name")
    if _leaves(entry.name):
        raise DataError(f"archive member {entry.name!r} would be written outside of the folder")


def _leaves(name: str) -> bool:
    """Whether a path leads out of a folder, on any operating system."""
    if name.startswith("/") or "\\" in name or "\0" in name or PureWindowsPath(name).drive:
        return True
    return any(part.strip(" .") == "" for part in name.split("/") if part not in ("", "."))


def _require_distinct(entries: list[Entry]) -> None:
    """Raise if a file stands where another file or a folder should."""
    files = set()
    for entry in entries:
        if entry.kind == "file" and entry.parts in files:
            raise DataError(f"archive member {entry.name!r} is there twice")
        if entry.kind == "file":
            files.add(entry.parts)
    for entry in entries:
        ends = len(entry.parts) + (entry.kind == "folder")
        if any(entry.parts[:end] in files for end in range(1, ends)):
            raise DataError(f"archive member {entry.name!r} lies in a member that is a file")


# --- writing --------------------------------------------------------------------------------


def _write(entries: list[Entry], target: Path) -> None:
    """All entries under ``target``, or nothing."""
    temporary = target.with_name(f".{target.name}.{os.getpid()}-{uuid4().hex}")
    temporary.mkdir(parents=True)
    try:
        for entry in entries:
            path = temporary.joinpath(*entry.parts)
            if entry.kind == "folder":
                path.mkdir(parents=True, exist_ok=True)
            else:
                _copy(entry, path)
        if target.exists():
            target.rmdir()  # empty, or this raises
        temporary.rename(target)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _copy(entry: Entry, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    source = entry.open()
    if source is None:
        raise DataError(f"archive member {entry.name!r} has no bytes")
    with source, path.open("xb") as file:
        shutil.copyfileobj(source, file, BLOCK)
        written = file.tell()
    if written != entry.size:
        raise DataError(
            f"archive member {entry.name!r} has {written:,} bytes instead of {entry.size:,}"
        )


__all__ = ["extract"]
