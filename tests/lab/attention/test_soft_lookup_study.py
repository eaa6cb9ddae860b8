import json

import pytest

from lab.attention import soft_lookup_study
from lab.attention.soft_lookup_study import around, best_rate, summary


def run(scaled, rate, loss, seed=0):
    asked = {"scaled": scaled, "width": 4, "steps": 9, "learning_rate": rate, "seed": seed}
    return asked | {"test_loss": loss, "first_loss": 0.5, "accuracy": 1.0}


RUNS = [run(True, 1.0, 0.2), run(True, 1.0, 0.4, 1), run(True, 2.0, 0.1), run(False, 2.0, 0.5)]


def test_summary_is_mean_and_spread_over_the_seeds():
    means = summary(RUNS)
    assert means[(True, 4, 9, 1.0)] == pytest.approx((0.3, 0.1))
    assert means[(True, 4, 9, 2.0)] == (0.1, 0.0)
    assert summary(RUNS, "first_loss")[(False, 4, 9, 2.0)] == (0.5, 0.0)


def test_each_arm_has_its_own_best_rate():
    assert best_rate(summary(RUNS), True, 4, 9) == 2.0
    assert best_rate(summary([*RUNS, run(False, 1.0, 0.4)]), False, 4, 9) == 1.0


def test_neighbors_of_a_rate_stay_in_the_list():
    assert around([1, 2, 4, 8, 16], 8) == [2, 4, 8, 16]
    assert around([1, 2, 4], 1) == [1, 2]


@pytest.mark.slow
def test_the_study_tries_every_rate_and_trains_longer_near_the_best(tmp_path):
    path = tmp_path / "record.json"
    options = "--widths 4 --rates 0.001 0.01 1 --steps 2 --long-steps 4 --seeds 2"
    rows = soft_lookup_study.main(f"{options} --record {path}".split())
    record = json.loads(path.read_text())
    assert record["runs"] == rows
    made = {(r["scaled"], r["steps"], r["learning_rate"], r["seed"]) for r in rows}
    assert len(rows) == len(made)
    assert sum(row["steps"] == 2 for row in rows) == 2 * 3 * 2
    for scaled in (True, False):
        longer = {r["learning_rate"] for r in rows if r["steps"] == 4 and r["scaled"] == scaled}
        assert longer >= set(around([0.001, 0.01, 1.0], best_rate(summary(rows), scaled, 4, 2)))
        assert best_rate(summary(rows), scaled, 4, 4) > min(longer)
    assert "CPU" in record["device"]
