"""Downloads, from files and from a server on this machine."""

import hashlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from mathlm.errors import DataError, DataNotFoundError, HashMismatchError, InputError
from mathlm.text.corpora import download
from mathlm.text.corpora.download import cache_folder, fetch

BYTES = bytes(range(256)) * 8192  # 2 MiB
SHA256 = hashlib.sha256(BYTES).hexdigest()
HTTP = ("http",)
FETCH = """
import sys
from mathlm.text.corpora.download import fetch
fetch(sys.argv[1], sha256=sys.argv[2], cache=sys.argv[3], schemes=("http",))
"""


class Handler(BaseHTTPRequestHandler):
    """Answers by the first part of the path."""

    def do_GET(self):
        self.server.asked += 1
        answer = getattr(self, self.path.strip("/").split("/")[0])
        answer()

    def send(self, body, announced):
        self.send_response(200)
        self.send_header("Content-Length", str(announced))
        self.end_headers()
        self.wfile.write(body)

    def whole(self):
        self.send(BYTES, len(BYTES))

    def together(self):
        self.server.barrier.wait()
        self.whole()

    def cut(self):
        self.send(BYTES[:1000], len(BYTES))

    def promised(self):
        self.send(b"", 10**12)

    def untold(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(BYTES)

    def gone(self):
        self.send_error(404)

    def moved(self):
        self.send_response(302)
        self.send_header("Location", self.server.target)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def silent(self):
        self.server.released.wait(10)

    def log_message(self, *args):
        pass


@pytest.fixture
def server():
    """A server of this machine; its address is ``server.url``."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.url = f"http://127.0.0.1:{server.server_port}"
        server.asked, server.barrier = 0, threading.Barrier(8, timeout=60)
        server.released = threading.Event()
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.released.set()
        server.shutdown()
        thread.join()


@pytest.fixture
def original(tmp_path):
    path = tmp_path / "original.bin"
    path.write_bytes(BYTES)
    return path


@pytest.fixture
def public(monkeypatch):
    """A folder that every user can enter, with the original and a place for scratch files."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        (folder / "original.bin").write_bytes(BYTES)
        for part in ("cache", "scratch"):
            (folder / part).mkdir()
            (folder / part).chmod(0o777)
        monkeypatch.setattr(tempfile, "tempdir", str(folder / "scratch"))
        yield folder


@contextmanager
def read_only(folder):
    """This process, root or not, cannot write ``folder``."""
    user = os.geteuid()
    folder.chmod(0o555)
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o755)


@pytest.fixture(autouse=True)
def no_scratch():
    yield download._scratch.cache_clear()
    download._scratch.cache_clear()


def test_a_file_is_fetched_once_and_then_read_from_the_cache(original, tmp_path):
    path = fetch(original.as_uri(), sha256=SHA256, cache=tmp_path / "cache")
    original.unlink()
    assert path.read_bytes() == BYTES
    assert fetch(original.as_uri(), sha256=SHA256, cache=tmp_path / "cache") == path


def test_cache_is_the_named_folder_or_lies_in_the_home(monkeypatch):
    monkeypatch.setenv("HOME", "/somewhere")
    monkeypatch.setenv("MATHLM_CACHE", "~/kept")
    assert cache_folder() == Path("/somewhere/kept")
    monkeypatch.delenv("MATHLM_CACHE")
    assert cache_folder() == Path("/somewhere/.cache/mathlm")


def test_the_environment_names_the_default_cache(original, tmp_path, monkeypatch):
    monkeypatch.setenv("MATHLM_CACHE", str(tmp_path / "kept"))
    assert fetch(original.as_uri(), sha256=SHA256.upper()).parent == tmp_path / "kept"


def test_files_of_one_name_and_different_bytes_do_not_meet(original, tmp_path):
    first = fetch(original.as_uri(), sha256=SHA256, cache=tmp_path / "cache")
    original.write_bytes(b"other")
    other = hashlib.sha256(b"other").hexdigest()
    assert fetch(original.as_uri(), sha256=other, cache=tmp_path / "cache") != first
    assert first.read_bytes() == BYTES


@pytest.mark.parametrize(
    "end", ["/..", "/../..%2f..%2fetc", "/a b;c?x=1#y", "/", "/" + "n" * 999]
)
def test_no_address_leads_out_of_the_cache(end, server, tmp_path):
    cache = tmp_path / "deep" / "cache"
    url = server.url + "/whole" + end.replace(" ", "%20")
    path = fetch(url, sha256=SHA256, cache=cache, schemes=HTTP)
    assert [path] == [p for p in tmp_path.rglob("*") if p.is_file()]
    assert path.parent == cache


def test_a_damaged_cached_file_is_replaced_and_the_log_says_so(original, tmp_path, caplog):
    path = fetch(original.as_uri(), sha256=SHA256, cache=tmp_path)
    path.write_bytes(BYTES[:-1] + b"\0")
    assert fetch(original.as_uri(), sha256=SHA256, cache=tmp_path).read_bytes() == BYTES
    assert f"expected {SHA256}: fetching it again" in caplog.text


def test_a_hash_mismatch_leaves_the_cache_as_it_was_and_asks_once(server, tmp_path):
    wrong = "0" * 64
    cached = tmp_path / f"{wrong[:16]}-file.bin"
    cached.write_bytes(b"damaged")
    with pytest.raises(HashMismatchError, match=f"is {SHA256}, expected {wrong}"):
        fetch(f"{server.url}/whole/file.bin", sha256=wrong, cache=tmp_path, schemes=HTTP)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {cached.name: b"damaged"}
    assert server.asked == 1


def test_a_file_shows_in_the_cache_only_by_the_last_step(original, tmp_path, monkeypatch):
    def fail(source, target):
        assert Path(source).read_bytes() == BYTES
        raise OSError("no")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(DataError, match=r"cannot write .*\(no\): free space"):
        fetch(original.as_uri(), sha256=SHA256, cache=tmp_path / "cache")
    assert list((tmp_path / "cache").iterdir()) == []


def test_without_a_network_the_error_says_where_to_put_the_file(tmp_path):
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as closed:
        url = f"http://127.0.0.1:{closed.server_port}/x.bin"
    with pytest.raises(
        DataNotFoundError, match=r"cannot be reached .*refused.*put the file"
    ) as e:
        fetch(url, sha256=SHA256, cache=tmp_path, schemes=HTTP, timeout=5.0)
    assert str(tmp_path / f"{SHA256[:16]}-x.bin") in str(e.value)
    assert isinstance(e.value, FileNotFoundError)
    assert list(tmp_path.iterdir()) == []


def test_without_a_network_a_cached_file_is_enough(server, tmp_path):
    path = fetch(f"{server.url}/whole", sha256=SHA256, cache=tmp_path, schemes=HTTP)
    server.asked = 0
    assert fetch(f"{server.url}/whole", sha256=SHA256, cache=tmp_path, schemes=HTTP) == path
    assert server.asked == 0


@pytest.mark.parametrize(
    ("route", "kind", "text"),
    [
        ("gone", DataNotFoundError, "the server answered 404 Not Found"),
        ("cut", DataError, r"broke off after 1,000 of 2,097,152 bytes"),
        ("silent", DataNotFoundError, "timed out"),
        ("promised", DataError, r"has 1,000,000,000,000 bytes or more"),
    ],
)
def test_a_failing_server_is_an_error_and_leaves_nothing(server, tmp_path, route, kind, text):
    with pytest.raises(kind, match=text):
        fetch(f"{server.url}/{route}", sha256=SHA256, cache=tmp_path, schemes=HTTP, timeout=0.3)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("route", ["whole", "untold"])
def test_a_file_that_is_too_large_is_refused(server, tmp_path, route):
    size = len(BYTES) - 1
    with pytest.raises(DataError, match=r"max_bytes=2,097,151"):
        fetch(
            f"{server.url}/{route}",
            sha256=SHA256,
            cache=tmp_path,
            schemes=HTTP,
            max_bytes=size,
        )
    assert list(tmp_path.iterdir()) == []


def test_no_answer_is_waited_for_longer_than_the_time_out(server, tmp_path):
    start = time.monotonic()
    with pytest.raises(DataNotFoundError):
        fetch(f"{server.url}/silent", sha256=SHA256, cache=tmp_path, schemes=HTTP, timeout=0.1)
    assert time.monotonic() - start < 4  # [s]


@pytest.mark.parametrize("target", ["ftp://127.0.0.1/x", "https://127.0.0.1:9/x"])
def test_a_redirect_to_another_kind_of_address_is_refused(server, tmp_path, target):
    server.target = target
    with pytest.raises(DataError, match=r"redirects to .* which is not http"):
        fetch(f"{server.url}/moved", sha256=SHA256, cache=tmp_path, schemes=HTTP)


def test_a_redirect_cannot_read_a_file_of_this_machine(server, original, tmp_path):
    server.target = original.as_uri()
    with pytest.raises(DataError):
        fetch(f"{server.url}/moved", sha256=SHA256, cache=tmp_path, schemes=("http", "file"))


def test_a_redirect_of_the_same_kind_is_followed(server, tmp_path):
    server.target = f"{server.url}/whole"
    path = fetch(f"{server.url}/moved", sha256=SHA256, cache=tmp_path, schemes=HTTP)
    assert path.read_bytes() == BYTES


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"url": "http://127.0.0.1/x"}, "must start with https:// or file://"),
        ({"url": "ftp://127.0.0.1/x"}, "must start with https:// or file://"),
        ({"url": "x.bin"}, "must start with https:// or file://"),
        ({"url": "https://[1"}, "is malformed"),
        ({"sha256": "abc"}, "64 hexadecimal digits, has 3"),
        ({"sha256": "g" * 64}, "64 hexadecimal digits"),
        ({"timeout": 0.0}, "timeout=0.0"),
        ({"timeout": float("nan")}, "timeout=nan"),
        ({"max_bytes": 0}, "max_bytes=0"),
    ],
)
def test_impossible_arguments_are_refused_before_anything_is_made(tmp_path, change, text):
    arguments = {"url": "https://127.0.0.1:9/x", "sha256": SHA256, **change}
    with pytest.raises(InputError, match=text):
        fetch(arguments.pop("url"), cache=tmp_path / "cache", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_read_only_cache_is_read(public):
    original, cache = public / "original.bin", public / "cache"
    path = fetch(original.as_uri(), sha256=SHA256, cache=cache)
    original.unlink()
    with read_only(cache):
        assert fetch(original.as_uri(), sha256=SHA256, cache=cache) == path


def test_a_read_only_cache_is_replaced_by_a_folder_of_this_process(public, caplog):
    original, cache = public / "original.bin", public / "cache"
    with read_only(cache):
        path = fetch(original.as_uri(), sha256=SHA256, cache=cache)
        assert path.read_bytes() == BYTES
        gone = public / "gone" / "original.bin"
        assert fetch(gone.as_uri(), sha256=SHA256, cache=cache) == path
    assert path.is_relative_to(public / "scratch")
    assert list(cache.iterdir()) == []
    assert f"cache {cache} cannot be written" in caplog.text


def test_a_cache_that_cannot_be_a_folder_is_replaced_too(public, caplog):
    taken = public / "original.bin"
    path = fetch(taken.as_uri(), sha256=SHA256, cache=taken)
    assert path.read_bytes() == BYTES
    assert "cannot be written" in caplog.text


def test_a_full_disk_is_an_error_that_names_the_file_and_leaves_nothing(original, tmp_path):
    code = (
        "import resource, signal; from mathlm.text.corpora.download import fetch\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))\n"
        f"fetch({original.as_uri()!r}, sha256={SHA256!r}, cache={str(tmp_path / 'c')!r})"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert f"mathlm.errors.DataError: cannot write {tmp_path / 'c'}" in run.stderr
    assert list((tmp_path / "c").iterdir()) == []


def test_a_killed_download_does_not_show_in_the_cache(server, tmp_path):
    url = f"{server.url}/silent/x.bin"
    process = subprocess.Popen([sys.executable, "-c", FETCH, url, SHA256, str(tmp_path)])
    while not server.asked:
        assert process.poll() is None
        time.sleep(0.01)
    process.kill()
    process.wait()
    assert not (tmp_path / f"{SHA256[:16]}-x.bin").exists()
    path = fetch(f"{server.url}/whole/x.bin", sha256=SHA256, cache=tmp_path, schemes=HTTP)
    assert path.read_bytes() == BYTES


@pytest.mark.slow
def test_eight_processes_that_fetch_one_file_leave_one_intact_file(server, tmp_path):
    """The server answers nobody before all eight have asked, so all eight download."""
    command = [
        sys.executable,
        "-c",
        FETCH,
        f"{server.url}/together/x.bin",
        SHA256,
        str(tmp_path),
    ]
    processes = [subprocess.Popen(command) for _ in range(8)]
    assert [process.wait(timeout=120) for process in processes] == [0] * 8
    assert server.asked == 8
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == BYTES
