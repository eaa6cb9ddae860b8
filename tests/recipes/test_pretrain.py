"""The pretraining script, as a user runs it."""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch

from mathlm.errors import (
    CheckpointMismatchError,
    ConfigError,
    DataError,
    DataNotFoundError,
    HashMismatchError,
)
from mathlm.recipes import pretrain
from mathlm.text import ByteBPE, Bytes, encode_corpus, write_tokens
from mathlm.text.corpora.token_file import END
from mathlm.train import checkpoints
from mathlm.train.distributed import say_no_cuda

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


def test_the_first_loss_is_near_what_the_log_expects(run, caplog):
    """New weights guess among 256 bytes; the machine is told once, though it is asked twice."""
    say_no_cuda.cache_clear()
    caplog.set_level("INFO")
    run("--steps 4 --log-every 3 --device auto")
    (line,) = (m for m in caplog.messages if m.startswith("step 1 of 4"))
    loss = re.search(r"loss (\S+) \(expected about ln 256 = 5.545\)", line).group(1)
    assert float(loss) == pytest.approx(math.log(256), abs=0.1)
    assert caplog.text.count("torch sees no CUDA") == (not torch.cuda.is_available())


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


def test_a_run_that_has_done_more_steps_than_it_is_given_is_judged_as_it_is(run, tmp_path):
    """Interrupted after step 2, which no record tells of, and resumed with one step."""
    out = f"--log-every 9 --save-every 2 --ema 0.5 --out {tmp_path / 'run'}"
    told = run("--steps 3 --ema 0.5 --eval-every 2 --log-every 9")["history"][0]
    run(f"--steps 3 --eval-every 9 {out}")
    shutil.rmtree(tmp_path / "run" / "step_000003")
    found = run(f"--steps 1 --warmup 0 --eval-every 9 {out} --allow-change")["results"]
    assert told["step"] == 2
    assert found["held_out_loss"] == told["held_out_loss"]
    assert found["held_out_loss_ema"] == told["held_out_loss_ema"]


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
    with pytest.raises(DataNotFoundError, match=r"there is no file or folder .*text.txt"):
        run("--steps 3")
    with pytest.raises(ConfigError, match="--held-out 1 must be 2 tokens or more"):
        run("--steps 3 --held-out 1")


def test_a_folder_is_read_document_by_document_and_split_between_two(tmp_path):
    """Ten documents of 100 bytes: the last is held out, whole, though file sizes vary a bit."""
    folder = tmp_path / "texts"
    folder.mkdir()
    for i in range(10):
        (folder / f"{i}.txt").write_text(str(i) * (100 + i))
    ids, starts = encode_corpus(folder, Bytes())
    training, held_out = pretrain.split(ids, starts)
    assert bytes(held_out.tolist()) == b"9" * 109
    assert len(training) + len(held_out) == len(ids) == 1045
    assert isinstance(training.base, np.memmap)


def test_one_document_is_cut_at_nine_tenths():
    training, held_out = pretrain.split(np.arange(105), np.array([0]))
    assert (len(training), held_out[0]) == (95, 95)


@pytest.fixture(scope="module")
def bpe(tmp_path_factory):
    """A saved tokenizer with a token for the end of a document."""
    path = tmp_path_factory.mktemp("bpe") / "bpe.json"
    ByteBPE.train([TEXT], 300, special=[END]).save(path)
    return path


def test_a_learned_tokenizer_is_judged_in_bits_per_byte_of_the_same_text(run, bpe):
    """An untrained model gives each of V tokens 1/V: log₂ V bits over the bytes of one."""
    tokenizer = ByteBPE.load(bpe)
    record = run(f"--steps 1 --warmup 0 --lr 1e-9 --tokenizer {bpe} --held-out 200")
    ids = [*tokenizer.encode(TEXT), tokenizer.special[END]]
    held_out = ids[len(ids) - len(ids) // 10 :][:200]
    size = len(tokenizer.decode_bytes([i for i in held_out[1:] if i < 299])) / (
        len(held_out) - 1
    )
    assert record["config"]["model"]["vocab_size"] == tokenizer.vocab_size == 300
    expected = math.log2(300) / size
    assert record["results"]["bits_per_byte"] == pytest.approx(expected, rel=0.02)


def test_a_run_is_not_resumed_with_another_tokenizer(run, text, bpe, tmp_path):
    out = f"--steps 2 --warmup 1 --context 16 --out {tmp_path / 'run'}"
    run(f"{out} --tokenizer {bpe}")
    other = tmp_path / "other.json"
    learned = ByteBPE.load(bpe)
    ByteBPE.from_merges(learned.merges[:-1], [END, "<|x|>"]).save(other)
    with pytest.raises(
        CheckpointMismatchError, match=r"data.tokenizer_sha256 was [0-9a-f]+, is"
    ):
        run(f"{out} --tokenizer {other}")
    with pytest.raises(DataNotFoundError, match="--tokenizer nowhere is neither 'bytes'"):
        run(f"{out} --tokenizer nowhere")


def test_tokens_written_before_are_read_from_where_they_are(run, text, bpe, tmp_path):
    path, tokenizer = tmp_path / "corpus.tokens", ByteBPE.load(bpe)
    write_tokens(text, path, tokenizer, end_id=tokenizer.special[END])
    options = f"--steps 3 --tokenizer {bpe}"
    assert run(f"{options} --data {path}")["history"] == run(options)["history"]
    with pytest.raises(HashMismatchError, match="tokenizer differs from the one"):
        run(f"--steps 3 --data {path}")


def test_the_mean_of_the_weights_is_judged_beside_them(run):
    results = run("--steps 6 --lr 1e-2 --ema 0.9")["results"]
    for name in ("", "_ema"):
        bits = results[f"held_out_loss{name}"] / math.log(2)
        assert results[f"bits_per_byte{name}"] == pytest.approx(bits)
    assert results["bits_per_byte_ema"] > results["bits_per_byte"]


def test_options_of_the_machine_reach_the_run(run, monkeypatch):
    recomputed = []
    monkeypatch.setattr(pretrain, "checkpoint_activations", recomputed.append)
    half, full = (
        run("--steps 3 --precision bfloat16 --activation-checkpointing"),
        run("--steps 3"),
    )
    assert half["config"]["precision"] == "bfloat16"
    assert [type(model).__name__ for model in recomputed] == ["GPT"]
    losses = [[point["loss"] for point in r["history"]] for r in (half, full)]
    assert losses[0] == pytest.approx(losses[1], rel=2e-2)
    assert losses[0] != losses[1]


def test_a_warmup_longer_than_the_run_is_refused(run):
    with pytest.raises(ConfigError, match="need 0 <= warmup < steps, got warmup=9, steps=3"):
        run("--steps 3 --warmup 9")


def test_the_warmup_that_is_not_given_is_20_steps_or_half_of_a_short_run(text, tmp_path):
    for steps, expected in [(5000, 20), (120, 20), (40, 20), (39, 19), (10, 5), (1, 0)]:
        config = pretrain.PretrainConfig(optimization=pretrain.Optimization(steps=steps))
        assert pretrain.trainer_config(config).schedule.warmup == expected
    options, record = "--size nano --context 32 --device cpu --steps 10", tmp_path / "r.json"
    pretrain.main(f"{options} --data {text} --record {record}".split())
    found = json.loads(record.read_text())
    assert found["options"]["warmup"] == found["config"]["schedule"]["warmup"] == 5
    assert found["history"][-1]["step"] == 10


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
def test_two_processes_give_the_losses_of_one_which_resumes_their_run(run, text, tmp_path):
    """Sharded by FSDP, saved after each step; one process repeats the last step alone."""
    options = "--steps 5 --dtype float64 --log-every 1 --micro-batches 2 --save-every 1"
    path, out = tmp_path / "two.json", tmp_path / "run"
    one = run(options)
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    shared = f"{options} --out {out}"
    done = command(text, f"{shared} --parallel fsdp --record {path}", *launcher)
    assert done.returncode == 0, done.stderr
    two = json.loads(path.read_text())
    shutil.rmtree(checkpoints(out)[-1])
    for found in (two, run(shared)):
        for own, other in zip(one["history"], found["history"], strict=True):
            assert other == pytest.approx(own, rel=1e-10)


def test_python_calls_the_same_run(text):
    torch.set_default_dtype(torch.float32)
    config = pretrain.PretrainConfig(
        text=pretrain.Text(data=text),
        model=pretrain.Model(size="nano", context=32),
        optimization=pretrain.Optimization(steps=2, batch_size=6, warmup=1),
        machine=pretrain.Machine(device="cpu"),
    )
    words = "--size nano --context 32 --steps 2 --batch-size 6 --warmup 1 --device cpu"
    found, typed = pretrain.run(config), pretrain.main([*words.split(), "--data", str(text)])
    assert found["held_out_loss"] == typed["held_out_loss"]


def test_a_log_of_numbers_lies_beside_the_checkpoints_and_goes_on(run, tmp_path, monkeypatch):
    """Killed in step 5 with a checkpoint of step 4; no step stands there twice."""
    step, out = pretrain.Trainer.train_step, tmp_path / "run"
    options = f"--steps 6 --log-every 1 --save-every 4 --log csv jsonl --out {out}"

    def killed(self):
        if self.step == 5:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(pretrain.Trainer, "train_step", killed)
    with pytest.raises(KeyboardInterrupt):
        run(options)
    monkeypatch.undo()
    history = run(options)["history"]
    objects = [json.loads(line) for line in (out / "log.jsonl").read_text().splitlines()]
    table = list(csv.DictReader((out / "log.csv").read_text().splitlines()))
    assert [one["step"] for one in objects] == [int(row["step"]) for row in table]
    assert [
        {k: one[k] for k in row} for one, row in zip(objects, history, strict=True)
    ] == history
    assert [float(row["loss"]) for row in table] == [one["loss"] for one in history]
    assert all(float(row["tokens_per_second"]) > 0 for row in table)


def test_a_log_without_its_package_or_a_folder_is_refused_before_training(run, monkeypatch):
    monkeypatch.setattr("mathlm.train.loggers.find_spec", lambda name: None)
    monkeypatch.setattr(pretrain, "windows", lambda config: pytest.fail("the text was read"))
    with pytest.raises(ConfigError, match="pip install wandb"):
        run("--steps 3 --out x --log csv wandb")
    with pytest.raises(ConfigError, match="give --out"):
        run("--steps 3 --log csv")
