"""How conversations are written."""

import json
from dataclasses import asdict

import pytest

from mathlm.chat.model import find_format
from mathlm.errors import ConfigError, DataError
from mathlm.text import ByteBPE, Bytes, ChatFormat


def bpe(special):
    return ByteBPE.train(["some text"], 260 + len(special), special=special)


def test_a_tokenizer_decides_which_format_it_can_write():
    for form in (ChatFormat.chatml(), ChatFormat.named()):
        assert find_format("auto", bpe(form.special)) == form
    assert find_format("auto", Bytes()) == ChatFormat.named()


def test_a_name_decides_over_the_tokenizer():
    assert find_format("chatml", Bytes()) == ChatFormat.chatml()


def test_a_tokenizer_without_marks_is_refused():
    with pytest.raises(ConfigError, match=r"\['<\|end\|>'\], too few .*chatml needs"):
        find_format("auto", bpe(["<|end|>"]))
    with pytest.raises(ConfigError, match=r"--template FILE.*ByteBPE\.train\(special=\["):
        find_format("auto", bpe(["<|end|>"]))


def test_two_special_tokens_are_enough_for_a_format_of_a_file(tmp_path):
    said = {"user": "<|turn|>", "assistant": "<|turn|>"}
    form = {"markers": said, "headers": {"user": "U:", "assistant": "A:"}, "end": "<|end|>"}
    (tmp_path / "form.json").write_text(json.dumps(form))
    tokenizer = bpe(["<|turn|>", "<|end|>"])
    assert set(find_format(str(tmp_path / "form.json"), tokenizer).special) == set(
        tokenizer.special
    )


def test_a_format_in_a_file_is_the_one_that_was_written(tmp_path):
    form = ChatFormat.chatml(default_system="be kind")
    (tmp_path / "form.json").write_text(json.dumps(asdict(form)))
    assert find_format(str(tmp_path / "form.json"), Bytes()) == form


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("{", DataError, "cannot be read as JSON"),
        ("[]", ConfigError, "has list; expected markers, headers, end"),
        ('{"markers": {}}', ConfigError, r"has \['markers'\]; expected"),
        ('{"markers": {}, "headers": {}, "end": "", "x": 1}', ConfigError, "'x'"),
        ('{"markers": {}, "headers": {}, "end": "e"}', ConfigError, "must have user"),
    ],
)
def test_a_file_that_holds_no_format_is_refused(tmp_path, content, error, message):
    (tmp_path / "form.json").write_text(content)
    with pytest.raises(error, match=message):
        find_format(str(tmp_path / "form.json"), Bytes())


def test_a_file_that_is_not_there_is_refused():
    with pytest.raises(ConfigError, match=r"'nowhere.json', and there .*auto, chatml, named"):
        find_format("nowhere.json", Bytes())
