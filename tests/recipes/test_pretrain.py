"""The pretraining script, as a user runs it."""

import ast
import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from mathlm.errors import CheckpointMismatchError, ConfigError, DataError, DataNotFoundError
from mathlm.recipes import pretrain
from mathlm.train import checkpoints

ROOT = Path(pretrain.__file__).parents[2]
TEXT = "".join(f"{i} and {i + 1} make {2 * i + 1}.\n" for i in range(200))
OPTIONS = "--size nano --context 32 --batch-size 6 --warmup 2 --device cpu --eval-every 2"


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text(TEXT)
    return path


@pytest.fixture
def run(text, tmp_path):
    """Run the script in this process; returns its record."""
    torch.set_default_dtype(torch.float32)

    def call(options):
        record = tmp_path / "record.json"
        pretrain.main(f"{OPTIONS} --data {text} --record {record} {options}".split())
        return json.loads(record.read_text())

    return call


def command(text, options, *launcher):
    """Run the script in a process of its own."""
    arguments = f"-m mathlm.recipes.pretrain {OPTIONS} --data {text} {options}".split()
    return subprocess.run(
        [sys.executable, *launcher, *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_training_learns_and_the_record_says_so(run):
    record = run("--steps 30 --lr 1e-2")
    results, history = record["results"], record["history"]
    assert results["bits_per_byte"] < 0.8 * 8
    assert results["bits_per_byte"] == pytest.approx(results["held_out_loss"] / math.log(2))
    assert history[-1]["held_out_loss"] < history[0]["held_out_loss"]
    assert record["versions"]["torch"] == torch.__version__
    assert record["options"]["steps"] == 30
    assert "CPU" in record["device"]


def test_an_untrained_model_needs_about_eight_bits_per_byte(run):
    results = run("--steps 1 --warmup 0 --lr 1e-9")["results"]
    assert results["bits_per_byte"] == pytest.approx(8, abs=0.1)


def test_an_interrupted_run_is_resumed_by_the_same_command(run, tmp_path, monkeypatch):
    straight = run("--steps 6 --dropout 0.1")
    step, options = pretrain.Trainer.train_step, "--steps 6 --dropout 0.1 --save-every 2"

    def killed(self):
        if self.step == 4:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(pretrain.Trainer, "train_step", killed)
    with pytest.raises(KeyboardInterrupt):
        run(f"{options} --out {tmp_path / 'run'}")
    monkeypatch.undo()
    assert checkpoints(tmp_path / "run")[-1].name == "step_000004"
    resumed = run(f"{options} --out {tmp_path / 'run'}")
    assert resumed["history"] == straight["history"]


def test_other_options_are_refused_unless_allowed(run, tmp_path):
    out = f"--out {tmp_path / 'run'}"
    run(f"--steps 2 --warmup 1 {out}")
    with pytest.raises(
        CheckpointMismatchError, match=r"resume config differs: schedule.peak was"
    ):
        run(f"--steps 4 --warmup 1 --lr 1e-4 {out}")
    with pytest.raises(CheckpointMismatchError, match=r"model.d_model was 32, is 64"):
        run(f"--steps 2 --warmup 1 --size tiny {out}")
    assert (
        run(f"--steps 4 --warmup 1 --lr 1e-4 {out} --allow-change")["history"][-1]["step"] == 4
    )


def test_a_text_that_changed_is_refused(run, text, tmp_path):
    out = f"--steps 3 --out {tmp_path / 'run'}"
    run(out)
    text.write_text(TEXT.replace("make", "are "))
    with pytest.raises(CheckpointMismatchError, match=r"data_sha256 \(shard 0 changed"):
        run(out)


def test_data_that_cannot_be_trained_on_is_refused(run, text):
    text.write_text("")
    with pytest.raises(DataError, match="the corpus is empty"):
        run("--steps 3")
    text.write_text("x" * 90)
    with pytest.raises(DataError, match="corpus has 81 tokens; context 128 needs at least 129"):
        run("--steps 3 --context 128")
    text.unlink()
    with pytest.raises(DataNotFoundError, match=r"text.txt is not a file"):
        run("--steps 3")


def test_a_warmup_longer_than_the_run_is_refused(run):
    with pytest.raises(ConfigError, match="need 0 <= warmup < steps, got warmup=9, steps=3"):
        run("--steps 3 --warmup 9")


@pytest.mark.slow
def test_help_names_every_option():
    done = command("x", "--help")
    assert done.returncode == 0
    for option in ("--data", "--resume", "--out", "--record", "--allow-change"):
        assert (option in done.stdout) == (option != "--resume")


@pytest.mark.slow
def test_a_user_error_is_one_line(text):
    done = command(text, "--steps 3 --warmup 9")
    assert done.returncode == 1
    assert done.stderr.strip() == "error: need 0 <= warmup < steps, got warmup=9, steps=3"


@pytest.mark.slow
@pytest.mark.parametrize("micro_batches", [1, 2])
def test_two_processes_give_the_losses_of_one(run, text, tmp_path, micro_batches):
    options = f"--steps 5 --dtype float64 --log-every 1 --micro-batches {micro_batches}"
    one, path = run(options), tmp_path / "two.json"
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    done = command(text, f"{options} --record {path}", *launcher)
    assert done.returncode == 0, done.stderr
    two = json.loads(path.read_text())
    assert two["config"]["ranks"] == 2
    for own, other in zip(one["history"], two["history"], strict=True):
        assert other == pytest.approx(own, rel=1e-12)


def test_the_script_is_short_enough_to_read():
    lines = Path(pretrain.__file__).read_text().splitlines()
    assert len(lines) <= 120
    functions = [
        n for n in ast.walk(ast.parse("\n".join(lines))) if isinstance(n, ast.FunctionDef)
    ]
    assert all(node.end_lineno - node.lineno < 40 for node in functions)
