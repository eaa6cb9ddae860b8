"""Helpers of the record: which questions are asked, and scores written and read again."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from lab.evaluation import study
from mathlm.evaluation import ChoiceScores
from mathlm.models import GPT
from mathlm.text import questions
from mathlm.text.corpora.questions import Question

RECORD = Path(study.__file__).parents[2] / "results/evaluation.json"


def test_questions_are_spread_evenly_over_the_set(monkeypatch):
    whole = tuple(Question(str(i), ("yes", "no"), 0) for i in range(101))
    monkeypatch.setattr(questions, "load", lambda name: whole)
    assert [q.text for q in study.some("any", 5)] == ["0", "25", "50", "75", "100"]


def test_scores_come_back_from_a_file():
    scores = ChoiceScores(np.array([-1.23456, -2.0]), np.array([1, 2]), np.array([3, 9]))
    (back,) = study.scores_of(json.loads(json.dumps(study.kept([scores]))))
    assert back.logp.tolist() == [-1.2346, -2.0]
    assert back.tokens.tolist() == [1, 2]
    assert back.bytes.tolist() == [3, 9]


def test_a_part_that_is_there_is_not_run_again(tmp_path):
    file = tmp_path / "record.json"
    study.Study(file).part("one", lambda: 1)
    again = study.Study(file)
    again.part("one", lambda: 2)
    again.part("two", lambda: 3)
    assert json.loads(file.read_text()) == {"one": 1, "two": 3}


def test_before_and_after_are_of_the_same_questions(monkeypatch):
    """The last question is answered with the update alone, all others by both."""
    whole = tuple(Question(str(i), ("yes", "no"), i % 2) for i in range(5))
    monkeypatch.setattr(questions, "load", lambda name: whole)
    monkeypatch.setattr(study, "FEWER", 3)
    monkeypatch.setattr(study, "ASKED", {"openbookqa": 5})

    def answered(places, wrong=()):
        logp = {i: [0.0, -1.0] if (i % 2 == 0) != (i in wrong) else [-1.0, 0.0] for i in places}
        return [{"logp": x, "tokens": [1, 1], "bytes": [1, 1]} for x in logp.values()]

    record = {
        "answers openbookqa": answered(range(5), wrong=[4]),
        "brief": answered([0, 2, 4]),
        "brief others": answered([1, 3]),
    }
    before, after = study.before_and_after(record)
    assert before.tolist() == [True, True, False, True, True]
    assert after.all()
    assert study.rights_of(record) == {"before": [1, 1, 0, 1, 1], "after": [1] * 5}


def test_what_other_chapters_read_is_what_the_scores_say():
    record = json.loads(RECORD.read_text(encoding="utf-8"))
    assert record["brief right"] == study.rights_of(record)


def test_a_long_question_keeps_its_end_and_room_for_its_longest_answer():
    question = Question("x" * 300 + " why", ("no", "perhaps"), 0)
    prompt = study.fitting(64)(question)
    assert prompt.endswith(" why\nAnswer:")
    assert len(prompt) == 64 - len(" perhaps")
    assert study.fitting(999)(question) == f"Question: {question.text}\nAnswer:"


def test_the_fewer_and_the_others_are_the_whole(monkeypatch):
    whole = tuple(Question(str(i), ("yes", "no"), 0) for i in range(10))
    monkeypatch.setattr(questions, "load", lambda name: whole)
    monkeypatch.setattr(study, "FEWER", 4)
    monkeypatch.setattr(study, "ASKED", {"openbookqa": 10})
    both = [*study.some("openbookqa", 4), *study.others()]
    assert sorted(q.text for q in both) == [str(i) for i in range(10)]
    assert len(study.others()) == 6


def test_the_record_has_what_the_model_of_the_plays_says_byte_by_byte():
    """The first two questions of PIQA, from the logits of one text at a time."""
    results = Path(study.__file__).parents[2] / "results"
    rows = json.loads((results / "evaluation.json").read_text(encoding="utf-8"))["plays piqa"]
    model = GPT.from_pretrained(results / "shakespeare-gpt").double().eval()
    for row, question in zip(rows[:2], study.some("piqa"), strict=False):
        before = f"Question: {question.text}\nAnswer:".encode()
        for logp, choice in zip(row["logp"], question.choices, strict=True):
            answer = f" {choice}".encode()
            ids = torch.tensor([list(before + answer)])
            with torch.no_grad():
                each = model(ids)[0, len(before) - 1 : -1].log_softmax(-1)
            found = sum(float(each[i, byte]) for i, byte in enumerate(answer))
            assert found == pytest.approx(logp, rel=1e-4)  # float32 in the record
