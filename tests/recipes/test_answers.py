import numpy as np
import pytest
import torch

from lab.fine_tuning import answer_rules, answer_study
from lab.fine_tuning.answer_rules import FORMAT, asked, ended, tune
from mathlm.align import encode_chats
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message

TOKENIZER = Bytes(FORMAT.special)
END = TOKENIZER.special[FORMAT.end]
CHATS = [[Message("user", q), Message("assistant", a)] for q, a in (("a?", "b"), ("cd?", "e."))]
SIZES = {"vocab_size": 256, "context": 256, "d_model": 16, "n_layers": 1, "n_heads": 2}


@pytest.fixture(autouse=True)
def narrow():
    torch.set_default_dtype(torch.float32)


@pytest.fixture
def tiny(monkeypatch):
    load = lambda path: GPT(GPTConfig(**SIZES, position="rope"))  # noqa: E731
    monkeypatch.setattr(GPT, "from_pretrained", staticmethod(load))


def learned(rule):
    chat = asked(encode_chats(CHATS, FORMAT, TOKENIZER, 64), rule, END).chats[0]
    return TOKENIZER.decode(chat.ids[chat.mask].tolist())


def test_each_rule_learns_other_tokens_of_the_same_chat():
    assert learned("answers and their ends") == "b<|end|>"
    assert learned("answers without their ends") == "b"
    assert learned("everything") == "<|user|>a?<|end|><|assistant|>b<|end|>"


def always(token):
    """A GPT whose stream is all ones behind the last norm, and whose head likes one token."""
    model = GPT(GPTConfig(**SIZES, norm="layer", tie_embeddings=False))
    with torch.no_grad():
        model.final_norm.gamma.zero_()
        model.final_norm.beta.fill_(1.0)
        model.head.weight.zero_()[token] = 50.0
    return model


def test_a_model_that_says_the_end_for_certain_ends_and_another_does_not():
    found = [ended(always(token), ["a?", "why?"], longest=5) for token in (END, 97)]
    assert found == [1.0, 0.0]


def test_a_run_is_measured_where_it_is_asked_to_be(tiny):
    encoded = encode_chats(CHATS, FORMAT, TOKENIZER, 64)
    model = GPT.from_pretrained("")
    curve = tune(model, encoded, 3, at=(1, 3), measure=lambda m: {"training": m.training})
    assert curve == [{"step": 1, "training": False}, {"step": 3, "training": False}]


def test_few_examples_are_chosen_by_the_seed():
    encoded = encode_chats(CHATS * 10, FORMAT, TOKENIZER, 64)
    assert len(answer_study.some(encoded, 5)) == 5
    assert len(answer_study.some(encoded, 0)) == 20
    same = [answer_study.some(encoded, 5, seed=3).sha256 for _ in range(2)]
    assert same[0] == same[1]


def test_a_question_is_asked_in_its_format_and_bare():
    model = always(46)  # says "." only
    with torch.no_grad():
        model.head.weight.zero_()
    found = answer_study.asked_both_ways(model, TOKENIZER, ChatFormat.named())
    assert found["chat"]["answer"] == pytest.approx(
        256.0 ** -len(answer_study.ANSWER), rel=1e-3, abs=0
    )
    assert found["text"]["first"][0][1] == pytest.approx(1 / 256)


def test_the_studies_run_and_say_what_came_out(tiny, monkeypatch):
    few = encode_chats(CHATS * 4, FORMAT, TOKENIZER, 64)
    for module in (answer_rules, answer_study):
        monkeypatch.setattr(module, "conversations", lambda *sizes: (few, few, few))
    monkeypatch.setattr(answer_rules, "parts", lambda: ([], [], CHATS))
    found = answer_rules.compare(1, 2)
    assert set(found) == set(answer_rules.RULES)
    assert 0 <= found["everything"]["ended"] <= 1
    rows = answer_study.transfer(1, numbers=(4, 8), rows=2)
    assert [(row["start"], row["examples"]) for row in rows][1:3] == [
        ("pretrained", 8),
        ("new weights", 4),
    ]
    assert all(np.isfinite(row["best"]["answers"]) for row in rows)
