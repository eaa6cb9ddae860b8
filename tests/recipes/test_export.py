"""A run of the pretraining script as a folder that others read."""

import json
import re
from dataclasses import replace

import pytest
import torch

from mathlm.chat.folder import load
from mathlm.errors import CheckpointError, CheckpointMismatchError, ConfigError
from mathlm.models import GPT, load_weights
from mathlm.recipes import export, pretrain
from mathlm.text import Bytes

SIZES = ["--size", "nano", "--batch-size", "2", "--context", "16", "--device", "cpu"]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of two steps."""
    folder = tmp_path_factory.mktemp("run")
    (folder / "text.txt").write_text("To be, or not to be: that is the question:\n" * 50)
    data = ["--data", str(folder / "text.txt"), "--steps", "2", "--warmup", "1"]
    pretrain.main([*SIZES, *data, "--out", str(folder / "run")])
    return folder / "run"


def test_the_folder_holds_the_weights_of_the_newest_checkpoint(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model")])
    model = GPT.from_pretrained(folder)
    saved = load_weights(run / "step_000002")
    assert torch.equal(model.token_embedding.weight, saved["token_embedding.weight"])
    assert model.config.activation == "swiglu"


@pytest.mark.parametrize("part", ["", "step_000002"])
def test_a_run_in_the_place_of_a_model_names_the_step_between(run, tmp_path, part):
    """As --model of sft, dpo, ppo, grpo, chat, generate; the command named is carried out."""
    with pytest.raises(CheckpointError, match="holds checkpoints of a run") as caught:
        load(run / part)
    said = re.search(r"'mathlm export (.*) FOLDER'", str(caught.value)).group(1)
    place = tmp_path / "model"
    assert said == str(run / part)
    assert isinstance(load(export.main([said, str(place)])).tokenizer, Bytes)


def test_half_precision_is_what_is_asked_for(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model"), "--dtype", "float16"])
    assert {t.dtype for t in load_weights(folder).values()} == {torch.float16}


def test_a_run_of_another_model_is_refused(run, tmp_path):
    state = json.loads((run / "step_000002" / "state.json").read_text())
    state["config"]["model"]["class"] = "RecurrentConfig"
    (tmp_path / "state.json").write_text(json.dumps(state))
    (tmp_path / "manifest.json").write_text("{}")
    with pytest.raises(
        CheckpointMismatchError, match=r"holds no GPT: a run of recipes\.pretrain"
    ):
        export.main([str(tmp_path), str(tmp_path / "model")])


def test_a_folder_without_a_checkpoint_is_refused(tmp_path):
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        export.main([str(tmp_path), str(tmp_path / "model")])


def test_a_name_that_ends_in_gguf_is_a_file_that_holds_the_same_model(run, tmp_path):
    folder = export.main([str(run), str(tmp_path / "model")])
    for source in (run, folder):
        path = export.main([str(source), str(tmp_path / f"{source.name}.gguf")])
        found, saved = GPT.from_pretrained(path), GPT.from_pretrained(folder)
        assert replace(found.config, norm_eps=saved.config.norm_eps) == saved.config
        for name, tensor in saved.state_dict().items():
            assert torch.equal(found.state_dict()[name], tensor.float())


def test_a_folder_takes_no_tokenizer(run, tmp_path):
    with pytest.raises(
        ConfigError, match=r"--tokenizer is for a GGUF file, and .* is a folder"
    ):
        export.main([str(run), str(tmp_path / "model"), "--tokenizer", "some.gguf"])


def test_the_format_may_be_named(run, tmp_path, capsys):
    """A file gets its ending, a folder need not be told from one; there is no third."""
    words = [str(run), str(tmp_path / "model.v1")]
    path = export.main([*words, "--format", "gguf"])
    assert path == tmp_path / "model.v1.gguf"
    assert path.read_bytes()[:4] == b"GGUF"
    folder = export.main([*words, "--format", "hf"])
    assert folder == tmp_path / "model.v1"
    assert (folder / "config.json").is_file()
    again = export.main([str(run), str(tmp_path / "named.gguf"), "--format", "gguf"])
    assert again == tmp_path / "named.gguf"
    with pytest.raises(SystemExit) as end:
        export.main([*words, "--format", "onnx"])
    assert end.value.code == 2
    assert "onnx" in capsys.readouterr().err


def test_a_format_that_is_unknown_or_contradicts_the_name_is_refused(run, tmp_path, unchecked):
    with pytest.raises(ConfigError, match=r"--format hf writes a folder, and .*x.gguf"):
        export.main([str(run), str(tmp_path / "x.gguf"), "--format", "hf"])
    with pytest.raises(ConfigError, match="format='onnx'"):
        export.ExportConfig(run=run, folder=tmp_path / "x", format="onnx")
    assert list(tmp_path.iterdir()) == []
