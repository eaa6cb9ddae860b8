"""Runs that are killed without warning."""

import json
import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from train.test_checkpoint import saved
from train.tiny_runs import tiny_trainer

from mathlm.train import newest_checkpoint
from mathlm.train.folders import beside, is_alive, remove_unfinished

TESTS = Path(__file__).parents[1]


def run(name, folder):
    """What ``killed_runs`` prints for ``name``."""
    shared = {"PYTHONPATH": f"{TESTS}:{TESTS.parent}", "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, "-m", "faults.killed_runs", name, str(folder)],
        env=os.environ | shared,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.slow
def test_the_newest_checkpoint_loads_after_each_of_fifty_kills(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    found = run("save", folder)
    assert sum(found["removed"]) >= 5  # many a kill came in the middle of a save
    assert found["steps"] == sorted(found["steps"])
    assert found["steps"][-1] > 20


@pytest.mark.slow
def test_a_run_killed_again_and_again_ends_where_the_unbroken_run_ends(tmp_path):
    found = run("train", tmp_path / "run")
    assert len({step for step in found["steps"] if step}) >= 2  # it went on more than once
    assert found["resumed"] == found["straight"]


def dead_process():
    """Number of a process that has ended."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def leave_unfinished(folder, pid, kind="tmp"):
    """What a process leaves that is killed while it saves."""
    path = beside(folder / "step_000009", kind)
    path = path.with_name(path.name.replace(f".{os.getpid()}.", f".{pid}."))
    shutil.copytree(newest_checkpoint(folder), path)
    return path


def test_nothing_is_said_of_what_was_not_removed(tmp_path, caplog):
    trainer = tiny_trainer(folder=tmp_path, steps=2)
    with caplog.at_level(logging.INFO):
        trainer.resume()
    said = f"no checkpoint in {tmp_path}, the run starts at step 0"
    assert [m for m in caplog.messages if "no checkpoint" in m] == [said]


def test_a_resume_says_where_it_goes_on_and_what_it_removed(tmp_path, caplog):
    path = saved(tmp_path)
    left = leave_unfinished(tmp_path, dead_process())
    with caplog.at_level(logging.INFO, logger="mathlm"):
        tiny_trainer(folder=tmp_path).resume()
    assert f"resumed from step 2 (checkpoint {path}); removed 1 unfinished checkpoint" in (
        caplog.text
    )
    assert not left.exists()


@pytest.mark.parametrize("kind", ["tmp", "old"])
def test_what_a_dead_process_left_is_removed(tmp_path, kind):
    path = saved(tmp_path)
    leave_unfinished(tmp_path, dead_process(), kind)
    assert remove_unfinished(tmp_path) == 1
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_living_process_is_writing_stays(tmp_path):
    saved(tmp_path)
    left = leave_unfinished(tmp_path, os.getppid())
    assert remove_unfinished(tmp_path) == 0
    assert left.exists()


def test_what_another_machine_is_writing_stays(tmp_path, monkeypatch):
    saved(tmp_path)
    monkeypatch.setattr("socket.gethostname", lambda: "elsewhere")
    left = leave_unfinished(tmp_path, dead_process())
    monkeypatch.undo()
    assert remove_unfinished(tmp_path) == 0
    assert left.exists()


def test_a_process_is_alive_until_it_ends():
    assert is_alive(str(os.getpid()))
    assert is_alive("1")
    assert not is_alive(str(dead_process()))
