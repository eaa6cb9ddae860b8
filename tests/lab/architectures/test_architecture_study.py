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
    kinds = [(r["config"]["kind"], r["config"]["published"]) for r in record["results"]]
    assert kinds == architecture_study.RUNS
    for row in record["results"]:
        assert [answer["step"] for answer in row["answers"]] == [3, 4]
        assert len(row["loss"]) == 1
        assert row["targets"] > 0
