import json

import pytest

from lab.attention import soft_lookup_study
from lab.attention.soft_lookup_study import best_rate, summary


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


def test_the_study_runs_every_combination_once_and_records_it(tmp_path):
    path = tmp_path / "record.json"
    options = f"--widths 4 --rates 0.5 1 --steps 2 --seeds 2 --record {path}"
    rows = soft_lookup_study.main(options.split())
    record = json.loads(path.read_text())
    assert record["runs"] == rows
    made = {(r["scaled"], r["learning_rate"], r["seed"]) for r in rows}
    assert len(rows) == len(made) == 8
    assert len({row["test_loss"] for row in rows}) == 8
    assert "CPU" in record["device"]
