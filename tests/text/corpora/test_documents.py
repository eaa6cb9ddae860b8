"""Documents of a user's files, in one order, or an error with the place."""

import json
import logging

import pytest

from mathlm.errors import DataError, DataNotFoundError
from mathlm.text import read_documents


@pytest.fixture
def folder(tmp_path):
    """Files made in an order that is not theirs."""
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "0.txt").write_text("third", encoding="utf-8")
    lines = [json.dumps({"text": text}) for text in ("first", "second")]
    (tmp_path / "a.jsonl").write_text("\n\n".join(lines) + "\n", encoding="utf-8")
    (tmp_path / ".hidden.txt").write_text("no", encoding="utf-8")
    (tmp_path / "c.png").write_bytes(b"\x89PNG")
    return tmp_path


def test_a_folder_is_read_in_the_order_of_its_paths(folder):
    assert list(read_documents(folder)) == ["first", "second", "third"]


def test_files_of_other_kinds_are_counted(folder, caplog):
    with caplog.at_level(logging.INFO):
        list(read_documents(folder))
    assert "passed over 1 files" in caplog.text


def test_documents_come_one_by_one(folder):
    (folder / "z.jsonl").write_text("broken", encoding="utf-8")
    reader = read_documents(folder)
    assert [next(reader) for _ in range(3)] == ["first", "second", "third"]
    with pytest.raises(DataError, match=r"line 1 of .*z\.jsonl"):
        next(reader)


def test_a_text_file_is_one_document_as_it_is(tmp_path):
    (tmp_path / "a.txt").write_bytes("\ufeffone\r\n\r\ntwö".encode())
    assert list(read_documents(tmp_path / "a.txt")) == ["one\r\n\r\ntwö"]


def test_an_empty_text_file_is_an_empty_document(tmp_path):
    (tmp_path / "a.txt").write_text("")
    assert list(read_documents(str(tmp_path))) == [""]


def test_the_field_of_the_text_can_be_named(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"body": "x"}\n')
    assert list(read_documents(tmp_path, field="body")) == ["x"]


@pytest.mark.parametrize(
    "line", ["{", "[]", '"x"', '{"text": 3}', '{"other": "x"}', '{"text": "\\ud800"}']
)
def test_a_bad_line_is_named(tmp_path, line):
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n' + line + "\n")
    with pytest.raises(DataError, match=r"line 2 of .*a\.jsonl"):
        list(read_documents(tmp_path))


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl"])
def test_bytes_that_are_no_text_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"\xff\xfe\xff")
    with pytest.raises(DataError, match=f"{name} cannot be read as UTF-8"):
        list(read_documents(tmp_path))


def test_places_without_documents_are_errors(tmp_path):
    with pytest.raises(DataNotFoundError, match="no file or folder"):
        list(read_documents(tmp_path / "none"))
    with pytest.raises(DataError, match="holds 0 files"):
        list(read_documents(tmp_path))
    (tmp_path / "a.pdf").write_bytes(b"x")
    with pytest.raises(DataError, match="of no known kind"):
        list(read_documents(tmp_path / "a.pdf"))
