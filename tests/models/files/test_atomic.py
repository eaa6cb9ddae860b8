"""What is written stands there whole or not at all, and a full disk is said in a sentence."""

import errno
import os
import resource
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from mathlm.adapt import add_lora, save_adapter
from mathlm.align import RewardModel
from mathlm.errors import CheckpointError
from mathlm.models import GPT, GPTConfig, save_pretrained
from mathlm.models.files import atomic
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


def fill_the_disk(patch, after):
    """Fills the disk after so many files, the next of them cut short."""
    left = [after]

    def cut_short(write):
        def call(path, content):
            if left[0]:
                left[0] -= 1
                return write(path, content)
            path.touch()
            raise OSError(errno.ENOSPC, "No space left on device")

        return call

    patch.setattr(Path, "write_bytes", cut_short(Path.write_bytes))
    patch.setattr(atomic, "write_tensors", cut_short(atomic.write_tensors))


@pytest.mark.parametrize("after", [0, 1])
@pytest.mark.parametrize("kind", WRITERS)
def test_a_full_disk_leaves_nothing_and_the_call_may_be_tried_again(
    tmp_path, monkeypatch, kind, after
):
    if after and kind in ("record", "head"):
        return  # one file
    with monkeypatch.context() as patch:
        fill_the_disk(patch, after)
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
    fill_the_disk(monkeypatch, 0)
    with pytest.raises(CheckpointError):
        write_files(tmp_path, {"a": b"new"}, "it")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a"]


def test_what_safetensors_says_of_a_full_disk_is_told_in_the_same_sentence(tmp_path):
    """A file may have 100 bytes here; the error is the library's own."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(CheckpointError, match=r"no space left \(needed .* MB, free .* MB"):
            save_pretrained(gpt(), tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert not list(tmp_path.iterdir())


def test_the_weights_may_be_read_by_whom_the_umask_lets(tmp_path):
    old = os.umask(0o027)
    try:
        save_pretrained(gpt(), tmp_path)
    finally:
        os.umask(old)
    assert {oct(path.stat().st_mode & 0o777) for path in tmp_path.iterdir()} == {"0o640"}


def test_tensors_are_written_as_safetensors_has_them(tmp_path):
    tensors = {"b": torch.arange(6.0).view(2, 3).T, "a": torch.ones(2, dtype=torch.bfloat16)}
    write_files(tmp_path, {"x": tensors}, "it")
    found = load_file(tmp_path / "x")
    assert {n: t.dtype for n, t in found.items()} == {n: t.dtype for n, t in tensors.items()}
    assert all(torch.equal(found[name], tensor) for name, tensor in tensors.items())
