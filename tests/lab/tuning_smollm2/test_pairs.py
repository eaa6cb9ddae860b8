"""Pairs of a model's own answers."""

import torch

from lab.tuning_smollm2 import pairs
from mathlm.text.corpora import preferences

LONG = "Rain is made of water. It falls from clouds. And"


def test_the_same_answer_ends_or_goes_on():
    (pair,) = pairs.cut_pairs(["Rain?"], [LONG])
    assert (pair.prompt[0].content, pair.chosen) == ("Rain?", "Rain is made of water.")
    assert pair.rejected == "Rain is made of water. It falls from clouds."


def test_an_answer_of_one_sentence_or_a_short_first_one_makes_no_pair():
    answers = [
        "Rain is made of water.",
        "Rain is made of water. And",
        "Yes. It is so, I think.",
    ]
    assert pairs.cut_pairs(["Rain?"] * 3, answers) == []


def test_a_prompt_makes_so_many_pairs():
    prompts, answers = ["a", "a", "a", "b"], [LONG, LONG + " so.", LONG + " on.", LONG]
    assert [p.prompt[0].content for p in pairs.cut_pairs(prompts, answers)] == ["a", "b"]
    found = pairs.cut_pairs(prompts, answers, per_prompt=2)
    assert [p.prompt[0].content for p in found] == ["a", "a", "b"]


def test_of_two_answers_the_shorter_is_preferred_and_a_tie_makes_no_pair():
    answers = ["One two three.", "One.", "a b", "Yes.", "Two.", " c d "]
    (pair,) = pairs.shorter_preferred(["p", "q", "r"], answers)
    assert pair.prompt[0].content == "p"
    assert (pair.chosen, pair.rejected) == ("Yes.", "One two three.")
    (pair,) = pairs.shorter_preferred(["p"], ["One.", "One two."])
    assert (pair.chosen, pair.rejected) == ("One.", "One two.")
    assert pairs.shorter_preferred(["p"], ["", "One two."]) == []


def test_the_file_is_what_mathlm_dpo_reads(tmp_path):
    made = pairs.cut_pairs(["Who?"], ["It is “good”, I say. Yes, it is."])
    pairs.write(made, tmp_path / "my.jsonl")
    assert made
    assert list(preferences.read(tmp_path / "my.jsonl")) == made


def test_samples_do_not_depend_on_how_many_are_written_together(monkeypatch, small):
    chat_model = small()
    chat_model.model.token_embedding.weight.data.div_(20)  # nearly even probabilities
    whole = pairs.sample(chat_model, ["Hi?", "Rain?", "Who are you?"], 6, seed=3)
    monkeypatch.setattr(pairs, "AT_ONCE", 2)
    assert pairs.sample(chat_model, ["Hi?", "Rain?", "Who are you?"], 6, seed=3) == whole
    assert len(set(whole)) > 1
    assert all(isinstance(text, str) for text in whole)


def test_the_end_of_an_answer_is_none_of_its_text(small):
    chat_model = small()
    ids = [*chat_model.tokenizer.encode("So."), pairs.end_of(chat_model)]
    assert pairs.text_of(chat_model, torch.tensor(ids)) == "So."
