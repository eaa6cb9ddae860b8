"""Files of preferences: each usual form, and a sentence with file and line for all others."""

import json

import pytest

from mathlm.errors import DataError, DataNotFoundError, InputTypeError
from mathlm.text import Message, Preference, Unpaired, preferences

USER, TOLD = {"role": "user", "content": "q"}, {"role": "assistant", "content": "a"}
GOOD, BAD = {"role": "assistant", "content": "x"}, {"role": "assistant", "content": "y"}
ASKED = (Message("user", "q"),)
SPOKEN = {f: f"\n\nHuman: q\n\nAssistant: {y}" for f, y in (("chosen", "x"), ("rejected", "y"))}
ONE = Preference(prompt=ASKED, chosen="x", rejected="y")


def written(path, *lines):
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    path.write_text("\n".join(texts) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def file(tmp_path):
    return tmp_path / "my.jsonl"


@pytest.mark.parametrize(
    "line",
    [
        {"prompt": "q", "chosen": "x", "rejected": "y", "id": 7, "score": 0.5},
        {"prompt": [USER], "chosen": "x", "rejected": "y"},
        {"prompt": [USER], "chosen": [GOOD], "rejected": [BAD]},
        {"chosen": [USER, GOOD], "rejected": [USER, BAD]},
        {"prompt": "q", "chosen": [USER, GOOD], "rejected": [USER, BAD]},
        SPOKEN,
        SPOKEN | {"prompt": None},
    ],
    ids=[
        "texts",
        "prompt",
        "messages",
        "conversations",
        "with-prompt",
        "transcripts",
        "transcripts-with-null",
    ],
)
def test_every_usual_form_is_read(file, line):
    assert preferences.read(written(file, line)) == [ONE]


def test_a_long_transcript_is_a_prompt_of_many_turns(file):
    """A blank line in an answer, and a colon behind a name elsewhere, are no turns."""
    start = "\n\nHuman: hi\n\nAssistant: one\n\ntwo, as Human: said\n\nHuman: more"
    line = {"chosen": f"{start}\n\nAssistant: yes", "rejected": f"{start}\n\nAssistant:"}
    [found] = preferences.read(written(file, line))
    contents = [turn.content for turn in found.prompt]
    assert contents == ["hi", "one\n\ntwo, as Human: said", "more"]
    assert [turn.role for turn in found.prompt] == ["user", "assistant", "user"]
    assert (found.chosen, found.rejected) == ("yes", "")


def test_a_turn_begins_with_the_text_or_behind_an_empty_line_and_nowhere_else(file):
    start = "Human: a\nHuman: b\n\nAssistant: c\nAssistant: d\n\nHuman: e\n\nAssistant:"
    line = {"chosen": f"{start} x\nHuman: y", "rejected": f"{start} z"}
    [found] = preferences.read(written(file, line))
    contents = [turn.content for turn in found.prompt]
    assert contents == ["a\nHuman: b", "c\nAssistant: d", "e"]
    assert (found.chosen, found.rejected) == ("x\nHuman: y", "z")


def test_a_system_message_stands_before_a_prompt_of_text(file):
    line = {"prompt": "q", "system": "s", "chosen": "x", "rejected": "y"}
    [found] = preferences.read(written(file, line))
    assert found.prompt == (Message("system", "s"), Message("user", "q"))


def test_empty_lines_and_a_byte_order_mark_are_passed_over(file):
    one = json.dumps({"prompt": "q", "chosen": "x", "rejected": "y"})
    file.write_bytes(("\ufeff" + one + "\r\n\r\n" + one + "\r\n").encode())
    assert preferences.read(file) == [ONE, ONE]


def test_unpaired_answers_are_read(file):
    lines = [
        {"prompt": "q", "completion": "x", "label": True},
        {"prompt": [USER], "completion": "y", "label": False},
    ]
    assert preferences.read_unpaired(written(file, *lines)) == [
        Unpaired(prompt=ASKED, completion="x", label=True),
        Unpaired(prompt=ASKED, completion="y", label=False),
    ]


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ('{"prompt": ', "is not JSON"),
        ("[1]", "is a list, expected an object"),
        ('{"chosen": "a", "chosen": "b"}', "keys .'chosen'. twice"),
        ({"prompt": "q", "chosen": "x"}, r"lacks \['rejected'\]"),
        ({"prompt": "q", "completion": "x", "label": True}, "read_unpaired reads such lines"),
        ({"prompt": "q", "chosen": "x", "rejected": [BAD]}, r"are \['str', 'list'\]"),
        ({"prompt": "q", "chosen": 3, "rejected": 4}, r"are \['int', 'int'\]"),
        ({"prompt": 3, "chosen": "x", "rejected": "y"}, '"prompt" is 3, expected a string'),
        ({"prompt": "q", "chosen": "\ud800", "rejected": "y"}, '"chosen" is no text'),
        ({"chosen": "x", "rejected": "y"}, "chosen begins 'x' and has the turns"),
        (
            {"chosen": "\n\nHuman: q", "rejected": "\n\nHuman: q\n\nAssistant: y"},
            r"chosen begins .* the turns \['user'\]",
        ),
        (
            {"chosen": "of\n\nHuman: q\n\nAssistant: x", "rejected": "y"},
            r"chosen begins 'of.* the turns \['user', 'assistant'\]",
        ),
        (
            {"chosen": [USER, TOLD, USER, GOOD], "rejected": [USER, GOOD, USER, BAD]},
            "differ in message 1, before the last",
        ),
        (
            {"chosen": [USER, GOOD], "rejected": [USER, TOLD, USER, BAD]},
            "differ in message 1, before the last",
        ),
        ({"chosen": [USER], "rejected": [USER]}, "ends with a message of 'user'"),
        ({"chosen": [GOOD], "rejected": [BAD]}, "role 'assistant' at the beginning"),
        (
            {"prompt": "other", "chosen": [USER, GOOD], "rejected": [USER, BAD]},
            "\"prompt\" is 'other', but \"chosen\" begins with 'q'",
        ),
        ({"prompt": [TOLD], "chosen": "x", "rejected": "y"}, "role 'assistant' at the begin"),
        ({"prompt": [USER, TOLD], "chosen": "x", "rejected": "y"}, "which is answered"),
        (
            {"prompt": [USER], "system": "s", "chosen": "x", "rejected": "y"},
            "make it the first",
        ),
        ({"system": "s", "chosen": [USER, GOOD], "rejected": [USER, BAD]}, 'has "system"'),
    ],
    ids=str,
)
def test_a_line_that_is_none_of_them_is_named(file, line, match):
    written(file, {"prompt": "q", "chosen": "x", "rejected": "y"}, line)
    with pytest.raises(DataError, match=rf"line 2 of .*my\.jsonl.*{match}"):
        preferences.read(file)


@pytest.mark.parametrize(
    ("line", "match"),
    [
        ({"prompt": "q", "completion": "x"}, r"has the keys \['prompt', 'completion'\]"),
        ({"prompt": "q", "completion": "x", "label": 1}, '"label" is 1, expected true or'),
        ({"prompt": "q", "completion": None, "label": True}, '"completion" is None'),
    ],
    ids=["keys", "label", "completion"],
)
def test_a_judgement_that_is_none_is_named(file, line, match):
    with pytest.raises(DataError, match=rf"line 1 of .*my\.jsonl.*{match}"):
        preferences.read_unpaired(written(file, line))


def test_a_file_that_is_not_there_or_empty_is_refused(file):
    with pytest.raises(DataNotFoundError, match="is not there"):
        preferences.read(file)
    with pytest.raises(DataNotFoundError, match="a folder, not a file"):
        preferences.read(file.parent)
    with pytest.raises(DataError, match=r"holds no preference; expected .*chosen"):
        preferences.read(written(file, ""))


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_path_is_refused():
    with pytest.raises(InputTypeError, match="must be a str or a path"):
        preferences.read(3)
