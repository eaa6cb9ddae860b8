"""What is written stands there whole or not at all, and a full disk is said in a sentence."""

import errno
from pathlib import Path

import pytest
from torch import nn

from mathlm.adapt import add_lora, save_adapter
from mathlm.align import RewardModel
from mathlm.errors import CheckpointError
from mathlm.models import GPT, GPTConfig, save_pretrained
from mathlm.models.files.atomic import write_files
from mathlm.train import write_record


def gpt():
    return GPT(GPTConfig(vocab_size=11, context=8, d_model=8, n_layers=1, n_heads=2))


def tuned():
    model = add_lora(gpt(), 2)
    for p in model.parameters():
        nn.init.normal_(p)
    return model


WRITERS = {
    "model": lambda folder: save_pretrained(gpt(), folder),
    "adapter": lambda folder: save_adapter(tuned(), folder),
    "record": lambda folder: write_record(folder / "record.json", loss=1.0),
    "head": lambda folder: RewardModel(gpt()).save_head(folder),
}


def full(after):
    """A write that fills the disk after so many files, the last of them cut short."""
    left, write = [after], Path.write_bytes

    def write_bytes(self, content):
        if left[0]:
            left[0] -= 1
            return write(self, content)
        write(self, content[:1])
        raise OSError(errno.ENOSPC, "No space left on device")

    return write_bytes


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_leaves_nothing_and_the_call_may_be_tried_again(
    tmp_path, monkeypatch, kind, after
):
    if after and kind in ("record", "head"):
        return  # one file
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full(after))
        with pytest.raises(CheckpointError, match=r"no space left \(needed .* MB, free .* MB"):
            WRITERS[kind](tmp_path)
    assert not list(tmp_path.iterdir())
    WRITERS[kind](tmp_path)
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize("kind", WRITERS)
def test_a_place_that_cannot_be_a_folder_is_told(tmp_path, kind):
    (tmp_path / "file").write_text("")
    with pytest.raises(CheckpointError, match=r"cannot write the .* to .*file"):
        WRITERS[kind](tmp_path / "file" / "out")


def test_a_file_that_is_there_stays_if_the_new_one_cannot_be_written(tmp_path, monkeypatch):
    write_files(tmp_path, {"a": b"old"}, "it")
    monkeypatch.setattr(Path, "write_bytes", full(0))
    with pytest.raises(CheckpointError):
        write_files(tmp_path, {"a": b"new"}, "it")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]
