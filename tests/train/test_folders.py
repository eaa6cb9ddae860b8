"""One run in a folder at a time."""

import subprocess
import sys
from pathlib import Path

import pytest
from train.tiny_runs import tiny_trainer

from mathlm.errors import CheckpointError
from mathlm.train.folders import locked, remove_folder

ROOT = Path(__file__).parents[2]
HOLD = """
import pathlib, sys
from mathlm.train.folders import locked
with locked(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that has the lock of ``tmp_path``."""
    command = [sys.executable, "-c", HOLD, str(tmp_path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, cwd=ROOT, **pipes) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


@pytest.mark.slow
def test_a_second_run_in_a_folder_is_refused_until_the_first_has_ended(tmp_path, holder):
    text = rf"is in use by another process \(process {holder.pid} of .*choose another folder"
    with pytest.raises(CheckpointError, match=text):
        tiny_trainer(folder=tmp_path).fit()
    holder.kill()  # also a killed one leaves no lock
    holder.wait()
    tiny_trainer(folder=tmp_path).fit()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["step_000006"]


def test_a_lock_ends_with_its_block(tmp_path):
    with locked(tmp_path), pytest.raises(CheckpointError, match="in use"), locked(tmp_path):
        pass
    with locked(tmp_path):
        assert [p.name for p in tmp_path.iterdir()] == [".lock"]
    assert not list(tmp_path.iterdir())


def test_no_folder_needs_no_lock():
    with locked(None):
        pass


def test_a_folder_that_another_process_removed_is_no_error(tmp_path):
    remove_folder(tmp_path / "step_000001")
