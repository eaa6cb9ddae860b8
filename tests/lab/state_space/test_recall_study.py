import json

import pytest
import torch

from lab.state_space import recall_study
from lab.state_space.recall import RecallRun
from lab.state_space.recall_study import best


def test_each_arm_is_taken_at_its_best_rate_with_its_spread():
    rows = [
        {"arm": "decay", "d_state": 8, "lr": 0.1, "recall": {"4": 0.4}},
        {"arm": "decay", "d_state": 8, "lr": 0.1, "recall": {"4": 0.6}},
        {"arm": "decay", "d_state": 8, "lr": 0.2, "recall": {"4": 0.3}},
        {"arm": "decay", "d_state": 8, "lr": 0.2, "recall": {"4": 0.3}},
    ]
    found = best(rows)["decay", 8]
    assert found.lr == 0.1
    assert found == {4: (pytest.approx(0.5), pytest.approx(0.02**0.5))}


@pytest.mark.slow
def test_the_study_tries_every_arm_rate_and_seed(tmp_path):
    torch.set_default_dtype(torch.float32)
    path = tmp_path / "record.json"
    options = "--arms decay hybrid --rates 0.01 0.02 --seeds 2 --steps 1"
    rows = recall_study.main([*options.split(), "--record", str(path)])
    assert len(rows) == (2 + 1) * 2 * 2
    assert json.loads(path.read_text())["runs"] == rows
    assert {row["steps"] for row in rows} == {1}


def test_the_linear_arms_train_longer(monkeypatch):
    monkeypatch.setattr(
        recall_study, "train", lambda config: RecallRun({4: config.steps}, None)
    )
    rows = recall_study.study(["delta rule", "hybrid"], [0.01], 1)
    assert [row["recall"]["4"] for row in rows] == [600, 600, 300]
