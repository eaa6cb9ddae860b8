import json
from pathlib import Path

import pytest
import torch

from lab.initialization import regularizer_study as recipe

BOOK = Path(recipe.__file__).parents[2]


@pytest.fixture(autouse=True)
def float32():
    torch.set_default_dtype(torch.float32)


@pytest.mark.slow
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


@pytest.mark.weekly
@pytest.mark.slow
def test_runs_of_the_record_come_out_again(monkeypatch):
    record = json.loads((BOOK / "results/regularizers-digits.json").read_text())
    assert {r["lr"] for r in record["runs"]} == set(recipe.RATES)
    monkeypatch.setattr(recipe, "ARMS", {"nothing": ({}, 0.0), "weight decay 3": ({}, 3.0)})
    monkeypatch.setattr(recipe, "RATES", (1e-4, 1e-3))
    for row in recipe.sweep(steps=1600, seeds=1):
        (same,) = (
            r for r in record["runs"] if all(r[k] == row[k] for k in ("arm", "lr", "seed"))
        )
        assert abs(same["end"] - row["end"]) < 0.05
