"""Helpers of the record: which questions are asked, and scores written and read again."""

import json

import numpy as np

from lab.evaluation import study
from mathlm.evaluation import ChoiceScores
from mathlm.text import questions
from mathlm.text.corpora.questions import Question


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
