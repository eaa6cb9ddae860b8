"""The chat in the terminal."""

import io
import logging
import sys

import pytest
from chat.test_conversation import chat_model

from mathlm.chat.conversation import Conversation
from mathlm.errors import DataError, InputError
from mathlm.recipes import chat


@pytest.fixture
def piped(monkeypatch, caplog, capsys):
    """Give lines on standard input; what is written to both outputs, and the conversation.

    The seed is 0 unless the options name another one.
    """
    caplog.set_level(logging.INFO)
    talks = []

    def begin(config):
        talks.append(Conversation(chat_model(), config.system, 4, seed=config.sampling.seed))
        return talks[-1]

    def call(text, *options):
        monkeypatch.setattr(chat, "begin", begin)
        monkeypatch.setattr(sys, "stdin", io.StringIO(text))
        chat.main(["--seed", "0", *options])
        return capsys.readouterr().out, caplog.text, talks[-1]

    return call


def test_each_line_is_answered(piped):
    out, _, talk = piped("a\n\n  b \n", "--seed", "1")
    assert [m.content for m in talk.messages[::2]] == ["a", "b"]
    assert out == "".join(m.content + "\n" for m in talk.messages[1::2])


def test_the_last_line_needs_no_line_break(piped):
    assert len(piped("a\nb")[2].messages) == 4


def test_quit_leaves_and_reset_forgets(piped):
    _, said, talk = piped("a\n/reset\nb\n/quit\nc\n")
    assert [m.content for m in talk.messages[::2]] == ["b"]
    assert "the conversation is forgotten" in said


def test_an_unknown_command_is_not_sent(piped):
    _, said, talk = piped("/rset now\n /sent\n")
    assert "/rset is no command" in said
    assert [m.content for m in talk.messages[::2]] == ["/sent"]


def test_a_question_that_cannot_be_asked_is_said_and_the_chat_goes_on(piped):
    _, said, talk = piped("x" * 50 + "\na\n\udc80\nb\n")
    assert "the model reads 40 in all" in said
    assert [m.content for m in talk.messages[::2]] == ["a", "b"]


def test_an_answer_that_was_cut_off_is_said_to_be(piped):
    assert "cut off after 4 tokens" in piped("a\n", "--seed", "2")[1]


def test_a_full_context_is_said(piped):
    """25 bytes twice do not fit in 40, so each question but the first drives out what was."""
    assert piped(("x" * 25 + "\n") * 4)[1].count("the context is full: 2 turns forgotten") == 3


def test_no_input_at_all_is_no_error(piped):
    assert piped("")[0] == ""


def test_ctrl_c_ends_an_answer_and_not_the_chat(piped, monkeypatch):
    class Stops(io.StringIO):
        def flush(self):
            if not self.getvalue().endswith("\n"):
                raise KeyboardInterrupt

    monkeypatch.setattr(sys, "stdout", Stops())
    _, said, talk = piped("a\nb\n", "--seed", "1")
    assert "(ended)" in said
    assert len(talk.messages) == 4


def test_one_prompt_is_answered_and_nothing_is_read(piped):
    out, _, talk = piped("never read\n", "--prompt", "/a\\nb")
    assert [m.content for m in talk.messages[::2]] == ["/a\nb"]
    assert out == talk.messages[1].content + "\n"


def test_a_prompt_that_cannot_be_asked_is_an_error(piped):
    with pytest.raises(InputError, match="the model reads 40 in all"):
        piped("", "--prompt", "x" * 50)


def test_a_folder_without_a_model_is_refused(tmp_path):
    (tmp_path / "chat.json").write_text("{}")
    with pytest.raises(DataError, match=r"chat.json is not of this version: expected"):
        chat.main(["--model", str(tmp_path), "--device", "cpu"])
