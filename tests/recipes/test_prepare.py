"""From a folder to a file of tokens."""

import json

import pytest

from mathlm.errors import DataError
from mathlm.recipes import prepare
from mathlm.recipes.whole_stack.dirt import passages
from mathlm.text import ByteBPE, Bytes, corpus, open_tokens
from mathlm.text.cleaning import quality
from mathlm.text.corpora.token_file import END


@pytest.fixture(scope="module")
def texts():
    """Passages of three sentences or more, which the rules of C4 ask for."""
    found = passages(corpus.documents("shakespeare")[0], 60)
    return [text for text in found if quality.sentence_count(text) >= 3][:4]


@pytest.fixture
def folder(tmp_path, texts):
    altered = f"{texts[3]}Finis.\n"
    lines = [texts[1], f"<p>{texts[1]}</p>", texts[2], texts[3], altered, " \n", "- 1\n- 2"]
    rows = [json.dumps({"text": text}) for text in lines]
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text(texts[0], encoding="utf-8")
    (tmp_path / "in" / "b.jsonl").write_text("\n".join(rows), encoding="utf-8")
    return tmp_path


def run(folder, *options):
    return prepare.main(["--data", f"{folder}/in", "--out", f"{folder}/t.bin", *options])


def test_each_stage_drops_its_own(folder, texts):
    report = run(folder, "--quality", "c4")
    dropped = [report[name] for name in ("empty", "low quality", "exact duplicates")]
    assert (report["documents"], *dropped, report["near duplicates"]) == (8, 1, 1, 1, 1)
    assert report["changes"]["markup"] == 2
    ids = open_tokens(folder / "t.bin", Bytes())
    assert bytes(ids.astype("u1")).decode() == "".join(texts[:4])


def test_documents_of_the_test_set_are_dropped(folder, texts):
    (folder / "test.txt").write_text("Before. " + " ".join(texts[2].split()[:30]))
    report = run(folder, "--test", f"{folder}/test.txt", "--near", "0")
    assert report["in test"] == 1
    assert "near duplicates" not in report


def test_a_trained_tokenizer_ends_each_document(folder):
    report = run(folder, "--vocab-size", "300")
    bpe = ByteBPE.load(folder / "t.bin.tokenizer.json")
    ids = open_tokens(folder / "t.bin", bpe)
    assert (ids == bpe.special[END]).sum() == report["kept"]
    again = run(folder, "--tokenizer", f"{folder}/t.bin.tokenizer.json")
    assert again["tokens"] == report["tokens"] == len(ids)


def test_lines_of_every_document_can_be_dropped(folder):
    for name in "cde":
        (folder / "in" / f"{name}.txt").write_text(f"Home\nabout {name}\n")
    assert run(folder, "--common-lines", "3")["changes"]["common_lines"] >= 3
    text = bytes(open_tokens(folder / "t.bin", Bytes()).astype("u1"))
    assert b"Home" not in text
    assert b"about d\n" in text


def test_nothing_left_is_an_error_and_nothing_is_written(folder):
    with pytest.raises(DataError, match="none of the 8 documents"):
        run(folder, "--quality", "gopher", "--test", f"{folder}/in")
    assert not (folder / "t.bin").exists()
