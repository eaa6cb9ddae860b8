"""Archives, honest and hostile."""

import bz2
import gzip
import io
import lzma
import stat
import subprocess
import sys
import tarfile
import zipfile

import numpy as np
import pytest

from mathlm.errors import DataError, DataNotFoundError, InputError
from mathlm.text.corpora.archive import extract

FILES = {"a.txt": b"alpha", "deep/er/b.bin": bytes(range(256)) * 999, "empty": b""}
FORMS = ("tar", "tar.gz", "tar.bz2", "zip")
COMPRESS = {"tar": bytes, "tar.gz": gzip.compress, "tar.bz2": bz2.compress}


def tar_bytes(*members, format=tarfile.PAX_FORMAT):
    """A tar of (TarInfo, bytes), with the names as they are."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=format) as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return buffer.getvalue()


def tar_member(name, data=b"x", **fields):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def zip_bytes(*members, method=zipfile.ZIP_DEFLATED):
    """A zip of (ZipInfo or name, bytes)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for info, data in members:
            archive.writestr(info, data)
    return buffer.getvalue()


def zip_member(name, form=stat.S_IFREG, data=b"x"):
    info = zipfile.ZipInfo(name)
    info.create_system, info.external_attr = 3, (form | 0o777) << 16
    return info, data


def archive_of(form, files):
    if form == "zip":
        return zip_bytes(*files.items())
    return COMPRESS[form](tar_bytes(*[tar_member(n, data) for n, data in files.items()]))


def unpacked(folder):
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()
    }


@pytest.fixture
def place(tmp_path):
    """Writes an archive; ``place.unpack(bytes)`` extracts it into ``tmp_path / "out"``."""

    class Place:
        top, out, archive = tmp_path, tmp_path / "out", tmp_path / "in.archive"

        def unpack(self, data, **limits):
            self.archive.write_bytes(data)
            return extract(self.archive, self.out, **limits)

        def refuses(self, data, text, **limits):
            with pytest.raises(DataError, match=text):
                self.unpack(data, **limits)
            return list(self.top.iterdir()) == [self.archive]

    return Place()


@pytest.mark.parametrize("form", FORMS)
def test_what_was_packed_comes_out(place, form):
    assert unpacked(place.unpack(archive_of(form, FILES))) == FILES
    assert sorted(p.name for p in place.top.iterdir()) == ["in.archive", "out"]


def test_folders_and_dots_that_mean_here_are_fine(place):
    folder = tar_member("./", b"", type=tarfile.DIRTYPE)
    inner = tar_member("./kept/", b"", type=tarfile.DIRTYPE)
    place.unpack(tar_bytes(folder, inner, tar_member("./kept/a"), tar_member("b//c")))
    assert unpacked(place.out) == {"kept/a": b"x", "b/c": b"x"}


def test_permissions_of_the_archive_are_not_taken_over(place):
    place.unpack(tar_bytes(tar_member("a", mode=0o6777)))
    assert (place.out / "a").stat().st_mode & 0o7111 == 0


OUTSIDE = [
    "../x",
    "a/../../x",
    "a/..",
    "/etc/x",
    "//x",
    "..\\x",
    "a\\..\\..\\x",
    "C:x",
    "C:/x",
    ".. /x",
    ".../x",
]


@pytest.mark.parametrize("name", OUTSIDE)
@pytest.mark.parametrize("form", FORMS)
def test_a_path_that_leads_outside_is_refused_before_any_write(place, form, name):
    data = archive_of(form, {"good": b"x", name: b"evil"})
    assert place.refuses(data, r"archive member '.*' would be written outside")


@pytest.mark.parametrize(
    ("fields", "text"),
    [
        ({"type": tarfile.SYMTYPE, "linkname": "/etc/passwd"}, "'odd' is a symbolic link"),
        ({"type": tarfile.LNKTYPE, "linkname": "good"}, "'odd' is a hard link"),
        ({"type": tarfile.CHRTYPE}, "'odd' is a device"),
        ({"type": tarfile.BLKTYPE}, "'odd' is a device"),
        ({"type": tarfile.FIFOTYPE}, "'odd' is a device"),
    ],
)
def test_a_link_or_device_in_a_tar_is_refused(place, fields, text):
    odd = tar_member("odd", b"", **fields)
    assert place.refuses(tar_bytes(tar_member("good"), odd), text)


@pytest.mark.parametrize(
    ("form", "text"),
    [
        (stat.S_IFLNK, "is a symbolic link"),
        (stat.S_IFCHR, "is a device"),
        (stat.S_IFIFO, "is a device"),
    ],
)
def test_a_link_or_device_in_a_zip_is_refused(place, form, text):
    assert place.refuses(zip_bytes(zip_member("good"), zip_member("odd", form)), text)


def test_a_link_that_calls_itself_a_folder_is_refused(place):
    assert place.refuses(zip_bytes(zip_member("odd/", stat.S_IFLNK)), "is a symbolic link")


SPARSE = {
    "0.1": {
        "GNU.sparse.size": str(10**10),
        "GNU.sparse.map": "0,1",
        "GNU.sparse.numblocks": "1",
    },
    "0.0": {"GNU.sparse.size": str(10**10)},
    "1.0": {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.realsize": str(10**10),
    },
}


@pytest.mark.parametrize("version", SPARSE)
def test_a_sparse_entry_of_ten_gigabytes_is_refused(place, version):
    map_of_one_byte = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
    hole = tar_member("hole", map_of_one_byte, pax_headers=SPARSE[version])
    text = "'hole' is sparse|'hole' brings the size to|cannot be unpacked"
    assert place.refuses(tar_bytes(tar_member("good"), hole), text)


def test_an_old_sparse_entry_is_refused(place):
    info, data = tar_member("hole", b"x" * 512, type=tarfile.GNUTYPE_SPARSE)
    raw = bytearray(tar_bytes((info, data), format=tarfile.GNU_FORMAT))
    raw[386:410] = b"%011o\0%011o\0" % (0, 512)
    raw[483:495] = b"%011o\0" % (8**11 - 1)
    raw[148:156] = b" " * 8
    raw[148:156] = b"%06o\0 " % sum(raw[:512])
    assert place.refuses(bytes(raw), "'hole' is sparse")


def huge(name="huge", size=10**10):
    """A header that announces more than follows."""
    info = tarfile.TarInfo(name)
    info.size = size
    return info.tobuf(tarfile.GNU_FORMAT)


@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_entry_of_ten_gigabytes_is_refused_from_its_header(place, pack):
    text = r"'huge' brings the size to 10,000,000,000 bytes, more than max_bytes=4,294,967,296"
    assert place.refuses(pack(huge()), text)


def test_many_small_entries_are_refused_at_the_sum(place):
    data = archive_of("zip", {f"{i}": bytes(1000) for i in range(11)})
    assert place.refuses(data, r"'10' brings the size to 11,000", max_bytes=10_999)
    place.unpack(data, max_bytes=11_000)


@pytest.mark.parametrize("form", FORMS)
def test_too_many_entries_are_refused(place, form):
    data = archive_of(form, {f"{i}": b"" for i in range(4)})
    assert place.refuses(data, "more than max_members=3 members", max_members=3)
    place.unpack(data, max_members=4)


def test_a_large_file_is_not_taken_for_a_header(place):
    data = bytes(2**24 + 5000)
    place.unpack(gzip.compress(tar_bytes(tar_member("a", data)), 1), max_members=1)
    assert (place.out / "a").read_bytes() == data


def test_a_zip_whose_entry_is_shorter_than_it_says_leaves_nothing(place):
    raw = bytearray(zip_bytes(("a", b"abc")))
    raw[raw.index(b"PK\x01\x02") + 24] += 5
    assert place.refuses(bytes(raw), "'a' has 3 bytes instead of 8")


@pytest.mark.slow
def test_a_bomb_in_the_headers_is_refused_in_bounded_memory(place):
    """A header for a long name claims 8 GB, and 2 GB of zeros are there to be read."""
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = tarfile.GNUTYPE_LONGNAME, 8**11 - 1
    zeros = gzip.compress(bytes(2**24))  # a gzip file may be a chain of such pieces
    bomb = gzip.compress(info.tobuf(tarfile.GNU_FORMAT)) + zeros * 128
    place.archive.write_bytes(bomb)
    code = (
        "import resource, sys; from mathlm.text.corpora.archive import extract\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: extract(sys.argv[1], sys.argv[2])\n"
        "except ValueError as error: print(error)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000)"
    )
    command = [sys.executable, "-c", code, str(place.archive), str(place.out)]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    assert "archive asks for 8,589,934,592 bytes" in run.stdout
    assert run.stdout.endswith("True\n")


@pytest.mark.parametrize("size", [-512, -1024, -(10**6)])
@pytest.mark.parametrize("kind", [tarfile.REGTYPE, tarfile.GNUTYPE_LONGNAME, tarfile.XHDTYPE])
def test_a_negative_size_is_refused_and_does_not_loop(place, kind, size):
    info = tarfile.TarInfo("odd")
    info.type, info.size = kind, size
    data = tar_bytes(tar_member("good")).rstrip(b"\0").ljust(1024, b"\0")
    text = "makes no sense|cannot be unpacked|archive asks for"
    assert place.refuses(data + info.tobuf(tarfile.GNU_FORMAT) + bytes(1024), text)


def test_a_name_that_is_there_twice_is_refused(place):
    data = tar_bytes(tar_member("a", b"1"), tar_member("./a", b"2"))
    assert place.refuses(data, r"'\./a' is there twice|'a' is there twice")


@pytest.mark.parametrize("names", [("a", "a/b"), ("a/b", "a"), ("a", "a/")])
def test_a_file_in_the_place_of_a_folder_is_refused(place, names):
    kinds = [tarfile.DIRTYPE if name.endswith("/") else tarfile.REGTYPE for name in names]
    members = [
        tar_member(name, b"", type=kind) for name, kind in zip(names, kinds, strict=True)
    ]
    assert place.refuses(tar_bytes(*members), "lies in a member that is a file")


def test_a_deep_or_long_name_is_refused(place):
    assert place.refuses(tar_bytes(tar_member("a/" * 101 + "b")), "too long a name")
    assert place.refuses(tar_bytes(tar_member("a" * 4097)), "too long a name")


def test_a_name_that_the_file_system_does_not_take_leaves_nothing(place):
    data = tar_bytes(tar_member("good"), tar_member("a" * 300))
    assert place.refuses(data, r"cannot be unpacked .* too long")


def test_an_encrypted_zip_is_refused(place):
    raw = bytearray(zip_bytes(("a", b"x")))
    raw[raw.index(b"PK\x01\x02") + 8] |= 1
    assert place.refuses(bytes(raw), "'a' is encrypted")


def test_a_compression_without_bounded_memory_is_refused(place):
    data = zip_bytes(("a", b"x"), method=zipfile.ZIP_LZMA)
    assert place.refuses(data, "'a' is compressed by method 14")
    assert place.refuses(lzma.compress(tar_bytes(tar_member("a"))), "cannot be unpacked")


def test_a_zip_whose_bytes_do_not_have_their_checksum_leaves_nothing(place):
    data = zip_bytes(("good", b"x"), ("a", b"unique bytes"), method=zipfile.ZIP_STORED)
    assert place.refuses(data.replace(b"unique", b"UNIQUE"), "Bad CRC-32")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("part", [0.0, 0.3, 0.6, 0.99])
def test_a_cut_archive_is_refused(place, form, part):
    data = archive_of(form, FILES)
    end = {"tar": len(data) - 10240}.get(form, len(data))
    assert place.refuses(data[: int(part * end)], "cut off|cannot be unpacked")


@pytest.mark.parametrize("form", FORMS)
def test_flipped_bytes_never_write_half_an_archive(place, form, rng):
    """Whatever the damage: all entries or none, and no other kind of error."""
    data = archive_of(form, FILES)
    for _ in range(60):
        damaged = np.frombuffer(data, np.uint8).copy()
        damaged[rng.integers(len(data), size=3)] ^= rng.integers(1, 256, 3).astype(np.uint8)
        try:
            names = unpacked(place.unpack(damaged.tobytes()))
            assert len(names) == len(FILES)
            subprocess.run(["rm", "-r", place.out], check=True)
        except DataError:
            assert list(place.top.iterdir()) == [place.archive]


def test_a_folder_that_holds_something_is_refused(place):
    place.out.mkdir()
    (place.out / "mine").write_text("kept")
    with pytest.raises(InputError, match="must be a new or an empty folder"):
        place.unpack(archive_of("tar", FILES))
    assert unpacked(place.out) == {"mine": b"kept"}


def test_a_link_is_not_followed(place):
    (place.top / "elsewhere").mkdir()
    place.out.symlink_to(place.top / "elsewhere")
    with pytest.raises(InputError, match="must be a new or an empty folder"):
        place.unpack(archive_of("tar", FILES))


def test_an_empty_folder_is_filled(place):
    place.out.mkdir()
    assert unpacked(place.unpack(archive_of("zip", FILES))) == FILES


@pytest.mark.parametrize("limits", [{"max_bytes": 0}, {"max_members": 0}])
def test_limits_are_at_least_one(place, limits):
    with pytest.raises(InputError, match=r"must be 1 or more"):
        place.unpack(archive_of("tar", FILES), **limits)


def test_a_missing_archive_is_not_found(tmp_path):
    with pytest.raises(DataNotFoundError, match="there is no archive"):
        extract(tmp_path / "none.zip", tmp_path / "out")
