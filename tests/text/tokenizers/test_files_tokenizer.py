import hashlib
import json
import os
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import DataError, DataNotFoundError, HashMismatchError, InputTypeError
from mathlm.text import ByteBPE, corpus
from mathlm.text.tokenizers import files


@pytest.fixture(scope="module")
def bpe():
    """A tokenizer with special tokens."""
    return ByteBPE.train([corpus.documents("shakespeare")[0][:50_000]], 400, ["<|end|>", "é"])


@pytest.fixture
def path(bpe, tmp_path):
    """Where it is saved."""
    bpe.save(tmp_path / "bpe.json")
    return tmp_path / "bpe.json"


def rewrite(path, **changes):
    """Write other content with the hash that fits it, by the rule of the format."""
    content = json.loads(path.read_text(encoding="utf-8")) | changes
    del content["sha256"]
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    path.write_text(json.dumps(content), encoding="utf-8")


def content(path):
    return json.loads(path.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def pair(bpe, tmp_path_factory):
    """A tokenizer, and what was read from its file."""
    path = tmp_path_factory.mktemp("saved") / "bpe.json"
    bpe.save(path)
    return bpe, ByteBPE.load(path)


@given(st.text())
def test_saved_and_loaded_it_encodes_the_same(pair, text):
    saved, loaded = pair
    assert loaded == saved
    assert loaded.encode(text) == saved.encode(text)
    assert loaded.encode(text + "<|end|>é", "all") == saved.encode(text + "<|end|>é", "all")


def test_file_is_readable(bpe, path):
    found = content(path)
    assert "Ġ t" in found["merges"]
    assert "Ġt" in found["tokens"]
    assert found["special"] == {"<|end|>": 398, "é": 399}
    assert found["pattern"]["name"] == "gpt4"
    assert found["sha256"] == bpe.sha256


def test_file_is_the_same_in_every_run(bpe, path, tmp_path):
    bpe.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


def test_rewritten_with_a_fitting_hash_it_loads(bpe, path):
    rewrite(path)
    assert ByteBPE.load(path) == bpe


@pytest.mark.parametrize(
    ("old", "new"), [('"Ġ t"', '"Ġ a"'), ('"<|end|>": 398', '"<|END|>": 398'), ("gpt4", "gpt2")]
)
def test_changed_file_is_refused(path, old, new):
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(HashMismatchError, match=r"bpe\.json.*has changed since it was saved"):
        ByteBPE.load(path)


def test_file_without_its_hash_is_refused(path):
    found = content(path)
    del found["sha256"]
    path.write_text(json.dumps(found))
    with pytest.raises(HashMismatchError, match="the file says None"):
        ByteBPE.load(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "other"}, "has format 'other', expected"),
        ({"version": 2}, "has version 2, this mathlm reads version 1"),
        ({"merges": ["Ġt h", "Ġ t"]}, r"merge 0 of \d+ and 104 uses token"),
        ({"merges": ["Ġ t h"]}, "merge 0 is 'Ġ t h', expected two tokens"),
        ({"merges": ["Ġ <|end|>"]}, "expected two tokens"),
        ({"version": True}, "has version True, this mathlm reads version 1"),
        ({"version": 1.0}, r"has version 1\.0, this mathlm reads version 1"),
        ({"more": 1}, "its list of fields is .*'more'.*, expected format, merges, pattern"),
        ({"merges": 7}, "merges is 7, expected a list"),
        ({"merges": [None]}, r"merges\[0\] is None, expected two tokens"),
        ({"tokens": [5]}, r"tokens\[0\] is 5, expected a string, or null"),
        ({"tokens": ["a", None]}, r"'<\|end\|>' has id 398, expected an integer in 0\.\.1"),
        ({"tokens": ["a", "a"], "merges": [], "special": {}}, "tokens 0 and 1 are both b'a'"),
        ({"tokens": ["a b"], "merges": [], "special": {}}, "' ' at position 1"),
        (
            {"special": {"<|end|>": 398}},
            r"tokens\[399\] is None, expected a string: no special",
        ),
        ({"special": {"<|end|>": 65, "é": 399}}, r"tokens\[65\] is 'A', expected null: it is"),
        ({"special": {"<|end|>": 398.0, "é": 399}}, r"has id 398\.0, expected an integer in"),
        ({"special": {"<|end|>": True, "é": 399}}, "has id True, expected an integer in"),
        ({"special": {"a": 398, "b": 398, "é": 399}}, "'a' and 'b' both have id 398"),
        ({"special": {"<|end|>": 398, "é": 399, "x": "5"}}, "'x' has id '5'"),
        ({"special": []}, r"special is \[\], expected an object of names and their ids"),
        ({"pattern": {"name": [], "regex": "."}}, r"pattern\.name is \[\], expected a string"),
        ({"pattern": {"name": "gpt5", "regex": "."}}, "no pattern is called 'gpt5'"),
        ({"pattern": {"name": "gpt4", "regex": "."}}, "is not the one of this mathlm"),
        ({"pattern": "gpt4"}, "pattern is 'gpt4', expected its name and regex"),
    ],
)
def test_malformed_content_is_refused_even_if_its_hash_fits(path, changes, message):
    rewrite(path, **changes)
    with pytest.raises(DataError, match=message):
        ByteBPE.load(path)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (pickle.dumps({"merges": []}), "cannot be read as UTF-8 text"),
        (b"", "is not JSON"),
        (b"\xff\xfe\x00", "cannot be read as UTF-8 text"),
        (b'{"format": ', "is not JSON"),
        (b"[" * 100_000, "is not JSON"),
        (b"9" * 5_000, "is not JSON"),
        (b"[1, 2]", "holds a list, expected a JSON object"),
        (b"{}", "has format None"),
    ],
)
def test_other_files_are_refused(tmp_path, data, message):
    (tmp_path / "x").write_bytes(data)
    with pytest.raises(DataError, match=message):
        ByteBPE.load(tmp_path / "x")


@pytest.mark.parametrize("part", [0.1, 0.5, 0.99])
def test_half_a_file_is_refused(path, part):
    data = path.read_bytes()
    path.write_bytes(data[: int(part * len(data))])
    with pytest.raises(DataError):
        ByteBPE.load(path)


def test_missing_file_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"there is no file .*none\.json"):
        ByteBPE.load(tmp_path / "none.json")


def test_folder_is_no_file(bpe, tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        ByteBPE.load(tmp_path)
    with pytest.raises(DataError, match="cannot write"):
        bpe.save(tmp_path)


@pytest.mark.parametrize("stage", ["write_text", "replace"])
def test_failed_save_leaves_what_was_there_and_nothing_else(path, bpe, monkeypatch, stage):
    def fail(*args, **kwargs):
        raise OSError("disk full")

    before = path.read_bytes()
    owner = files.Path if stage == "write_text" else os
    monkeypatch.setattr(owner, stage, fail)
    with pytest.raises(DataError, match="disk full"):
        bpe.save(path)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["bpe.json"]


def test_save_makes_the_folder(bpe, tmp_path):
    bpe.save(tmp_path / "new" / "bpe.json")
    assert ByteBPE.load(tmp_path / "new" / "bpe.json") == bpe


@pytest.mark.parametrize("name", ["bpe.json/x/y", "a" * 256, "a\0b"])
def test_impossible_paths_are_refused_and_nothing_is_left(bpe, path, name):
    with pytest.raises(DataError, match="cannot write"):
        bpe.save(path.parent / name)
    assert os.listdir(path.parent) == ["bpe.json"]


def test_empty_path_is_refused(bpe, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match="cannot write"):
        bpe.save("")


def test_path_with_a_null_character_is_no_file():
    with pytest.raises(DataError, match="cannot be read"):
        ByteBPE.load("a\0b")


def test_longest_name_of_a_file_is_possible(bpe, tmp_path):
    bpe.save(tmp_path / ("a" * 255))
    assert ByteBPE.load(tmp_path / ("a" * 255)) == bpe


def test_link_is_followed_and_permissions_stay(bpe, path, tmp_path):
    path.write_text("old")
    path.chmod(0o600)
    (tmp_path / "link").symlink_to(path)
    bpe.save(tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert ByteBPE.load(path) == bpe
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    "call", [ByteBPE.load, ByteBPE.from_gpt2, ByteBPE.from_gguf, ByteBPE.from_merges([]).save]
)
def test_what_is_no_path_is_refused(call):
    with pytest.raises(InputTypeError, match="path=None must be a str or a path"):
        call(None)
