"""Folders that appear whole or not at all, and whose every byte is accounted for."""

import hashlib
import json
import os
import shutil
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import CheckpointCorruptError, CheckpointError

fcntl: Any
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

MANIFEST = "manifest.json"
LOCK = ".lock"


def write_folder(target: Path, files: dict[str, bytes]) -> None:
    """Write ``files`` and their manifest as the folder ``target``, atomically.

    The files are written and synced in a folder beside ``target``, which then takes its name.
    Whatever goes wrong, the unfinished folder is removed and an older ``target`` stays.
    """
    temp = beside(target, "tmp")
    shutil.rmtree(temp, ignore_errors=True)
    try:
        temp.mkdir(parents=True)
        for name, content in (files | {MANIFEST: manifest(files)}).items():
            write_synced(temp / name, content)
        sync(temp)
        replace_folder(temp, target)
        sync(target.parent)
    except BaseException:
        shutil.rmtree(temp, ignore_errors=True)
        raise


def replace_folder(temp: Path, target: Path) -> None:
    """Give ``temp`` the name ``target``; an older ``target`` is removed after."""
    old = beside(target, "old")
    if target.exists():
        os.replace(target, old)
    os.replace(temp, target)
    shutil.rmtree(old, ignore_errors=True)


def remove_folder(target: Path) -> None:
    """Remove ``target``; at no time does a part of it stand under its name."""
    old = beside(target, "old")
    with suppress(FileNotFoundError):  # another process was faster
        os.replace(target, old)
        shutil.rmtree(old)


def remove_unfinished(folder: Path) -> int:
    """Remove what killed processes of this machine left in ``folder``; returns how many."""
    host = socket.gethostname()
    stale = [
        path
        for path in folder.glob(f".*.{host}.*.*")
        if path.suffix in {".tmp", ".old"} and not is_alive(path.suffixes[-2][1:])
    ]
    for path in stale:
        shutil.rmtree(path)
    return len(stale)


def beside(target: Path, kind: str) -> Path:
    """A hidden name beside ``target`` that tells which process uses it."""
    return target.parent / f".{target.name}.{socket.gethostname()}.{os.getpid()}.{kind}"


def is_alive(pid: str) -> bool:
    """Whether a process of this machine has the number ``pid``."""
    try:
        os.kill(int(pid), 0)
    except ProcessLookupError:
        return False
    except (PermissionError, ValueError, OverflowError):
        return True
    return True


def write_synced(path: Path, content: bytes) -> None:
    """Write ``content`` and wait until the disk has it."""
    with open(path, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def sync(folder: Path) -> None:
    """Wait until the disk has the names in ``folder``; Windows has no such call."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextmanager
def locked(folder: Path | None) -> Iterator[None]:
    """While the block runs, no other process may train into ``folder``.

    The lock is one of the system's on the file ``.lock``: it ends with the process, even with
    a killed one, and where the system has none (Windows, some network drives) nothing is
    locked.

    Raises:
        CheckpointError: If another process has the lock; names it.
    """
    handle = None if folder is None or fcntl is None else take_lock(folder / LOCK)
    try:
        yield
    finally:
        if folder is not None and handle is not None:
            (folder / LOCK).unlink(missing_ok=True)
            os.close(handle)


def take_lock(path: Path) -> int | None:
    """A handle that holds the lock; None where the file system has no locks."""
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.read(handle, 200).decode(errors="replace") or "one that just began"
            os.close(handle)
            raise CheckpointError(
                f"output directory {path.parent} is in use by another process ({owner}): two "
                "runs would remove each other's checkpoints. Wait until it ends, or choose "
                "another folder"
            ) from error
        except OSError:
            os.close(handle)
            return None
        if path.exists() and os.path.samestat(os.fstat(handle), path.stat()):
            os.truncate(handle, 0)
            os.write(handle, f"process {os.getpid()} of {socket.gethostname()}".encode())
            return handle
        os.close(handle)  # its holder ended and took the file away meanwhile


def check_writable(folder: Path) -> None:
    """Make ``folder`` and try to write into it.

    Raises:
        CheckpointError: If that fails.
    """
    probe = beside(folder / "probe", "tmp")
    try:
        probe.mkdir(parents=True)
        write_synced(probe / "probe", b"x")
    except OSError as error:
        raise CheckpointError(
            f"output directory {folder} is not writable: {error.strerror or error}; choose "
            "another folder"
        ) from error
    finally:
        shutil.rmtree(probe, ignore_errors=True)


def manifest(files: dict[str, bytes]) -> bytes:
    """Size and SHA-256 of each file, and of this list itself."""
    entries = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in files.items()
    }
    return seal({"files": entries})


def seal(content: dict) -> bytes:
    """``content`` in the one form that is accepted, with its own SHA-256."""
    own = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
    return (json.dumps(content | {"sha256": own}, indent=1, sort_keys=True) + "\n").encode()


def verify_folder(path: Path) -> None:
    """Compare every file of ``path`` with the manifest.

    Raises:
        CheckpointCorruptError: If a file is missing, cut short or changed; names it.
    """
    for name, entry in read_manifest(path).items():
        check_size(path, name, entry["bytes"])
        with open(path / name, "rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
        if found != entry["sha256"]:
            raise changed(path, name, found, entry["sha256"])


def read_manifest(path: Path) -> dict[str, dict]:
    """The files that ``path`` must hold, after the manifest has been checked against itself."""
    raw = (path / MANIFEST).read_bytes()
    found = hashlib.sha256(raw).hexdigest()
    try:
        content = json.loads(raw)
        files = content["files"]
        expected = seal({"files": files})
    except (ValueError, KeyError, TypeError) as error:
        raise CheckpointCorruptError(
            f"checkpoint {path} is corrupt: {MANIFEST} (sha256 {found}) cannot be read, "
            "expected a sealed list of files; use another checkpoint"
        ) from error
    if raw != expected:
        raise changed(path, MANIFEST, found, hashlib.sha256(expected).hexdigest())
    return files


def check_size(path: Path, name: str, expected: int) -> None:
    """Refuse a file that is missing or of another size."""
    if not (path / name).is_file():
        raise CheckpointCorruptError(f"checkpoint {path} is corrupt: {name} is missing")
    size = (path / name).stat().st_size
    if size < expected:
        raise CheckpointCorruptError(
            f"checkpoint {path / name} is truncated: {size:,} of {expected:,} bytes; use "
            "another checkpoint"
        )
    if size > expected:
        raise CheckpointCorruptError(
            f"checkpoint {path / name} is corrupt: {size:,} bytes, expected {expected:,}"
        )


def changed(path: Path, name: str, found: str, expected: str) -> CheckpointCorruptError:
    """The error for a file whose bytes are not those that were written."""
    return CheckpointCorruptError(
        f"checkpoint {path} is corrupt: sha256 of {name} is {found}, expected {expected}; use "
        "another checkpoint"
    )
