import json

import pytest
import torch

from lab.optimization import optimizer_study as recipe


@pytest.fixture(autouse=True)
def float32():
    torch.set_default_dtype(torch.float32)


def test_the_record_holds_every_combination_once(tmp_path):
    recipe.main(["--record", str(tmp_path / "r.json"), "--seeds", "1", "--steps", "3"])
    record = json.loads((tmp_path / "r.json").read_text())
    keys = {(r["method"], r["lr"]) for r in record["runs"]}
    assert len(keys) == len(record["runs"]) == len(recipe.METHODS) * len(recipe.FACTORS)
    assert record["config"] == {"seeds": 1, "steps": 3, "batch_size": 32}


def test_each_method_learns_at_its_middle_step_size(monkeypatch):
    monkeypatch.setattr(recipe, "FACTORS", (1.0,))
    assert all(row["loss"] < 1.5 for row in recipe.sweep(steps=40, seeds=1))
