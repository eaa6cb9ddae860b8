"""The command runs every fault of the kinds it is given, and records them."""

import json

import torch
from torch import nn

from lab.broken_runs import columns, study
from lab.broken_runs.faults import Fault
from lab.broken_runs.loop import Setup


def setup(seed):
    """A weight that is pulled to 0 for five steps."""

    def objective(model, batch):
        return (model(batch["x"]) ** 2).sum(), len(batch["x"])

    batch = {"x": torch.ones(4, 1)}
    return Setup(
        kind="sft",
        model=nn.Linear(1, 1),
        objective=objective,
        data=lambda step: batch,
        steps=5,
        warmup=1,
        log_every=1,
    )


def test_the_record_is_the_one_that_the_page_reads(tmp_path, monkeypatch):
    torch.set_default_dtype(torch.float32)
    planted = Fault(name="x", kind="sft", plant=setup, instead="look")
    monkeypatch.setattr(study, "HEALTHY", {"sft": setup, "dpo": None})
    monkeypatch.setattr(study, "FAULTS", [planted])
    monkeypatch.setattr(columns, "FAULTS", [planted])
    path = tmp_path / "record.json"
    study.main(["--seeds", "2", "--kinds", "sft", "--record", str(path)])
    healthy, (broken,) = columns.load(path)
    assert [len(run["history"]) for run in healthy["sft"]] == [5, 5]
    assert broken.fault is planted
    assert json.loads(path.read_text())["config"]["seeds"] == 2
