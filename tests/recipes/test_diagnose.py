"""A run is diagnosed from its folder and from its record."""

import json
import math

import pytest
import torch
from recipes.tiny_chats import make, tune

from mathlm.errors import ConfigError, DataNotFoundError, InputError
from mathlm.recipes import diagnose
from mathlm.recipes.command import parse

FLAT = {"kind": "pretrain", "vocab_size": 256}
FLAT["history"] = [{"step": t, "loss": math.log(256)} for t in range(1, 101)]


def test_a_run_of_a_command_is_read_from_its_folder_and_from_its_record(tmp_path, capsys):
    """A model with new weights is tuned: as good as a uniform guess, and so it is said."""
    torch.set_default_dtype(torch.float32)
    tune(make(tmp_path), "--lr 1e-3")
    said = []
    for name in ("out", "record.json"):
        with pytest.raises(SystemExit) as end:
            diagnose.main([str(tmp_path / name)])
        assert end.value.code == 1
        said.append(capsys.readouterr().out)
    assert said[0] == said[1]
    assert said[0].startswith("sft: ")
    assert "SEVERE: base knows nothing\nThe loss at step 1 is 5.5" in said[0]


def test_the_first_value_is_said_beside_the_theory(tmp_path, capsys):
    (tmp_path / "flat.json").write_text(json.dumps(FLAT))
    with pytest.raises(SystemExit):
        diagnose.main([str(tmp_path / "flat.json")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pretrain: 100 records in 100 steps"
    assert lines[1].endswith("5.545 at step 1; expected at the first step ln 256 = 5.545")
    assert lines[3] == "SEVERE: loss flat"


def test_json_holds_the_same(tmp_path, capsys):
    (tmp_path / "flat.json").write_text(json.dumps(FLAT))
    config = parse(diagnose.DiagnoseConfig, [str(tmp_path / "flat.json"), "--json"])
    (finding,) = diagnose.run(config)
    said = json.loads(capsys.readouterr().out)
    assert said["kind"] == "pretrain"
    assert said["expected"]["loss"] == {"value": math.log(256), "because": "ln 256"}
    assert [one["sentences"] for one in said["findings"]] == [finding.sentences]


def test_a_run_without_a_finding_ends_well(tmp_path, capsys):
    """What is no severe finding leaves the exit status 0."""
    healthy = {"kind": "sft", "history": [{"step": 1, "loss": 2.0}]}
    (tmp_path / "short.json").write_text(json.dumps(healthy))
    diagnose.main([str(tmp_path / "short.json")])
    said = capsys.readouterr().out
    assert said.startswith("sft: 1 record in 1 step\n")
    assert said.endswith("\nNothing that this test knows looks wrong.\n")


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(DataNotFoundError, match="holds no checkpoint of a run"):
        diagnose.main([str(tmp_path)])
    (tmp_path / "own.json").write_text('{"history": [{"step": 1, "loss": 2.0}]}')
    with pytest.raises(ConfigError, match="say --kind"):
        diagnose.main([str(tmp_path / "own.json")])
    (tmp_path / "empty.json").write_text('{"history": []}')
    with pytest.raises(InputError, match="the history is empty"):
        diagnose.main([str(tmp_path / "empty.json"), "--kind", "dpo"])
