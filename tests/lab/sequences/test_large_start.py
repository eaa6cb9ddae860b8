"""The large start is one run of the trainer, the same for the same seed."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from lab.sequences import large_start
from lab.sequences.large_start import train
from mathlm.text import corpus

BOOK = Path(large_start.__file__).parents[2]


def test_a_run_starts_near_eight_bits_and_repeats_itself():
    text = bytes(range(32, 127)) * 10
    losses, norms = train(text, 1.0, seed=0, steps=3)
    assert losses.shape == norms.shape == (3,)
    assert 7 < losses[0] < 10
    np.testing.assert_array_equal(train(text, 1.0, seed=0, steps=3)[0], losses)


def test_the_threshold_changes_only_what_follows_a_step_above_it():
    text = bytes(range(32, 127)) * 10
    clipped, free = (train(text, tau, seed=1, steps=4) for tau in (0.1, math.inf))
    assert clipped[1][0] == free[1][0] > 0.1
    assert clipped[0][0] == free[0][0]
    assert clipped[0][-1] != free[0][-1]


def test_the_record_holds_both_thresholds_and_every_seed(tmp_path):
    path = tmp_path / "r.json"
    large_start.main(["--record", str(path), "--seeds", "2", "--steps", "2"])
    record = json.loads(path.read_text())
    assert [(r["clip"], r["seed"]) for r in record["runs"]] == [
        (1.0, 0), (1.0, 1), ("inf", 0), ("inf", 1)
    ]  # fmt: skip
    assert all(0 < r["end"] < 100 and 0 <= r["long_steps"] <= 2 for r in record["runs"])
    assert record["config"] == {"seeds": 2, "steps": 2}
    assert [len(r.get("losses", [])) for r in record["runs"]] == [2, 0, 2, 0]


def test_the_course_that_the_page_draws_belongs_to_its_row():
    rows = json.loads((BOOK / "results/large-start.json").read_text())["runs"]
    for row in (r for r in rows if r["seed"] == 0):
        assert abs(np.mean(row["losses"][-20:]) - row["end"]) < 1e-3
        assert sum(norm > 1 for norm in row["norms"]) == row["long_steps"]


@pytest.mark.weekly
@pytest.mark.slow
def test_runs_of_the_record_come_out_again():
    rows = json.loads((BOOK / "results/large-start.json").read_text())["runs"]
    text = corpus.split("shakespeare")[0].encode()
    for row in rows[:2]:  # clipped, so that rounding does not decide
        losses, norms = train(text, 1.0, row["seed"])
        assert abs(losses[-20:].mean() - row["end"]) < 0.1
        assert abs(int((norms > 1).sum()) - row["long_steps"]) <= 3
