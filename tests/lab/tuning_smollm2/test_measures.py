"""What is measured, by hand and against another library."""

import math

import pytest
import torch

from lab.tuning_smollm2 import measures
from mathlm.align import Reference


def test_comparisons_are_counted():
    assert measures.compare([1, 2, 3, 0], [0, 2, 1, 5]) == {"wins": 2, "losses": 1, "ties": 1}


def test_repetition_by_hand():
    assert measures.repeated("a b c d e") == 0 == measures.repeated("a b")
    assert measures.repeated("A b c a b c") == pytest.approx(1 / 4)  # abc bca cab abc


def test_the_commonest_opening():
    texts = ["I am so glad", "I am so sad", "Rain is wet"]
    assert measures.commonest_opening(texts) == ("I am so", 2 / 3)


def test_a_model_that_was_not_tuned_does_not_diverge(small):
    chat_model = small()
    reference = Reference(chat_model.model)
    found = measures.sampled(chat_model, reference, ["Hi?", "Who are you?"] * 10, seed=0)
    assert found["log_ratio"] == pytest.approx([0.0] * 20, abs=1e-3)
    assert all(0 < n <= measures.NEW_TOKENS for n in found["tokens"])
    told = measures.summary(found, found)
    assert told["compared"] == {"wins": 0, "losses": 0, "ties": 20}
    assert told["tokens"] == sum(found["tokens"]) / 20


def test_greedy_answers_are_those_of_the_likeliest_token(small):
    chat_model = small()
    (text,) = measures.greedy(chat_model, ["Hi?"], new_tokens=1)
    (ids,) = measures.prompt_ids(chat_model, ["Hi?"])
    with torch.no_grad():
        token = int(chat_model.model(ids[None])[0, -1].argmax())
    assert text == chat_model.tokenizer.decode([token])


def test_bits_per_byte_of_a_model_that_knows_nothing(monkeypatch, small):
    chat_model = small()
    for p in chat_model.model.parameters():
        p.data.zero_()
    monkeypatch.setattr(measures.corpus, "split", lambda name: ("", "plain text"))
    vocab = chat_model.model.config.vocab_size
    found = measures.bits_per_byte(chat_model, "any")
    assert found == pytest.approx(9 * math.log2(vocab) / 10, abs=1e-4)  # ten bytes, nine asked


def test_two_answers_stand_one_below_the_other_uncut():
    said = measures.side_by_side("Who?", "a b c d", "I am.\n\nSo", width=14)
    assert said == "Who?\n  base:  a b c\n         d\n  tuned: I am.\n         So"
