import json

import pytest
import torch

from lab.optimization import step_size_study as recipe


@pytest.fixture(autouse=True)
def float32():
    torch.set_default_dtype(torch.float32)


def test_shapes_begin_at_the_peak_and_only_fall():
    for shape in recipe.SHAPES.values():
        values = [shape(s / 20) for s in range(21)]
        assert values[0] == 1
        assert values == sorted(values, reverse=True)


def test_a_block_is_normalized_after_the_sum(rng):
    y = recipe.PostNorm(6)(torch.tensor(rng.normal(size=(4, 6)), dtype=torch.float32))
    torch.testing.assert_close(y.mean(-1), torch.zeros(4), atol=1e-6, rtol=0)
    torch.testing.assert_close(y.var(-1, correction=0), torch.ones(4), atol=1e-3, rtol=0)


def test_a_warmup_as_long_as_the_run_barely_moves_the_loss():
    slow = recipe.warmup_run(warmup=10_000, peak=1e-3, steps=10, seed=0)
    fast = recipe.warmup_run(warmup=0, peak=1e-3, steps=10, seed=0)
    assert fast < slow


@pytest.mark.slow
def test_the_record_holds_every_combination_once(tmp_path, monkeypatch):
    monkeypatch.setattr(recipe, "BATCHES", (8, 16))
    monkeypatch.setattr(recipe, "WARMUPS", (0, 5))
    monkeypatch.setattr(recipe, "PEAKS", (0.5, 1.0))
    recipe.main(["--record", str(tmp_path / "r.json"), "--seeds", "1", "--steps", "9"])
    record = json.loads((tmp_path / "r.json").read_text())
    keys = [(r["batch"], r["lr"]) for r in record["batch"]]
    assert len(keys) == len(set(keys)) == 2 * len(recipe.RATES)
    assert len(record["schedule"]) == len(recipe.SHAPES) * len(recipe.PEAKS)
    assert len(record["warmup"]) == 2 * 3
    assert record["config"] == {"seeds": 1, "steps": 9, "target": 0.25}  # and no path
    assert all(r["steps"] is None for r in record["batch"])  # nine steps reach nothing
