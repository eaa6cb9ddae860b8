import json
import sys

import gguf
import pytest
from tokenizers import Regex, Tokenizer, models, pre_tokenizers, trainers

from mathlm.errors import DataError, DataNotFoundError
from mathlm.text import ByteBPE, pretrained
from mathlm.text.tokenizers.pretokenize import PATTERNS

IDS = {"a": 0, "b": 1, "ab": 2, "Ġ": 3, "<|x|>": 4}


def write_gpt2(
    folder, merges="#version: 0.2\na b\n", ids=IDS, names=("vocab.bpe", "encoder.json")
):
    (folder / names[0]).write_text(merges, encoding="utf-8")
    (folder / names[1]).write_text(json.dumps(ids), encoding="utf-8")
    return folder


def write_gguf(path, *, model="gpt2", pre="smollm", kinds=(1, 1, 1, 3), merges=("a b",)):
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_tokenizer_model(model)
    writer.add_tokenizer_pre(pre)
    writer.add_token_list(["a", "b", "ab", "<|x|>"])
    writer.add_token_types(list(kinds))
    if merges:
        writer.add_array("tokenizer.ggml.merges", list(merges))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    return path


@pytest.mark.parametrize("names", [("vocab.bpe", "encoder.json"), ("merges.txt", "vocab.json")])
def test_gpt2_files_are_read_by_either_name(tmp_path, names):
    bpe = ByteBPE.from_gpt2(write_gpt2(tmp_path, names=names))
    assert bpe.encode("ab ba<|x|>", "all") == [2, 3, 1, 0, 4]


def test_first_merge_counts_where_no_version_is_given(tmp_path):
    assert ByteBPE.from_gpt2(write_gpt2(tmp_path, merges="a b")).encode("ab") == [2]


def test_folder_without_the_files_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"must hold vocab\.bpe and encoder\.json or"):
        ByteBPE.from_gpt2(tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"merges": "a b c\n"}, "merge 0 is 'a b c', expected two tokens"),
        ({"merges": "a c\n"}, "merge 0 is 'a c'"),
        ({"merges": "ab a\na b\n", "ids": IDS | {"aba": 5}}, "uses token 2"),
        ({"ids": IDS | {"c": 4}}, r"are not 0\.\.5, each once"),
        ({"ids": IDS | {"c": "5"}}, "must be a JSON object of tokens and their ids"),
        ({"ids": [1, 2]}, "must be a JSON object"),
        ({"merges": "b a\n"}, "b'ba' is no token"),
    ],
)
def test_malformed_gpt2_files_are_refused(tmp_path, change, message):
    with pytest.raises(DataError, match=message):
        ByteBPE.from_gpt2(write_gpt2(tmp_path, **change))


def test_ids_that_are_no_json_are_refused(tmp_path):
    write_gpt2(tmp_path)
    (tmp_path / "encoder.json").write_text("{")
    with pytest.raises(DataError, match=r"encoder\.json is not JSON"):
        ByteBPE.from_gpt2(tmp_path)


LEVEL = pre_tokenizers.ByteLevel
SPLIT = r"\p{N}{1,2}|\p{L}+"  # none of ours
CUTS = {
    "gpt2": LEVEL(add_prefix_space=False),
    "smollm2": pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), LEVEL(add_prefix_space=False)]
    ),
    "gpt4": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PATTERNS["gpt4"].replace(r"\Z", r"\z")), "isolated"),
            LEVEL(add_prefix_space=False, use_regex=False),
        ]
    ),
    "other": pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(SPLIT), "isolated"),
            LEVEL(add_prefix_space=False, use_regex=False),
        ]
    ),
    "a space first": LEVEL(add_prefix_space=True),
    "uncut": LEVEL(add_prefix_space=False, use_regex=False),
}


def write_hugging_face(folder, cuts):
    """The three files of a folder, as the tokenizers package trains and writes them."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = CUTS[cuts]
    trainer = trainers.BpeTrainer(
        vocab_size=300, initial_alphabet=LEVEL.alphabet(), show_progress=False
    )
    tokenizer.train_from_iterator(["12345 12345 I'LL I'LL we'll we'll 2024 "] * 9, trainer)
    tokenizer.save(str(folder / "tokenizer.json"))
    tokenizer.model.save(str(folder))
    return tokenizer


@pytest.mark.parametrize("pattern", ["gpt2", "smollm2", "gpt4"])
def test_words_are_cut_as_the_folder_says(tmp_path, pattern):
    theirs = write_hugging_face(tmp_path, pattern)
    ours = ByteBPE.from_gpt2(tmp_path)
    assert ours.pattern == pattern
    for text in ("12345 and 2024", "I'LL, we'll  12345\n\n 20242024"):
        assert ours.encode(text) == theirs.encode(text).ids


@pytest.mark.parametrize("cuts", ["other", "a space first", "uncut"])
def test_cuts_that_are_not_known_are_refused(tmp_path, cuts):
    write_hugging_face(tmp_path, cuts)
    with pytest.raises(
        DataError, match=r"tokenizer\.json cuts words by .*; known are those of"
    ):
        ByteBPE.from_gpt2(tmp_path)


def test_a_saved_encoding_beside_the_files_says_nothing_of_their_cuts(tmp_path):
    ByteBPE.train(["ab"], 257).save(tmp_path / "tokenizer.json")
    assert ByteBPE.from_gpt2(write_gpt2(tmp_path)).pattern == "gpt2"


def test_gguf_metadata_is_read(tmp_path):
    bpe = ByteBPE.from_gguf(write_gguf(tmp_path / "x.gguf"))
    assert bpe.encode("abba<|x|>", "all") == [2, 1, 0, 3]
    assert (bpe.special, bpe.pattern) == ({"<|x|>": 3}, "smollm2")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": "llama"}, "a tokenizer of kind 'llama', expected 'gpt2'"),
        ({"pre": "qwen2"}, r"cuts words by 'qwen2'; known are \['gpt-2', 'smollm'\]"),
        ({"kinds": (1, 1, 4, 3)}, r"tokens of kinds \[4\]"),
        ({"merges": ("a c",)}, "merge 0 is 'a c'"),
        ({"kinds": (1, 1, 1, 3, 3)}, "has 4 tokens, but 5 of their kinds"),
        ({"kinds": (1, 1, 3)}, "has 4 tokens, but 3 of their kinds"),
        ({"merges": (1, 2)}, "merges that are no texts"),
        ({"merges": ()}, r"has no tokenizer\.ggml\.merges"),
    ],
)
def test_other_gguf_tokenizers_are_refused(tmp_path, change, message):
    with pytest.raises(DataError, match=message):
        ByteBPE.from_gguf(write_gguf(tmp_path / "x.gguf", **change))


@pytest.mark.parametrize("size", [0, 3, 8, 30, 100, 200])
def test_half_a_gguf_file_is_refused(tmp_path, size):
    path = write_gguf(tmp_path / "x.gguf")
    path.write_bytes(path.read_bytes()[:size])
    with pytest.raises(DataError, match=r"x\.gguf is not a GGUF file"):
        ByteBPE.from_gguf(path)


def test_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "x").write_bytes(b"PK\x03\x04" * 50)
    with pytest.raises(DataError, match="is not a GGUF file"):
        ByteBPE.from_gguf(tmp_path / "x")


def test_missing_gguf_file_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match="there is no file"):
        ByteBPE.from_gguf(tmp_path / "none.gguf")


def test_missing_package_is_named_with_its_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(DataNotFoundError, match=r"pip install 'gguf>=0\.17'"):
        ByteBPE.from_gguf(pretrained.find("smollm2"))
