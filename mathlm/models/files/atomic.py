"""Files that appear whole or not at all."""

import errno
import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from torch import Tensor

from ...errors import CheckpointError
from .weights import write_tensors

NO_SPACE = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}


def write_files(
    folder: Path, files: Mapping[str, bytes | Mapping[str, Tensor]], what: str
) -> Path:
    """Write files that belong together; the last of them says that all are there.

    Each is written in full under a hidden name, and only then do all take their own, in order.
    Whatever goes wrong, nothing new is left, so that the same call may be tried again.

    Args:
        folder: Made if it is not there.
        files: Contents by name; tensors are written as safetensors, without a copy of them.
        what: They are, for the message.

    Returns:
        The folder.

    Raises:
        CheckpointError: If the disk is full, or refuses otherwise.
    """
    parts = {name: folder / f".{name}.{os.getpid()}.tmp" for name in files}
    placed: list[Path] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, content in files.items():
            if isinstance(content, bytes):
                parts[name].write_bytes(content)
            else:
                write_tensors(parts[name], content)
        for name, part in parts.items():
            new = not (folder / name).exists()
            os.replace(part, folder / name)
            placed += [folder / name] if new else []
    except BaseException as error:
        for path in (*parts.values(), *placed):
            with suppress(OSError):
                path.unlink(missing_ok=True)
        if not isinstance(error, OSError):
            raise
        reason = disk_reason(error, folder, sum(map(size, files.values())))
        raise CheckpointError(f"cannot write {what} to {folder}: {reason}") from error
    return folder


def size(content: bytes | Mapping[str, Tensor]) -> int:
    """Bytes of a file's content, the header of tensors left out."""
    if isinstance(content, bytes):
        return len(content)
    return sum(tensor.nbytes for tensor in content.values())


def disk_reason(error: OSError, folder: Path, needed: int) -> str:
    """Why the disk refused, with the space that is needed and free if that is it."""
    if error.errno not in NO_SPACE:
        return error.strerror or str(error)
    place = next(p for p in (folder, *folder.parents) if p.exists())
    free = shutil.disk_usage(place).free
    return f"no space left (needed {needed / 1e6:.1f} MB, free {free / 1e6:.1f} MB)"


__all__ = ["disk_reason", "write_files"]
