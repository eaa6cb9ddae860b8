import json

import pytest
import torch

from lab.architectures import architecture_study


@pytest.fixture(autouse=True)
def single_precision(unchecked):
    torch.set_default_dtype(torch.float32)


@pytest.mark.slow
def test_a_record_holds_every_kind_and_seed(tmp_path):
    path = tmp_path / "record.json"
    architecture_study.main(
        ["--steps", "4", "--seeds", "1", "--every", "3", "--record", str(path)]
    )
    record = json.loads(path.read_text())
    configs = [r["config"] for r in record["results"]]
    runs = [(c["kind"], c["published"], c["lr"]) for c in configs]
    assert runs == architecture_study.RUNS
    for row in record["results"]:
        assert [answer["step"] for answer in row["answers"]] == [3, 4]
        assert len(row["loss"]) == 1
        assert row["targets"] > 0


def row(right, lr=1e-3, published=False):
    """A row of a record whose model is right to such shares at steps 50, 100, 150."""
    answers = [{"step": 50 * (i + 1), "bert": {"a": x, "b": 1.0}} for i, x in enumerate(right)]
    config = {"kind": "bert", "lr": lr, "published": published, "steps": 50 * len(right)}
    return {"config": config, "answers": answers}


def test_an_arm_has_learned_when_it_is_right_and_stays_so():
    rows = [row([0.2, 0.96, 1.0]), row([1.0, 0.1, 0.5]), row([1.0, 1.0, 1.0], published=True)]
    found = architecture_study.by_rate([*rows, row([1.0, 0.94, 1.0], 2e-3)], "bert", "ab")
    assert found == {1e-3: [100, 150], 2e-3: [150]}
