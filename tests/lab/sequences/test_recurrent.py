import json

import pytest
import torch

from lab.sequences import recurrent


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


def test_the_three_kinds_have_about_as_many_weights():
    for widths in list(recurrent.WIDTHS.values()):
        args = recurrent.parse([])
        recurrent.WIDTHS["test"], args.size = widths, "test"
        models = [recurrent.build(kind, 1e-3, b"text" * 50, args).model for kind in widths]
        sizes = [sum(p.numel() for p in model.parameters()) for model in models]
        del recurrent.WIDTHS["test"]
        assert max(sizes) < 1.5 * min(sizes)


@pytest.mark.slow
def test_training_learns_and_the_record_says_so(tmp_path):
    path = tmp_path / "record.json"
    options = "--size nano --steps 40 --batch-size 4 --context 32 --lr 2e-2 --evaluations 2"
    recurrent.main(f"{options} --record {path}".split())
    record = json.loads(path.read_text())
    assert [run["kind"] for run in record["runs"]] == ["rnn", "gru", "lstm"]
    for run in record["runs"]:
        assert run["losses"][-1] < 0.8 * run["losses"][0]
        assert run["evaluations"][-1]["bits_per_byte"] == run["bits_per_byte"] < 6
        assert run["sample"].startswith("KING HENRY IV:")
        assert len(run["reach"]) == len(run["bits_by_position"]) == 128


@pytest.mark.slow
def test_each_kind_is_trained_at_each_step_size(tmp_path):
    path = tmp_path / "record.json"
    options = "--size nano --steps 2 --batch-size 2 --context 16 --lr 1e-3 1e-2 --evaluations 1"
    recurrent.main(f"{options} --kinds rnn --record {path}".split())
    record = json.loads(path.read_text())
    assert [run["lr"] for run in record["runs"]] == [1e-3, 1e-2]
    first, second = (run["losses"] for run in record["runs"])
    assert first[0] == second[0]
    assert first[1] != second[1]
    assert record["options"]["record"] == "record.json"
