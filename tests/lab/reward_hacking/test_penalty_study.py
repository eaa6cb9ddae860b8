"""Where policies end with a penalty on the divergence and without one."""

import json
from pathlib import Path

import pytest
import torch

from lab.reward_hacking import penalty_study
from mathlm.align.exact import standard_world

RECORD = Path(penalty_study.__file__).parents[2] / "results" / "policy-penalty.json"


def test_the_study_records_every_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(penalty_study.SIZES, "iterations", 2)
    monkeypatch.setitem(penalty_study.SIZES, "group_size", 8)
    path = tmp_path / "penalty.json"
    penalty_study.main(["--record", str(path), "--seeds", "1"])
    results = json.loads(path.read_text())["results"]
    expected = [(0.0, 0), (0.2, 0)]
    assert [(r["beta"], r["seed"]) for r in results] == expected
    assert all(0 < r["entropy"] < 4.2 for r in results)  # log 64 = 4.16


def test_what_the_reference_gives_is_that_of_the_likeliest_answer():
    found = penalty_study.one(0.0, 0, iterations=2, group_size=8)
    world = standard_world(vocabulary=4, prompts=2)
    expected = [float(world.logp_ref[x, y].exp()) for x, y in enumerate(found["likeliest"])]
    assert found["of_reference"] == pytest.approx(expected)
    assert found["share"] == pytest.approx(
        found["reward"] / float(world.rewards.amax(1).mean())
    )


@pytest.mark.slow
@pytest.mark.weekly
@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("beta", "least", "most"), [(0.0, 0.56, 0.58), (0.2, 0.75, 1.0)])
def test_a_run_of_the_record_is_repeated(beta, least, most):
    """Steps differ by rounding between processors: the same end, not the same digits."""
    torch.set_default_dtype(torch.float32)
    assert least < penalty_study.one(beta, 0)["share"] < most
    recorded = json.loads(RECORD.read_text())["results"]
    assert all(least < r["share"] < most for r in recorded if r["beta"] == beta)
