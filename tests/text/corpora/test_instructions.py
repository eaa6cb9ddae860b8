"""Conversations of the data packages, and a division that shares no prompt."""

from itertools import islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import DataNotFoundError, HashMismatchError, InputError, InputTypeError
from mathlm.text import ChatFormat, Message, instructions
from mathlm.text.corpora.installed import data_folder, require_hash
from mathlm.text.corpora.instructions import DIALOGS, by_turns, same_prompt, split_by_prompt

PROMPTS = st.lists(st.sampled_from(["a", "A?", " b", "B", "c", "d!"]), min_size=2, max_size=12)


def asked(*contents):
    """A conversation of a user and an assistant, who take turns."""
    return list(by_turns(contents))


def question(conversation):
    return same_prompt(conversation[0].content)


@pytest.fixture(scope="module")
def chatterbot():
    return instructions.load("chatterbot")


@pytest.fixture(scope="module")
def chitchat():
    """The first 200 of its dialogs: a message costs much where annotations are checked."""
    source = DIALOGS["chitchat"]
    folder = data_folder(source.package, install=source.install)
    require_hash([folder / source.pattern], source.sha256, install=source.install)
    dialogs = islice(source.read(folder / source.pattern), 200)
    return [list(turns) for turns in map(by_turns, dialogs) if turns]


@pytest.mark.parametrize("name", ["chatterbot", "chitchat"])
def test_every_conversation_can_be_written_and_is_there_once(name, request):
    found = request.getfixturevalue(name)
    for conversation in found[::3]:
        ChatFormat.named().render(conversation)
        assert all(turn.content == turn.content.strip() != "" for turn in conversation)
    assert len({tuple(conversation) for conversation in found}) == len(found)


def test_lines_that_answer_the_first_one_are_answers_to_it(chatterbot):
    """emotion.yml: "You are arrogant" has four answers, which do not answer one another."""
    found = [c[1].content for c in chatterbot if c[0].content == "You are arrogant"]
    assert len(found) == 4
    assert found[:2] == [
        "Arrogance is not one of my emotions.",
        "I have no real emotions, so how can I be arrogant?",
    ]


def test_lines_of_a_dialog_take_turns(chatterbot):
    """conversations.yml has five lines of one dialog; the last has no answer."""
    first = "Good morning, how are you?"
    found = next(c for c in chatterbot if c[0].content == first)
    assert [turn.role for turn in found] == ["user", "assistant"] * 2
    assert found[3].content == "That's good to hear."


def test_an_answer_in_several_lines_keeps_them(chatterbot):
    found = next(c for c in chatterbot if c[0].content == "can you write bubble sort?")
    assert "    n = len(arr)\n    for i in range(n):\n" in found[1].content


def test_what_one_person_says_at_once_is_one_turn(chitchat):
    """The first of the dialogs that its file holds begins so."""
    first = chitchat[0]
    assert first[0] == Message("user", "Hello\nHow are you doing today?")
    assert first[1].content == "whats up MD\nim doing good\nhow are you doing?"


def test_a_conversation_ends_before_silence_and_after_an_answer():
    assert [turn.content for turn in by_turns([" a", "b\n", "c", " ", "e", "f"])] == ["a", "b"]
    assert by_turns(["a"]) == by_turns(["", "b"]) == ()


def test_a_list_that_is_changed_does_not_change_the_next_one(chatterbot):
    mine = instructions.load("chatterbot")
    mine[0].clear()
    assert instructions.load("chatterbot") == chatterbot


def test_an_unknown_set_names_the_known_ones():
    with pytest.raises(InputError, match="no set is called 'alpaca'; there are chatterbot, ch"):
        instructions.load("alpaca")


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """Packages are looked for in an empty folder."""
    instructions._conversations.cache_clear()
    monkeypatch.setattr(instructions, "data_folder", lambda package, install: tmp_path)
    yield tmp_path
    instructions._conversations.cache_clear()


def test_changed_files_are_refused_with_the_command_that_mends_them(elsewhere):
    (elsewhere / "dataset.json").write_text("{}")
    with pytest.raises(HashMismatchError, match=r"expected d2a5.*: pip install --no-deps chit"):
        instructions.load("chitchat")


def test_a_package_that_is_missing_says_how_to_install_it(monkeypatch):
    instructions._conversations.cache_clear()
    missing = DIALOGS["chitchat"].__class__(
        **{**vars(DIALOGS["chitchat"]), "package": "no_such"}
    )
    monkeypatch.setitem(DIALOGS, "chitchat", missing)
    with pytest.raises(DataNotFoundError, match="pip install --no-deps chitchat-dataset"):
        instructions.load("chitchat")


@given(prompts=PROMPTS, held_out=st.floats(0.01, 0.99), seed=st.integers(0, 99))
def test_no_prompt_is_on_both_sides_and_nothing_is_lost(prompts, held_out, seed):
    conversations = [asked(prompt, str(i)) for i, prompt in enumerate(prompts)]
    if len({question(c) for c in conversations}) > 1:
        training, other = split_by_prompt(conversations, held_out, seed)
        assert not {question(c) for c in training} & {question(c) for c in other}
        assert sorted(training + other, key=str) == sorted(conversations, key=str)
        assert training
        assert other


def test_capitals_blanks_and_punctuation_make_no_other_prompt():
    assert same_prompt("  Hello,\tWORLD!!") == same_prompt("hello world")
    assert same_prompt("hello world") != same_prompt("hello word")
    assert same_prompt("1 + 1?") != same_prompt("1 - 1?")
    assert same_prompt("?") != same_prompt("!")


def test_the_share_is_of_distinct_prompts_and_the_seed_decides(chatterbot):
    parts = [split_by_prompt(chatterbot, 0.2, seed) for seed in (0, 0, 1)]
    distinct = {question(c) for c in chatterbot}
    assert len({question(c) for c in parts[0][1]}) == round(0.2 * len(distinct))
    assert parts[0] == parts[1] != parts[2]


def test_both_parts_keep_the_order():
    conversations = [asked(str(i), "x") for i in range(20)]
    for part in split_by_prompt(conversations, 0.5):
        numbers = [int(c[0].content) for c in part]
        assert numbers == sorted(numbers)


def test_maps_are_messages_too():
    conversations = [[vars(turn) for turn in asked(p, "x")] for p in "ab"]
    assert [len(part) for part in split_by_prompt(conversations)] == [1, 1]


def test_a_system_message_is_no_prompt():
    system = Message("system", "be brief")
    conversations = [[system, *asked(p, "x")] for p in "ab"] + [asked("a", "y")]
    training, other = split_by_prompt(conversations)
    assert {len(training), len(other)} == {1, 2}


@pytest.mark.parametrize("share", [0, 1, -0.5, 1.5, float("nan")])
def test_a_share_outside_zero_and_one_is_refused(share):
    with pytest.raises(InputError, match=f"held_out={share} must be above 0 and below 1"):
        split_by_prompt([asked("a", "x"), asked("b", "x")], share)


@pytest.mark.usefixtures("unchecked")
def test_conversations_that_cannot_be_divided_are_refused():
    two = [asked("a", "x"), asked("A.", "y")]
    with pytest.raises(InputError, match="2 conversations have 1 distinct prompts; at least 2"):
        split_by_prompt(two)
    with pytest.raises(InputError, match="conversation 1 has no message of a user"):
        split_by_prompt([two[0], [Message("assistant", "x")]])
    with pytest.raises(InputTypeError, match="conversation 0 holds 'hello'; expected messages"):
        split_by_prompt([["hello"]])
    with pytest.raises(InputError, match="seed=-1 must not be negative"):
        split_by_prompt(two, seed=-1)
