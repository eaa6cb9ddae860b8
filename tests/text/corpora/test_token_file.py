"""Files of tokens: the same tokens, however they are read and written, or an error."""

import json
import os

import numpy as np
import pytest

from mathlm.errors import (
    DataError,
    DataNotFoundError,
    HashMismatchError,
    InputError,
    InputTypeError,
)
from mathlm.text import (
    PATTERNS,
    ByteBPE,
    Bytes,
    corpus,
    encode_corpus,
    open_tokens,
    pre_tokenize,
    read_manifest,
    write_tokens,
)
from mathlm.text.corpora import documents, token_file
from mathlm.train import TokenWindows

TEXTS = ["To be, or not", "é", "to be"]


@pytest.fixture
def path(tmp_path):
    write_tokens(TEXTS, tmp_path / "t.bin", Bytes())
    return tmp_path / "t.bin"


@pytest.fixture(scope="module")
def bpe():
    return ByteBPE.train([corpus.documents("shakespeare")[0]], 400, special=["<end>"])


def test_the_file_holds_the_bytes_of_the_texts(path):
    ids = open_tokens(path, Bytes())
    assert isinstance(ids, np.memmap)
    assert bytes(ids.astype(np.uint8)) == "".join(TEXTS).encode()
    assert not ids.flags.writeable


def test_the_file_is_flat_and_little_endian(path):
    """ "To" is 84, 111: two bytes each, the low one first."""
    assert path.read_bytes()[:4] == bytes([84, 0, 111, 0])
    assert path.stat().st_size == 2 * len("".join(TEXTS).encode())


def test_the_manifest_knows_where_documents_begin(path):
    manifest = read_manifest(path)
    assert manifest.documents == (0, 13, 15)
    assert (manifest.tokens, manifest.vocab_size, manifest.dtype) == (20, 256, "<u2")


def test_an_end_stands_behind_each_document(tmp_path, bpe):
    end = bpe.special["<end>"]
    manifest = write_tokens(TEXTS, tmp_path / "t", bpe, end_id=end)
    expected = [i for text in TEXTS for i in [*bpe.encode(text), end]]
    assert open_tokens(tmp_path / "t", bpe).tolist() == expected
    assert manifest.end_id == end


def test_a_large_vocabulary_takes_32_bits(tmp_path):
    class Large(Bytes):
        vocab_size = 65537

        def encode(self, text):
            return [65536, len(text)]

    write_tokens(["abc"], tmp_path / "t", Large())
    assert open_tokens(tmp_path / "t").tolist() == [65536, 3]
    assert read_manifest(tmp_path / "t").dtype == "<u4"


def test_65536_tokens_still_take_16_bits(tmp_path):
    class Full(Bytes):
        vocab_size = 65536

        def encode(self, text):
            return [65535]

    write_tokens(["a"], tmp_path / "t", Full())
    assert open_tokens(tmp_path / "t").dtype == np.uint16
    assert open_tokens(tmp_path / "t").tolist() == [65535]


def test_a_text_file_in_parts_has_the_tokens_of_the_whole(tmp_path, bpe, monkeypatch):
    text = corpus.documents("shakespeare")[1][:5000] + "  \n\n end   of  it \t x"
    (tmp_path / "a.txt").write_text(text, encoding="utf-8")
    monkeypatch.setattr(documents, "BLOCK", 97)
    write_tokens(tmp_path / "a.txt", tmp_path / "t", bpe)
    assert open_tokens(tmp_path / "t").tolist() == bpe.encode(text)


@pytest.mark.parametrize("pattern", sorted(PATTERNS))
def test_parts_have_the_pieces_of_the_whole(pattern):
    """Characters come one by one; runs of spaces are where a cut could do harm."""
    text = "to  be,   or 12\t not\n  to    be  \u3000 x \n\n end   "
    parts = list(token_file._safe_parts(iter(text)))
    assert len(parts) > 5
    pieces = [piece for part in parts for piece in pre_tokenize(part, pattern)]
    assert pieces == pre_tokenize(text, pattern)


def test_hashes_are_those_that_the_trainer_compares(tmp_path, monkeypatch):
    monkeypatch.setattr(token_file, "SHARD", 8)
    monkeypatch.setattr("mathlm.train.windows.SHARD", 8)
    manifest = write_tokens(TEXTS, tmp_path / "t", Bytes())
    windows = TokenWindows(open_tokens(tmp_path / "t"), context=4, batch_size=1, vocab_size=256)
    assert len(manifest.sha256) == 3
    assert list(manifest.sha256) == windows.sha256


def test_shards_of_the_two_have_one_length():
    from mathlm.train import windows as data

    assert token_file.SHARD == data.SHARD == 2**20


def test_a_changed_shard_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(token_file, "SHARD", 8)
    write_tokens(TEXTS, tmp_path / "t", Bytes())
    data = bytearray((tmp_path / "t").read_bytes())
    data[17] ^= 1  # of token 8, the first of the second shard
    (tmp_path / "t").write_bytes(data)
    with pytest.raises(HashMismatchError, match=r"shard 1 of .* changed"):
        open_tokens(tmp_path / "t")
    assert len(open_tokens(tmp_path / "t", verify=False)) == 20


def test_a_file_cut_short_is_named(path):
    path.write_bytes(path.read_bytes()[:-2])
    with pytest.raises(DataError, match="38 bytes, expected 40"):
        open_tokens(path, verify=False)


def test_another_tokenizer_is_refused(path, bpe):
    with pytest.raises(HashMismatchError, match="tokenizer differs"):
        open_tokens(path, bpe)


def test_a_changed_manifest_is_refused(path):
    file = path.with_name("t.bin.json")
    file.write_text(file.read_text().replace('"tokens": 20', '"tokens": 19'))
    with pytest.raises(HashMismatchError, match="has changed"):
        open_tokens(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read as JSON"),
        ("[1]", "format 'list'"),
        ('{"format": "x"}', "format 'x'"),
        ('{"format": "mathlm tokens", "version": 2}', "version 2"),
    ],
)
def test_a_manifest_of_another_kind_is_refused(path, content, message):
    path.with_name("t.bin.json").write_text(content)
    with pytest.raises(DataError, match=message):
        open_tokens(path)


def test_a_manifest_without_its_fields_is_refused(path):
    content = {"format": token_file.FORMAT, "version": 1}
    content["sha256_of_manifest"] = token_file.hash_of(content)
    path.with_name("t.bin.json").write_text(json.dumps(content))
    with pytest.raises(DataError, match="no manifest of tokens"):
        open_tokens(path)


def test_without_its_manifest_a_file_is_unfinished(path):
    path.with_name("t.bin.json").unlink()
    with pytest.raises(DataNotFoundError, match="no manifest"):
        open_tokens(path)


def test_a_failure_leaves_the_old_file_and_nothing_else(path):
    def texts():
        yield "new"
        raise KeyboardInterrupt

    before = sorted(os.listdir(path.parent))
    with pytest.raises(KeyboardInterrupt):
        write_tokens(texts(), path, Bytes())
    assert len(open_tokens(path)) == 20
    assert sorted(os.listdir(path.parent)) == before


def test_stopped_between_its_two_files_it_is_unfinished(path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(token_file, "_write_manifest", stop)
    with pytest.raises(KeyboardInterrupt):
        write_tokens(["x" * 20], path, Bytes())
    with pytest.raises(DataNotFoundError, match="no manifest"):
        open_tokens(path, verify=False)


def test_a_file_is_replaced_whole(path):
    write_tokens(["new"], path, Bytes())
    assert bytes(open_tokens(path).astype(np.uint8)) == b"new"


def test_what_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(DataError, match="cannot write"):
        write_tokens(TEXTS, tmp_path / "file" / "t", Bytes())


def test_no_tokens_are_an_error(tmp_path):
    with pytest.raises(DataError, match="the corpus is empty"):
        write_tokens(["", ""], tmp_path / "t", Bytes())
    assert os.listdir(tmp_path) == []


def test_ids_outside_the_vocabulary_are_named(tmp_path):
    class Wrong(Bytes):
        vocab_size = 100

    with pytest.raises(InputError, match=r"document 1 has token 195, outside 0\.\.99"):
        write_tokens(["a", "é"], tmp_path / "t", Wrong())
    with pytest.raises(InputError, match="end_id=100"):
        write_tokens(["a"], tmp_path / "t", Wrong(), end_id=100)


def test_one_text_is_no_list_of_texts(unchecked, tmp_path):
    with pytest.raises(InputTypeError, match=r"write \[text\]"):
        write_tokens("abc", tmp_path / "t", Bytes())
    with pytest.raises(InputTypeError, match="got int"):
        write_tokens(["a", 7], tmp_path / "t", Bytes())


def test_bytes_are_a_byte_pair_encoding_without_merges():
    text = "Öl, 中文 😀"
    assert Bytes().encode(text) == ByteBPE.from_merges([]).encode(text)
    assert Bytes().decode(Bytes().encode(text)) == text
    assert Bytes().decode([195]) == "\ufffd"
    with pytest.raises(InputError, match="no byte"):
        Bytes().decode([256])


def test_a_corpus_is_a_memory_map_with_the_starts_of_its_documents():
    for tokenizer in (
        ByteBPE.train(TEXTS, 260, special=[token_file.END]),
        Bytes([token_file.END]),
    ):
        ids, starts = encode_corpus(TEXTS, tokenizer)
        assert isinstance(ids, np.memmap)
        assert [tokenizer.decode(part.tolist()) for part in np.split(ids, starts[1:])] == [
            text + token_file.END for text in TEXTS
        ]


def test_a_file_of_tokens_is_a_corpus_as_it_is(path, bpe):
    ids, starts = encode_corpus(path, Bytes())
    assert ids.tobytes() == open_tokens(path).tobytes()
    assert starts.tolist() == list(read_manifest(path).documents)
    with pytest.raises(HashMismatchError, match="tokenizer differs"):
        encode_corpus(path, bpe)


def test_the_id_behind_documents_may_be_of_numpy(unchecked, path):
    manifest = write_tokens(["a"], path, Bytes(), end_id=np.int64(10))
    assert (read_manifest(path), manifest.end_id) == (manifest, 10)
    assert open_tokens(path).tolist() == [97, 10]


def test_a_manifest_that_cannot_be_written_leaves_the_old_file(path):
    class Other(Bytes):
        vocab_size = np.int64(256)  # no number of JSON

    with pytest.raises(TypeError):
        write_tokens(["a"], path, Other())
    assert bytes(open_tokens(path, Bytes()).tolist()) == "".join(TEXTS).encode()
