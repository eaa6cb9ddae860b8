"""The record of the page: counted again, with arithmetic of its own."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from lab.reasoning import study

RECORD = Path(study.__file__).parents[2] / "results" / "reasoning.json"


@pytest.fixture(scope="module")
def record():
    return json.loads(RECORD.read_text())


def total(asked):
    return sum(int(n) for n in asked.strip("=").split("+"))


def test_each_method_has_the_best_of_its_step_sizes_and_it_is_not_at_the_edge(record):
    for method, shares in record["tuned"].items():
        rates = sorted(shares, key=float)
        best = max(shares, key=shares.get)
        assert record["rates"][method] == float(best)
        assert best not in (rates[0], rates[-1])


def test_right_answers_counted_again(record):
    for row in record["rows"]:
        for found in (row["before"], row["methods"]["grpo"]["after"]):
            votes = found["votes"]
            pairs = zip(votes["sums"], votes["answers"], strict=True)
            counted = [row.count(wanted) for wanted, row in pairs]
            assert counted == found["5"]["right"][: len(counted)]


def test_kept_texts_are_judged_again(record):
    """The kept texts of a sum, by eye: what stands after the last = or +, before the end."""
    for row in record["rows"]:
        for n, found in row["before"].items():
            if n == "votes":
                continue
            assert len(found["right"]) == len(found["different"]) == 50
            for number, shown in enumerate(found["texts"]):
                ends = [re.fullmatch(r".*?(\d+)[=+]*;", text) for text in shown["texts"]]
                right = sum(m is not None and int(m[1]) == total(shown["asked"]) for m in ends)
                assert right <= found["right"][number] <= 64 - len(ends) + right


def test_curves_begin_at_the_same_start(record):
    for row in record["rows"]:
        starts = {m: found["curve"][0]["right"] for m, found in row["methods"].items()}
        starts |= {w: found["curve"][0]["right"] for w, found in row["wrong"].items()}
        assert len(set(starts.values())) == 1
        assert all(found["curve"][-1]["samples"] <= 21_024 for found in row["methods"].values())


def test_there_are_three_seeds_and_different_starts(record):
    assert [row["seed"] for row in record["rows"]] == [0, 1, 2]
    assert len({json.dumps(row["before"]["5"]["right"]) for row in record["rows"]}) == 3


def test_the_answers_of_a_vote_by_hand():
    pairs = [((1, 2, 3), ["06;", "1+2=03+3=06;", "06", ";"])]
    found = study.votes(pairs, [[-1.04, -2, -3, -4], [0, 0, 0, 0]])
    assert found["sums"] == [6]
    assert found["answers"] == [[6, 6, -1, -1]]
    assert found["logp"] == [[-1.0, -2, -3, -4]]


@pytest.mark.slow
def test_a_study_of_one_seed(tmp_path):
    sizes = {"seeds": 1, "pretraining": 10, "tuning": 300, "samples": 600, "wrong": 300}
    sizes |= {"questions": 4, "answers": 4}
    options = [text for name, n in sizes.items() for text in (f"--{name}", str(n))]
    found = study.main([*options, "--record", str(tmp_path / "record.json")])
    (row,) = found["rows"]
    assert set(row["methods"]) == {"grpo", "rloo", "dapo"}
    assert np.shape(row["before"]["votes"]["answers"]) == (4, 4)
    again = study.main([*options, "--record", str(tmp_path / "record.json")])
    assert again["rows"][0]["seed"] == 0
