"""The record, with one step of everything: what stands in it."""

import json
import math

import numpy as np
import pytest
import torch

from lab.masked_diffusion import letters, record


@pytest.mark.slow
def test_each_arm_and_each_way_of_writing_is_a_row(tmp_path, monkeypatch):
    text = np.random.default_rng(0).integers(0, 27, 600)
    for module in (letters, record):
        monkeypatch.setattr(module, "letters", lambda part="training": text)
    monkeypatch.setattr(record, "RATES", (1e-3, 3e-3))
    monkeypatch.setattr(record, "PASSES", (1, 2))
    record.judge.cache_clear()
    path, small = tmp_path / "record.json", "--steps 1 --seeds 1 --windows 2 --count 2"
    record.main([*small.split(), "--times", "2", "--record", str(path)])
    record.judge.cache_clear()
    results = json.loads(path.read_text())["results"]
    arms = [(row["kind"], row["times"]) for row in results["runs"]]
    assert arms == [("gpt", 1)] * 2 + [("diffusion", 1)] * 2 + [("diffusion", 2)]
    (sample,) = results["samples"]
    ways = [(row["order"], row["passes"]) for row in sample["rows"]]
    assert ways == [("random", 1), ("random", 2), ("confidence", 1), ("confidence", 2)]
    assert len({row["parameters"] for row in results["runs"]}) == 1


@pytest.mark.parametrize(("kind", "symbols"), [("gpt", 28), ("diffusion", 27)])
def test_a_model_that_knows_nothing_pays_the_logarithm_of_the_symbols(kind, symbols):
    model = letters.build(kind, 0)
    with torch.no_grad():
        for p in model.parameters():
            p.zero_()
    windows = torch.randint(27, (3, letters.WINDOW))
    found = record.bits(model, kind, windows, samples=4)
    assert found == pytest.approx(math.log2(symbols), rel=1e-5)


def test_the_judge_scores_what_has_five_letters_before_it(monkeypatch):
    class Judge:
        def log_probabilities(self, ids):
            return np.where(np.arange(len(ids)) < 5, -100.0, -math.log(8))

    monkeypatch.setattr(record, "judge", Judge)
    assert record.judged(torch.zeros(2, 9, dtype=torch.int64)) == pytest.approx(3)
