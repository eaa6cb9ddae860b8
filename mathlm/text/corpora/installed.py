"""Data files of installed packages: found without importing the package, and hash-checked."""

import hashlib
import os
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ...errors import DataNotFoundError, HashMismatchError

RECORD = "MATHLM_OPENED"  # names a file; each process adds the packages that it opens


@cache
def _note(record: str, package: str) -> None:
    with Path(record).open("a", encoding="utf-8") as file:
        file.write(f"{package}\n")


def data_folder(package: str, *, install: str) -> Path:
    """Folder of an installed package, which is never imported.

    Its name is added to the file that ``MATHLM_OPENED`` names, if that is set: so the book
    knows which packages a page reads.

    Args:
        package: Name that an import statement would use.
        install: Command that installs it, for the error.

    Raises:
        DataNotFoundError: If the package is not installed.
    """
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise DataNotFoundError(f"the data package {package!r} is not installed: {install}")
    if record := os.environ.get(RECORD):
        _note(record, package)
    return Path(spec.submodule_search_locations[0])


def data_file(package: str, relative: str, *, sha256: str, install: str) -> Path:
    """One data file of an installed package, whose bytes are the expected ones.

    Args:
        package: Name that an import statement would use.
        relative: Path of the file inside the package.
        sha256: Expected hash, in hexadecimal.
        install: Command that installs the package, for the errors.

    Raises:
        DataNotFoundError: If the package or the file is not there.
        HashMismatchError: If the file is not the one that the book was written with.
    """
    path = data_folder(package, install=install) / relative
    if not path.is_file():
        raise DataNotFoundError(f"{package!r} is installed without {relative}: {install}")
    require_hash([path], sha256, install=install)
    return path


def require_hash(paths: list[Path], sha256: str, *, install: str) -> None:
    """Raise unless the bytes of ``paths``, one after another, have the hash ``sha256``.

    Raises:
        HashMismatchError: Naming the first file, the expected and the found hash.
    """
    digest = hashlib.sha256()
    for path in paths:
        with path.open("rb") as file:
            while block := file.read(1 << 20):
                digest.update(block)
    if digest.hexdigest() != sha256:
        where = f"{paths[0]}" + (f" and {len(paths) - 1} more" if len(paths) > 1 else "")
        found = digest.hexdigest()
        raise HashMismatchError(f"sha256 of {where} is {found}, expected {sha256}: {install}")
