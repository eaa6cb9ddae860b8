"""Pairs of a model's own answers."""

import torch

from lab.tuning_smollm2 import pairs
from mathlm.text.corpora import preferences


def test_best_against_worst_and_no_ties():
    prompts = ["a"] * 5 + ["b"] * 2 + ["c"]
    answers = ["1", "333", "22", "", "4444", "x", "y", "alone"]
    found = pairs.make_pairs(prompts, answers, len)
    said = [(p.prompt[0].content, p.chosen, p.rejected) for p in found]
    assert said == [("a", "4444", "1"), ("a", "333", "22")]
    assert len(pairs.make_pairs(prompts, answers, len, per_prompt=1)) == 1


def test_an_answer_given_twice_counts_once():
    found = pairs.make_pairs(["a"] * 4, ["no", "no", "yes", "yes"], len)
    assert [(p.chosen, p.rejected) for p in found] == [("yes", "no")]


def test_the_file_is_what_mathlm_dpo_reads(tmp_path):
    made = pairs.make_pairs(["Who?", "Who?"], ["Fine, “good”.", "No."], len)
    pairs.write(made, tmp_path / "my.jsonl")
    assert list(preferences.read(tmp_path / "my.jsonl")) == made


def test_samples_do_not_depend_on_how_many_are_written_together(monkeypatch, small):
    chat_model = small()
    whole = pairs.sample(chat_model, ["Hi?", "Rain?", "Who are you?"], 6, seed=3)
    monkeypatch.setattr(pairs, "AT_ONCE", 2)
    assert pairs.sample(chat_model, ["Hi?", "Rain?", "Who are you?"], 6, seed=3) == whole
    assert len(set(whole)) > 1 and all(isinstance(text, str) for text in whole)


def test_the_end_of_an_answer_is_none_of_its_text(small):
    chat_model = small()
    ids = [*chat_model.tokenizer.encode("So."), pairs.end_of(chat_model)]
    assert pairs.text_of(chat_model, torch.tensor(ids)) == "So."
