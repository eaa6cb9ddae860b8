"""A run drawn from its folder or its record."""

import json

import pytest
import torch
from recipes.tiny_chats import make, tune

from mathlm.errors import ConfigError, DataNotFoundError
from mathlm.recipes import plot

PNG = b"\x89PNG\r\n\x1a\n"


def test_a_run_is_drawn_from_its_folder_and_from_its_record(tmp_path):
    torch.set_default_dtype(torch.float32)
    tune(make(tmp_path))
    for words, file in (
        (["out"], "out/plot.png"),
        (["record.json", "--out", str(tmp_path / "curves.png")], "curves.png"),
    ):
        assert plot.main([str(tmp_path / words[0]), *words[1:]]) == tmp_path / file
        assert (tmp_path / file).read_bytes().startswith(PNG)
    history = json.loads((tmp_path / "record.json").read_text())["history"]
    assert plot.history_of(tmp_path / "out") == history


def test_what_is_no_run_is_told(tmp_path):
    with pytest.raises(DataNotFoundError, match="holds no checkpoint of a run"):
        plot.main([str(tmp_path)])
    (tmp_path / "other.json").write_text("{}")
    with pytest.raises(ConfigError, match="holds no history"):
        plot.main([str(tmp_path / "other.json")])
    (tmp_path / "record.json").write_text('{"history": [{"step": 1, "loss": 2.0}]}')
    with pytest.raises(ConfigError, match="cannot be written"):
        plot.main([str(tmp_path / "record.json"), "--out", str(tmp_path / "no" / "x.png")])
