"""A user's JSON lines: what is read, and that every mistake is named with its line."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import DataError, DataNotFoundError, InputTypeError
from mathlm.text import Message, instructions
from mathlm.text.corpora.instructions import conversation

PAIR = {"prompt": "a", "response": "b"}
USER, ANSWER = {"role": "user", "content": "a"}, {"role": "assistant", "content": "b"}
HUMAN, GPT = {"from": "human", "value": "a"}, {"from": "gpt", "value": "b"}
SYSTEM = {"role": "system", "content": "s"}
TURNS = [Message("user", "a"), Message("assistant", "b")]


@pytest.fixture
def file(tmp_path):
    """From lines to a file that holds them."""

    def write(*lines, end="\n", before=""):
        path = tmp_path / "my.jsonl"
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_bytes((before + "".join(text + end for text in texts)).encode())
        return path

    return write


@pytest.mark.parametrize(
    "line",
    [
        PAIR,
        {"prompt": "a", "completion": "b"},
        {"instruction": "a", "output": "b"},
        {"instruction": "a", "input": "", "output": "b"},
        {"instruction": "", "input": "a", "output": "b"},
        {"messages": [USER, ANSWER]},
        {"conversations": [HUMAN, GPT]},
        {"id": "x_0", "conversations": [{"from": "user", "value": "a"}, GPT | {"weight": 1}]},
        PAIR | {"id": 7, "source": {"page": None}},
    ],
)
def test_each_form_is_a_conversation(file, line):
    assert instructions.read(file(line)) == [TURNS]


def test_an_input_stands_behind_the_instruction_and_an_empty_line(file):
    [turns] = instructions.read(file({"instruction": "Add", "input": "1 2", "output": "3"}))
    assert turns[0].content == "Add\n\n1 2"


SHARED = {"conversations": [HUMAN, GPT]}


@pytest.mark.parametrize("line", [PAIR, {"instruction": "a", "output": "b"}, SHARED])
def test_a_system_text_comes_first(file, line):
    assert instructions.read(file(line | {"system": "s"})) == [[Message("system", "s"), *TURNS]]


@pytest.mark.parametrize(
    ("turns", "message"),
    [
        (
            [HUMAN, {"from": "moss", "value": "b"}],
            r"line 1 of .*, turn 1 is from 'moss'; known",
        ),
        (
            [{"from": ["human"], "value": "a"}, GPT],
            r"line 1 of .*, turn 0 is from \['human'\]; known",
        ),
        ([HUMAN, {"role": "assistant"}], r"turn 1 has \['role'\]; expected the keys from and"),
        ([HUMAN], "ends with a message of 'user'"),
        ([GPT, HUMAN], "has role 'assistant' at the beginning"),
        ([], r"\"conversations\" is \[\], expected a list"),
    ],
)
def test_a_shared_conversation_that_cannot_be_written_is_named(file, turns, message):
    with pytest.raises(DataError, match=message):
        instructions.read(file({"conversations": turns}))


def test_a_conversation_may_have_many_turns_and_tools(file):
    tool = {"role": "tool", "content": "4"}
    line = {"messages": [SYSTEM, USER, ANSWER, tool, ANSWER, USER, ANSWER]}
    roles = [turn.role for turn in instructions.read(file(line))[0]]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user", "assistant"]


def test_each_line_may_have_a_form_of_its_own(file):
    lines = [PAIR, {"messages": [USER, ANSWER]}, {"instruction": "a", "output": "b"}]
    assert instructions.read(str(file(*lines))) == [TURNS] * 3


@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\n", "\r\n \t\r\n"])
@pytest.mark.parametrize("before", ["", "\ufeff", "\n\n"])
def test_how_lines_end_and_the_file_begins_does_not_matter(file, end, before):
    assert instructions.read(file(PAIR, PAIR, end=end, before=before)) == [TURNS] * 2


def test_the_last_line_needs_no_end(file):
    assert (
        instructions.read(file(json.dumps(PAIR) + "\n" + json.dumps(PAIR), end=""))
        == [TURNS] * 2
    )


@given(asked=st.text(), answer=st.text(), escaped=st.booleans())
def test_a_text_comes_back_as_it_was(asked, answer, escaped):
    """Line separators of Unicode, which are no ends of lines here, among them."""
    line = json.dumps({"prompt": asked, "response": answer}, ensure_ascii=escaped)
    assert conversation(line, "line 1") == [
        Message("user", asked),
        Message("assistant", answer),
    ]


def test_separators_of_unicode_do_not_end_a_line(file):
    line = json.dumps({"prompt": "a\u2028b\x85", "response": "c\u2029"}, ensure_ascii=False)
    assert instructions.read(file(line))[0][0].content == "a\u2028b\x85"


def test_an_empty_answer_is_read_and_counted_later(file):
    assert instructions.read(file({"prompt": "a", "response": ""}))[0][1].content == ""


MISTAKES = {
    "{": "is not JSON: .*; write one object a line",
    '{"prompt": "a", "response": "b"} {}': "is not JSON: Extra data at character 33; write",
    '{"prompt": "a", "prompt": "c", "response": "b"}': r"has the keys \['prompt'\] twice",
    "[1]": "is a list, expected an object",
    '"text"': "is a str, expected an object",
    "null": "is a NoneType, expected an object",
    "{}": r"has the keys \[\]; expected one of \{\"messages\"",
    '{"text": "a"}': r"has the keys \['text'\]; expected one of",
    '{"Prompt": "a", "response": "b"}': r"has the keys \['Prompt', 'response'\]; expected one",
    '{"prompt": "a"}': r'"prompt" needs one answer under "response" or "completion"',
    '{"instruction": "a", "response": "b"}': '"instruction" needs one answer under "output"',
    '{"prompt": "a", "response": "b", "completion": "c"}': r"both \['response', 'completion'\]",
    '{"prompt": "a", "instruction": "a", "output": "b"}': r"\['prompt', 'instruction'\] at",
    '{"prompt": "a", "messages": []}': r"has \['messages', 'prompt'\] at once",
    '{"prompt": 3, "response": "b"}': '"prompt" is 3, expected a string in quotes',
    '{"prompt": "a", "response": null}': '"response" is None, expected a string in quotes',
    '{"prompt": "a", "response": ["b"]}': r'"response" is \[\'b\'\], expected a string',
    '{"prompt": "a\\ud800", "response": "b"}': '"prompt" is no text: .*surrogate',
    '{"prompt": "a", "response": "b", "system": 1}': '"system" is 1, expected a string',
    '{"instruction": "a", "input": 1, "output": "b"}': '"input" is 1, expected a string',
    '{"messages": []}': r'"messages" is \[\], expected a list of one or more',
    '{"messages": "a"}': "\"messages\" is 'a', expected a list of one or more",
    '{"messages": ["a"]}': "message 0 has str; expected the keys role and content alone",
    '{"messages": [], "system": "s"}': 'make it the first message, of role "system"',
}


@pytest.mark.parametrize("line", MISTAKES)
def test_a_mistake_is_named_with_its_line(file, line):
    path = file(PAIR, "", line)
    with pytest.raises(DataError, match=rf"line 3 of .*my\.jsonl.*{MISTAKES[line]}"):
        instructions.read(path)


TURN_MISTAKES = [
    ([USER | {"name": "x"}, ANSWER], r"message 0 has \['role', 'content', 'name'\]; expected"),
    (
        [{"from": "human", "value": "a"}],
        r"message 0 has \['from', 'value'\]; expected the keys",
    ),
    ([USER | {"role": "human"}, ANSWER], "message 0 has role 'human'; the roles are"),
    ([USER | {"role": ["user"]}, ANSWER], r"message 0 has role \['user'\]; the roles are"),
    ([USER, ANSWER | {"content": None}], 'message 1: "content" is None, expected a string'),
    ([ANSWER], "message 0 has role 'assistant' at the beginning; expected one of"),
    ([USER, USER, ANSWER], "message 1 has role 'user' after 'user'"),
    ([USER, ANSWER, SYSTEM], "message 2 has role 'system' after 'assistant'"),
    ([USER, ANSWER, USER], "ends with a message of 'user'; the last one must be the assist"),
]


@pytest.mark.parametrize(("messages", "match"), TURN_MISTAKES)
def test_a_mistake_in_a_turn_is_named_with_its_place(file, messages, match):
    with pytest.raises(DataError, match=f"line 1 of .*{match}"):
        instructions.read(file({"messages": messages}))


def test_deep_nesting_is_an_error_of_its_line(file):
    with pytest.raises(DataError, match=r"line 1 of .* is not JSON: .*recursion"):
        instructions.read(file("[" * 200_000))


def test_a_file_without_conversations_shows_the_forms(file):
    with pytest.raises(DataError, match="holds no conversation; expected lines such as"):
        instructions.read(file("", " "))


@pytest.mark.parametrize("encoding", ["utf-16", "latin-1"])
def test_a_file_in_another_encoding_is_refused(tmp_path, encoding):
    (tmp_path / "a.jsonl").write_bytes('{"prompt": "é", "response": "b"}'.encode(encoding))
    with pytest.raises(DataError, match=r"a\.jsonl cannot be read as UTF-8 text"):
        instructions.read(tmp_path / "a.jsonl")


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"none\.jsonl is not there; give a file with"):
        instructions.read(tmp_path / "none.jsonl")
    with pytest.raises(DataNotFoundError, match="is a folder, not a file"):
        instructions.read(tmp_path)
    with pytest.raises(InputTypeError, match="path=3 must be a str or a path"):
        instructions.read(3)
