"""One way to fetch a file: hash-checked, atomic, safe with many processes at once.

Nothing in the book downloads. This serves whoever asks for a file by its address.
"""

import hashlib
import http.client
import logging
import os
import re
import tempfile
import urllib.request
from collections.abc import Iterator
from functools import cache as remember
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit
from uuid import uuid4

from ...errors import DataError, DataNotFoundError, HashMismatchError, InputError

log = logging.getLogger(__name__)

BLOCK = 1 << 20  # [bytes] read at a time


def cache_folder() -> Path:
    """Where files are kept: ``$MATHLM_CACHE``, or ``~/.cache/mathlm`` if that is not set."""
    return Path(os.environ.get("MATHLM_CACHE") or "~/.cache/mathlm").expanduser()


def fetch(
    url: str,
    *,
    sha256: str,
    cache: str | os.PathLike[str] | None = None,
    timeout: float = 30.0,
    max_bytes: int = 2**31,
    schemes: tuple[str, ...] = ("https", "file"),
) -> Path:
    """Path of a file with the given hash, from the cache or else from its address.

    The cache is read first, and what lies there is hashed at every call. A download goes to a
    temporary file of this process and takes its place in one step, so other processes see the
    whole file or none. A cache that cannot be written is still read; what is missing there
    goes to a temporary folder, and a line of the log says so. There is one attempt, no retry.

    Args:
        url: Address that starts with one of ``schemes``.
        sha256: Hash that the bytes must have, 64 hexadecimal digits.
        cache: Folder that keeps the file. None means ``cache_folder()``.
        timeout: Longest time without an answer [s].
        max_bytes: Largest file that is accepted [bytes].
        schemes: Kinds of address that are allowed, also after a redirect. Plain ``http`` is
            left out: name it for a server on your own machine.

    Raises:
        InputError: If the address, the hash, the time or the size is not allowed.
        DataNotFoundError: If the file is not cached and the address cannot be reached.
        HashMismatchError: If other bytes came; the cache is as it was before.
        DataError: If the file is too large, breaks off or cannot be written.
    """
    digest = _require_arguments(url, sha256, timeout, max_bytes, schemes)
    folder = Path(cache) if cache is not None else cache_folder()
    path = folder / f"{digest[:16]}-{_file_name(url)}"
    if _is_intact(path, digest):
        return path
    path = _writable(folder) / path.name
    if path.parent != folder and _is_intact(path, digest):
        return path
    try:
        _replace(path, _blocks(url, path, timeout, max_bytes, schemes), digest, url)
    except DataError:
        raise
    except OSError as error:
        raise DataError(f"cannot write {path} ({error}): free space, or pass cache=") from error
    return path


def _require_arguments(
    url: str, sha256: str, timeout: float, max_bytes: int, schemes: tuple[str, ...]
) -> str:
    """Raise for what no download could satisfy; returns the hash in lower case."""
    if not re.fullmatch(r"[0-9a-fA-F]{64}", sha256):
        raise InputError(f"sha256={sha256!r} must be 64 hexadecimal digits, has {len(sha256)}")
    if not timeout > 0:
        raise InputError(f"timeout={timeout} must be a positive number of seconds")
    if max_bytes < 1:
        raise InputError(f"max_bytes={max_bytes} must be 1 or more")
    if _scheme(url) not in schemes:
        allowed = " or ".join(f"{scheme}://" for scheme in schemes)
        raise InputError(f"address {url!r} must start with {allowed}")
    return sha256.lower()


def _scheme(url: str) -> str:
    try:
        return urlsplit(url).scheme
    except ValueError as error:
        raise InputError(f"address {url!r} is malformed: {error}") from error


def _file_name(url: str) -> str:
    """Last part of the address, in letters that every file system takes."""
    name = re.sub(r"[^A-Za-z0-9._-]", "_", urlsplit(url).path.rsplit("/", 1)[-1])
    return name[-100:] or "file"


def _is_intact(path: Path, digest: str) -> bool:
    try:
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return False
    if found != digest:
        log.warning("sha256 of %s is %s, expected %s: fetching it again", path, found, digest)
    return found == digest


def _writable(folder: Path) -> Path:
    """``folder`` if a file can be made there, else a temporary folder of this process."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        scratch = _scratch()
        log.warning("cache %s cannot be written (%s): using %s", folder, error, scratch)
        return scratch


@remember
def _scratch() -> Path:
    return Path(tempfile.mkdtemp(prefix="mathlm-"))


def _replace(path: Path, blocks: Iterator[bytes], digest: str, url: str) -> None:
    """Put ``blocks`` at ``path`` in one step, if they have the hash."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}-{uuid4().hex}")
    found = hashlib.sha256()
    try:
        with temporary.open("xb") as file:
            for block in blocks:
                found.update(block)
                file.write(block)
        if found.hexdigest() != digest:
            raise HashMismatchError(
                f"sha256 of {url} is {found.hexdigest()}, expected {digest}: nothing was kept; "
                "if the file changed on purpose, pass its new sha256"
            )
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _blocks(
    url: str, path: Path, timeout: float, max_bytes: int, schemes: tuple[str, ...]
) -> Iterator[bytes]:
    """The bytes behind ``url``, read once; ``path`` is named if they cannot be had."""
    opener = urllib.request.build_opener(_Redirects(schemes))
    request = urllib.request.Request(url, headers={"User-Agent": "mathlm"})
    try:
        with opener.open(request, timeout=timeout) as response:
            yield from _capped(response, url, max_bytes)
    except (OSError, http.client.HTTPException) as error:
        raise DataNotFoundError(
            f"{url} cannot be reached ({_reason(error)}), and {path} does not hold it: "
            "go online, or put the file there yourself"
        ) from error


def _capped(response: Any, url: str, max_bytes: int) -> Iterator[bytes]:
    """Blocks of an answer that is neither too long nor shorter than it announced."""
    announced = response.headers.get("Content-Length") or ""
    expected = int(announced) if announced.isdecimal() else 0
    received = 0
    _require_size(url, expected, max_bytes)
    while block := response.read(BLOCK):
        received += len(block)
        _require_size(url, received, max_bytes)
        yield block
    if received < expected:
        raise DataError(f"{url} broke off after {received:,} of {expected:,} bytes: try again")


def _require_size(url: str, size: int, max_bytes: int) -> None:
    if size > max_bytes:
        raise DataError(
            f"{url} has {size:,} bytes or more, and max_bytes={max_bytes:,}: nothing was kept"
        )


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a redirect only to a kind of address that is allowed."""

    def __init__(self, schemes: tuple[str, ...]) -> None:
        self.schemes = schemes

    def redirect_request(
        self, req: Any, fp: Any, code: Any, msg: Any, headers: Any, newurl: Any
    ):
        """The next request, or an error."""
        if _scheme(newurl) not in self.schemes:
            allowed = " or ".join(self.schemes)
            raise DataError(f"{req.full_url} redirects to {newurl}, which is not {allowed}")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _reason(error: Exception) -> str:
    if isinstance(error, HTTPError):
        return f"the server answered {error.code} {error.reason}"
    return str(getattr(error, "reason", error)) or type(error).__name__


__all__ = ["cache_folder", "fetch"]
