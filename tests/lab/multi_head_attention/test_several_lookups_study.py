import json

import pytest
import torch

from lab.multi_head_attention import several_lookups_study
from lab.multi_head_attention.several_lookups_study import best


def test_each_arm_has_its_own_best_rate_with_its_spread():
    rows = [
        {"arm": "1", "lr": 0.1, "error": 0.4}, {"arm": "1", "lr": 0.1, "error": 0.6},
        {"arm": "1", "lr": 0.2, "error": 0.9}, {"arm": "2", "lr": 0.2, "error": 0.3},
    ]  # fmt: skip
    assert best(rows) == {
        "1": (0.1, pytest.approx(0.5), pytest.approx(0.1)),
        "2": (0.2, 0.3, 0.0),
    }


def test_the_study_tries_every_arm_rate_and_seed(tmp_path):
    torch.set_default_dtype(torch.float32)
    path = tmp_path / "record.json"
    options = "--arms 1 2 --rates 0.01 0.02 --seeds 2 --steps 1"
    rows = several_lookups_study.main([*options.split(), "--record", str(path)])
    assert len(rows) == 8
    assert json.loads(path.read_text())["runs"] == rows
