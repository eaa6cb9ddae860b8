"""Questions from JSON lines, and the sets that are installed."""

import json
from importlib.util import find_spec

import pytest

from mathlm.errors import DataError, DataNotFoundError, HashMismatchError, InputError
from mathlm.text import questions
from mathlm.text.corpora.questions import Question

installed = pytest.mark.skipif(
    find_spec(questions.PACKAGE) is None, reason=f"not installed: {questions.INSTALL}"
)


def line(**changes):
    whole = {"question": "Which?", "choices": ["one", "two", "three"], "answer": 1}
    return json.dumps(whole | changes)


@pytest.fixture
def file(tmp_path):
    def write(*lines):
        path = tmp_path / "mine.jsonl"
        path.write_text("\n".join(lines), encoding="utf-8")
        return path

    return write


@pytest.mark.parametrize("answer", [1, "B", "two"])
def test_an_answer_is_a_place_a_letter_or_a_text(file, answer):
    found = questions.read(file(line(answer=answer, source="mine"), ""))
    assert found == (Question("Which?", ("one", "two", "three"), 1),)


def test_a_choice_that_is_a_letter_is_meant_before_the_letter(file):
    (found,) = questions.read(file(line(choices=["B", "A"], answer="A")))
    assert found.answer == 1


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"answer": 3}, r"line 2 of .*: answer=3 is none of 0 to 2"),
        ({"answer": "D"}, r"line 2 of .*: answer='D' is neither a place"),
        ({"answer": "BC"}, r"line 2 of .*: answer='BC' is neither a place"),
        ({"answer": ""}, r"line 2 of .*: answer='' is neither a place"),
        ({"choices": [str(i) for i in range(27)]}, "line 2 of .*: 27 choices, but a letter"),
        ({"answer": None}, r"answer=None is neither"),
        ({"choices": ["one", "one"]}, r"give two or more, all different"),
        ({"choices": ["one"], "answer": 0}, r"give two or more, all different"),
        ({"choices": "one"}, r"choices='one', expected a list of texts"),
        ({"question": " "}, r"the question is ' ', expected a text"),
    ],
)
def test_a_line_of_another_form_is_named(file, changes, message):
    with pytest.raises(DataError, match=message):
        questions.read(file(line(), line(**changes)))


def test_missing_keys_files_and_lines_are_named(file, tmp_path):
    with pytest.raises(DataError, match=r"line 1 of .* lacks \['choices', 'answer'\]"):
        questions.read(file('{"question": "Which?"}'))
    with pytest.raises(DataError, match="holds no question"):
        questions.read(file(""))
    with pytest.raises(DataNotFoundError, match="is no file; give one with lines such as"):
        questions.read(tmp_path / "none.jsonl")
    with pytest.raises(InputError, match="called 'arc'; there are"):
        questions.load("arc")


@installed
@pytest.mark.parametrize(
    ("name", "count", "choices"), [("piqa", 1500, 2), ("openbookqa", 500, 4), ("mmlu", 2848, 4)]
)
def test_the_installed_sets(name, count, choices):
    found = questions.load(name)
    assert len(found) == count
    assert {len(q.choices) for q in found} == {choices}
    shares = [sum(q.answer == i for q in found) / count for i in range(choices)]
    assert max(shares) < 1.3 / choices  # no place is right much more often than the others


@installed
def test_a_known_question():
    found = questions.load("openbookqa")[1]
    assert found.text == "There is most likely going to be fog around:"
    assert found.choices[found.answer] == "a marsh"


@installed
def test_a_changed_file_is_refused(monkeypatch):
    questions.load.cache_clear()
    other = questions.QuestionSet("data/PIQA/test.jsonl", "0" * 64, 0, "AFL-3.0")
    monkeypatch.setitem(questions.SETS, "piqa", other)
    with pytest.raises(HashMismatchError):
        questions.load("piqa")
    questions.load.cache_clear()
