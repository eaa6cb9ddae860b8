"""A conversation that remembers, and forgets when its context is full."""

import pytest
import torch

from mathlm.chat.conversation import Conversation
from mathlm.chat.model import ChatModel
from mathlm.errors import InputError
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message

NAMED = ChatFormat.named()


def chat_model(context=40, says="", form=NAMED):
    """A model of bytes that says the same whatever is asked: weights that only name bytes."""
    config = GPTConfig(vocab_size=256, context=context, d_model=16, n_layers=1, n_heads=2)
    tokenizer = Bytes(form.special)
    return ChatModel(model=GPT(config).eval(), tokenizer=tokenizer, format=form)


def asked(conversation, *questions):
    return ["".join(conversation.ask(question)) for question in questions]


def test_what_was_said_is_remembered():
    talk = Conversation(chat_model(), max_new_tokens=3, seed=0)
    answers = asked(talk, "a", "b")
    assert [m.content for m in talk.messages] == ["a", answers[0], "b", answers[1]]
    assert [m.role for m in talk.messages] == ["user", "assistant"] * 2


def test_an_answer_is_that_of_the_model_to_the_whole_conversation():
    """Greedy tokens of the last question against those of the model's forward pass."""
    chat = chat_model(context=60)
    talk = Conversation(chat, "be kind", max_new_tokens=4, temperature=0)
    answer = asked(talk, "a", "b")[0]
    turns = [Message("system", "be kind"), Message("user", "a"), Message("assistant", answer)]
    form, tokens = chat.format, chat.tokenizer
    ids = form.encode([*turns, Message("user", "b")], tokens, answer=True).ids.tolist()
    for token in talk.stream.ids:
        with torch.no_grad():
            assert int(chat.model(torch.tensor([ids]))[0, -1].argmax()) == token
        ids.append(token)


def test_the_oldest_questions_are_forgotten_together_with_their_answers():
    talk = Conversation(chat_model(context=20), max_new_tokens=1, seed=0)
    asked(talk, *"abcdef")
    assert [m.role for m in talk.messages[:2]] == ["user", "assistant"]
    assert talk.messages[-2].content == "f"
    assert len(talk.messages) < 12
    assert len(talk.encoded(talk.messages[:-1])) + 1 <= 20


def test_the_system_message_is_never_forgotten():
    talk = Conversation(chat_model(context=24), "be", max_new_tokens=1, seed=0)
    asked(talk, *"abcdef")
    ids = talk.encoded(talk.messages[:-1])
    assert bytes(ids[2:4]) == b"be"


def test_a_question_that_cannot_fit_is_refused_and_not_remembered():
    talk = Conversation(chat_model(context=20), max_new_tokens=5, seed=0)
    asked(talk, "a")
    before = list(talk.messages)
    with pytest.raises(InputError, match=r"takes 34 tokens .* reads 20 in all"):
        asked(talk, "x" * 30)
    assert talk.messages == before


def test_an_answer_never_runs_beyond_the_context():
    talk = Conversation(chat_model(context=20), max_new_tokens=99, seed=0)
    asked(talk, "x" * 13)
    assert len(talk.stream.ids) <= 20 - 13 - 4


def test_an_answer_that_is_ended_early_is_remembered_as_far_as_it_came():
    talk = Conversation(chat_model(), max_new_tokens=20, seed=0)
    pieces = talk.ask("a")
    first = next(pieces)
    pieces.close()
    assert talk.messages == [Message("user", "a"), Message("assistant", first)]


def test_reset_forgets_everything_but_the_system_message():
    talk = Conversation(chat_model(), "be", max_new_tokens=2, seed=0)
    first = asked(talk, "a")
    talk.reset()
    assert asked(talk, "a") == first


def test_an_answer_ends_at_a_mark_which_is_not_shown():
    """A head that can only say the end: the answer is empty, and both turns are remembered."""
    chat = chat_model()
    with torch.no_grad():
        chat.model.final_norm.gamma.zero_()
        chat.model.final_norm.beta.fill_(1.0)
        chat.model.head.weight.zero_()
        chat.model.head.weight[chat.tokenizer.special["<|end|>"]] = 1.0
    talk = Conversation(chat, temperature=0)
    assert asked(talk, "a") == [""]
    assert talk.stream.finish == "stop"
    assert len(talk.messages) == 2


def test_a_mark_that_a_user_types_is_text():
    talk = Conversation(chat_model(context=60), max_new_tokens=1, seed=0)
    asked(talk, "<|end|>")
    ids = talk.encoded(talk.messages[:1])
    assert ids.count(talk.chat_model.tokenizer.special["<|end|>"]) == 1


def test_options_that_cannot_be_are_refused():
    roles = {"user": "<|user|>", "assistant": "<|assistant|>"}
    form = ChatFormat(markers=roles, headers=dict.fromkeys(roles, ""), end="<|end|>")
    with pytest.raises(InputError, match="this model has no system message"):
        Conversation(chat_model(form=form), "be kind")
    with pytest.raises(InputError, match="--max-new-tokens 0 must be at least 1"):
        Conversation(chat_model(), max_new_tokens=0)
