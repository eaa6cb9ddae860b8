"""Votes over sampled answers, by hand."""

import numpy as np
import pytest

from lab.generation.voting import shares
from lab.generation.voting_study import LENGTH, answer, asked, encode, examples, solution


def test_with_all_samples_every_rule_is_what_it_says():
    """Question 1: votes are right, the likeliest sample is not; question 2 the other way."""
    answers = np.array([[4, 4, 7], [1, 1, 2]])
    logp = np.array([[-2.0, -2.5, -1.0], [-3.0, -3.0, -0.5]])
    found = shares(answers, logp, np.array([4, 2]), 3)
    assert found == {"majority": 0.5, "likeliest sample": 0.5, "any sample": 1.0}


def test_one_sample_is_one_sample_by_every_rule():
    rng = np.random.default_rng(0)
    answers, logp = rng.integers(0, 3, size=(40, 8)), rng.normal(size=(40, 8))
    found = shares(answers, logp, np.zeros(40, dtype=int), 1, draws=200)
    assert found["majority"] == found["likeliest sample"]
    assert found["majority"] == pytest.approx(found["any sample"], abs=0.03)


def test_an_example_of_the_study_by_hand():
    assert asked((26, 20, 16)) + solution((26, 20, 16)) == "26+20+16=26+20=046,046+16=062;"
    row = encode(solution((26, 20, 16)))
    assert answer(row) == 62
    assert answer(row[:-4]) == -1
    assert examples([(1, 2, 3)]).shape[1] <= LENGTH
