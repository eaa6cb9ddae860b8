import json
import math

import pytest
import torch

from mathlm.errors import CheckpointMismatchError, HashMismatchError
from mathlm.recipes import judge, pretrain
from mathlm.text import ByteBPE, corpus

SIZES = ["--size", "nano", "--batch-size", "2", "--context", "16", "--device", "cpu"]
OPTIONS = [*SIZES, "--warmup", "1", "--log-every", "1"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run of four steps with two checkpoints, on a text of 2,000 bytes."""
    torch.set_default_dtype(torch.float32)
    text = "To be, or not to be: that is the question:\n" * 50
    monkeypatch.setattr(corpus, "split", lambda name: (text, text[:300]))
    pretrain.main(
        [*OPTIONS, "--steps", "4", "--save-every", "2", "--out", str(tmp_path / "run")]
    )
    return tmp_path / "run"


def test_each_checkpoint_is_judged_once(run, tmp_path):
    record = judge.main([str(run), "--device", "cpu", "--record", str(tmp_path / "r.json")])
    assert [line["step"] for line in record["evaluations"]] == [2, 4]
    assert [line["tokens"] for line in record["evaluations"]] == [2 * 2 * 16, 4 * 2 * 16]


def test_bits_are_those_of_the_trainer(run, tmp_path):
    record = judge.main([str(run), "--device", "cpu", "--record", str(tmp_path / "r.json")])
    state = json.loads((run / "step_000004" / "state.json").read_text())
    loss = state["history"][-1]["held_out_loss"]
    bits = record["evaluations"][-1]["bits_per_byte"]
    assert bits == pytest.approx(loss / math.log(2), rel=1e-6)


def test_positions_average_to_the_whole(run, tmp_path):
    """All windows but the last are full, so the mean over positions is nearly the whole."""
    record = judge.main([str(run), "--device", "cpu", "--record", str(tmp_path / "r.json")])
    positions = record["bits_by_position"]
    assert len(positions) == 16
    mean = sum(positions) / 16
    assert mean == pytest.approx(record["evaluations"][-1]["bits_per_byte"], rel=0.01)


def test_record_says_how_it_was_made(run, tmp_path):
    judge.main([str(run), "--device", "cpu", "--record", str(tmp_path / "r.json")])
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["config"]["model"]["d_model"] == 32
    assert {"device", "versions", "held_out_bytes"} <= set(record)
    assert all(line["sample"].startswith("KING HENRY IV:") for line in record["evaluations"])


def test_a_run_of_64_bits_and_a_short_window_is_judged(run, tmp_path):
    """A window shorter than the prompt takes its first tokens, and writes one."""
    out, place = tmp_path / "short", str(tmp_path / "r.json")
    options = [*OPTIONS, "--steps", "2", "--context", "8", "--dtype", "float64"]
    found = pretrain.main([*options, "--out", str(out)])
    record = judge.main([str(out), "--device", "cpu", "--record", place])
    (line,) = record["evaluations"]
    assert line["bits_per_byte"] == pytest.approx(found["bits_per_byte"], rel=1e-12)
    assert line["sample"].startswith("KING HE")


def test_a_checkpoint_without_a_new_record_has_no_bits_of_training(run, tmp_path, caplog):
    out, place = tmp_path / "rare", str(tmp_path / "r.json")
    rare = ["--log-every", "4", "--steps", "4", "--save-every", "2", "--out", str(out)]
    pretrain.main([*OPTIONS, *rare])
    with caplog.at_level("INFO"):
        first, last = judge.main([str(out), "--record", place])["evaluations"]
    assert "training_bits_per_byte" not in first
    assert last["training_bits_per_byte"] > 0
    assert "nan" not in caplog.messages[-1]


def test_a_run_of_another_model_is_refused(run, tmp_path):
    state = json.loads((run / "step_000004" / "state.json").read_text())
    state["config"]["model"] = "mathlm.align.RewardModel"
    folder = tmp_path / "other" / "step_000004"
    folder.mkdir(parents=True)
    (folder / "state.json").write_text(json.dumps(state))
    (folder / "manifest.json").write_text("{}")
    with pytest.raises(CheckpointMismatchError, match="holds no GPT"):
        judge.main([str(folder.parent), "--record", str(tmp_path / "r.json")])


def test_a_folder_without_checkpoints_is_an_error(tmp_path):
    with pytest.raises(OSError, match="holds no checkpoint: train with recipes"):
        judge.main([str(tmp_path), "--device", "cpu", "--record", str(tmp_path / "r.json")])


def test_a_run_is_judged_with_the_tokenizer_that_it_was_trained_with(run, tmp_path):
    path, record = tmp_path / "bpe.json", str(tmp_path / "r.json")
    ByteBPE.train(["To be, or not to be: " * 9], 270).save(path)
    with pytest.raises(HashMismatchError, match=r"--tokenizer is [0-9a-f]{64}, expected"):
        judge.main([str(run), "--tokenizer", str(path), "--record", record])


def test_bits_do_not_depend_on_the_tokenizer_if_the_trainer_measured_them(tmp_path, run):
    """A run on learned tokens: the judge's bits are those that the script reported."""
    bpe, out, record = tmp_path / "bpe.json", tmp_path / "two", str(tmp_path / "r.json")
    ByteBPE.train(["To be, or not to be: that is the question " * 9], 270).save(bpe)
    options = [*OPTIONS, "--steps", "3", "--tokenizer", str(bpe)]
    found = pretrain.main([*options, "--out", str(out)])
    judged = judge.main([str(out), "--tokenizer", str(bpe), "--record", record])
    line = judged["evaluations"][-1]
    assert line["bits_per_byte"] == pytest.approx(found["bits_per_byte"], rel=1e-5)
    bits = line["bits_per_byte"]
    assert line["training_bits_per_byte"] == pytest.approx(bits, rel=0.1)
    assert bits < found["held_out_loss"] / math.log(2)
    assert judged["held_out_bytes"] == 300


def test_a_table_says_what_was_found_and_where_it_is(run, tmp_path, caplog):
    place = tmp_path / "r.json"
    with caplog.at_level("INFO"):
        record = judge.main([str(run), "--device", "cpu", "--record", str(place)])
    table = caplog.messages[-1]
    for line in record["evaluations"]:
        assert f"step {line['step']}" in table
        assert f"{line['bits_per_byte']:.4g}"[:4] in table
    assert str(place) in table
