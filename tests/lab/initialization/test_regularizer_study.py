import json

import pytest
import torch

from lab.initialization import regularizer_study as recipe


@pytest.fixture(autouse=True)
def float32():
    torch.set_default_dtype(torch.float32)


def test_the_record_holds_every_combination_once(tmp_path):
    recipe.main(["--record", str(tmp_path / "r.json"), "--seeds", "1", "--steps", "2"])
    record = json.loads((tmp_path / "r.json").read_text())
    keys = {(r["arm"], r["lr"]) for r in record["runs"]}
    assert len(keys) == len(record["runs"]) == len(recipe.ARMS) * len(recipe.RATES)
    assert record["config"] == {"seeds": 1, "steps": 2, "label_noise": 0.3}


def test_stopping_takes_the_accuracy_of_the_lowest_held_out_loss(monkeypatch):
    monkeypatch.setattr(recipe, "ARMS", {"nothing": ({}, 0.0)})
    monkeypatch.setattr(recipe, "RATES", (3e-3,))
    (row,) = recipe.sweep(steps=64, seeds=1)
    assert 0 <= row["best_step"] <= 64
    assert 0 < row["stopped"] <= 1
    assert row["stopped"] == row["end"] or row["best_step"] < 64
