"""The script that tunes on preferences, as a user runs it."""

import json
import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path
from typing import get_args, get_type_hints

import pytest
import torch
from recipes.tiny_chats import THINGS, save_base
from recipes.tiny_preferences import save_pairs
from recipes.two_ranks import run_in_two_ranks

from mathlm.chat import folder as chat_folder
from mathlm.errors import CheckpointMismatchError, ConfigError, DataError
from mathlm.recipes import dpo, tuning
from mathlm.recipes.command import parse
from mathlm.train import checkpoints

ROOT = Path(dpo.__file__).parents[2]
OPTIONS = "--device cpu --epochs 3 --batch-size 6 --lr 2e-2 --log-every 1 --eval-every 3"
WRITING = "--samples 2 --max-new-tokens 6"
LOSSES = {
    "dpo": "--loss dpo --beta 0.2",
    "ipo": "--loss ipo --per-token",
    "orpo": "--loss orpo --weight 0.5",
    "simpo": "--loss simpo --gamma 0.5",
    "kto": "--loss kto --undesirable-weight 1.5",
}


def save_unpaired(path):
    """Each answer of the pairs alone, with a judgement."""
    rows = [
        {"prompt": f"{a}?", "completion": f"{word} {a}", "label": word == "yes"}
        for a in THINGS
        for word in ("yes", "nay")
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


@pytest.fixture
def place(tmp_path):
    """A folder with a base and data; torch makes float32."""
    torch.set_default_dtype(torch.float32)
    save_base(tmp_path / "base")
    save_pairs(tmp_path / "my.jsonl", better="yes", worse="nay")
    save_unpaired(tmp_path / "judged.jsonl")
    return tmp_path


def tune(folder, options="", out="out"):
    """Run the script on the folder's base and data; its record."""
    record = folder / "record.json"
    data = folder / ("judged.jsonl" if "kto" in options else "my.jsonl")
    shared = f"{OPTIONS} {WRITING} --data {data} --model {folder / 'base'} --record {record}"
    found = dpo.main(f"{shared} --out {folder / out} {options}".split())
    return json.loads(record.read_text()), found


@pytest.mark.parametrize("loss", LOSSES)
def test_each_loss_teaches_which_answers_are_preferred(place, loss):
    found = tune(place, f"{LOSSES[loss]} --lora-rank 2")[1]
    before, after = found["before"], found["after"]
    assert before["margin"] == pytest.approx(0, abs=1e-4)
    assert after["margin"] > before["margin"] + 0.01
    if loss != "kto":
        assert (before["accuracy"], after["accuracy"]) == (0.5, 1.0)


def test_what_the_folder_holds_writes_as_the_trained_model_did(place, monkeypatch):
    models, write = [], tuning.write_result
    keep = models.append
    monkeypatch.setattr(
        tuning, "write_result", lambda c, p: keep(p.chat_model.model) or write(c, p)
    )
    tune(place, "--lora-rank 2")
    loaded = chat_folder.load(str(place / "out"), device="cpu").model
    ids = torch.tensor([list(b"rain a?")])
    with torch.no_grad():
        logits = [model.eval()(ids) for model in (loaded, models[0])]
    torch.testing.assert_close(*logits, rtol=1e-5, atol=1e-5)


def test_the_record_has_margins_and_what_was_written_before_and_after(place):
    """Displacement shows beside each held-out loss; the divergence begins at 0."""
    record = tune(place, "--method full")[0]
    judged = [row for row in record["history"] if "held_out_loss" in row]
    assert len(judged) > 1
    for row in judged:
        assert {"margin", "accuracy", "chosen_change", "rejected_change"} <= set(row)
    results = record["results"]
    assert (results["before"]["kl_k1"], results["before"]["kl_k3"]) == (0, 0)
    assert results["after"]["kl_k3"] > 0
    assert set(results["after"]["samples"][0]) == {"prompt", "answer"}
    assert results["after"]["length"] <= 6
    assert len(results["reference_sha256"]) == 64


@pytest.mark.parametrize("loss", ["", "--loss kto"])
def test_an_interrupted_run_is_resumed_by_the_same_command(place, monkeypatch, loss):
    options = f"{loss} --lora-rank 2 --save-every 2 --ema 0.9"
    straight, step = tune(place, options)[0], dpo.PreferenceTrainer.train_step

    def killed(self):
        if self.step == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(dpo.PreferenceTrainer, "train_step", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(place, options, "again")
    monkeypatch.undo()
    assert checkpoints(place / "again" / "checkpoints")[-1].name == "step_000002"
    assert tune(place, options, "again")[0]["history"] == straight["history"]
    files = [place / out / "adapter_model.safetensors" for out in ("out", "again")]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_run_is_not_resumed_with_another_loss_or_base(place):
    tune(place)
    for options, message in (
        ("--beta 0.3", r"objective.objective.beta was 0.1, is 0.3"),
        ("--loss ipo", r"objective.objective"),
    ):
        with pytest.raises(CheckpointMismatchError, match=message):
            tune(place, options)
    for path in (place / "base").iterdir():
        path.unlink()
    save_base(place / "base", seed=5)
    with pytest.raises(CheckpointMismatchError):
        tune(place)


def test_what_is_left_out_is_counted(place):
    rows = [
        {"prompt": "empty?", "chosen": "a", "rejected": " "},
        {"prompt": "same?", "chosen": "a", "rejected": "a"},
        {"prompt": "x" * 99, "chosen": "a", "rejected": "b"},
    ]
    with (place / "my.jsonl").open("a") as file:
        file.writelines(json.dumps(row) + "\n" for row in rows)
    assert tune(place)[1]["dropped"] == {
        "prompt fills the context": 1,
        "empty answer": 1,
        "longer than the context": 0,
        "equal answers": 1,
    }


def test_without_held_out_pairs_or_samples_nothing_is_judged(place):
    record, found = tune(place, "--held-out 0 --samples 0")
    assert found["before"] == found["after"] == {}
    assert "margin" not in record["history"][-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--gamma 1", "--gamma is no option of --loss dpo"),
        ("--loss orpo --beta 1", "--beta is no option of --loss orpo"),
        ("--lora-dropout 0.1", "compared with its reference without dropout"),
        ("--l2-sp 1", "take a larger --beta"),
        ("--samples -1", "--samples -1 must not be negative"),
        ("--width 3", "--width is no option of --method lora"),
    ],
)
def test_options_that_contradict_each_other_are_refused(options, message):
    with pytest.raises(ConfigError, match=message):
        parse(dpo.DPOConfig, ["--data", "my.jsonl", *options.split()])


def test_every_option_of_a_loss_is_one_of_the_script():
    names = {field.name for field in fields(dpo.Loss)}
    for own in dpo.OWN.values():
        assert set(own) <= names
    assert set(get_args(get_type_hints(dpo.Loss)["loss"])) == set(dpo.LOSSES)


def test_pairs_are_no_judged_answers_and_the_other_way(place):
    with pytest.raises(DataError, match=r"line 1 of .*my.jsonl has the keys"):
        dpo.main(f"--data {place / 'my.jsonl'} --loss kto --model {place / 'base'}".split())
    with pytest.raises(DataError, match="read_unpaired reads such lines"):
        dpo.main(f"--data {place / 'judged.jsonl'} --model {place / 'base'}".split())


def words(place, options):
    shared = f"{OPTIONS} {WRITING} --data {place / 'my.jsonl'} --model {place / 'base'}"
    return f"{shared} {options}".split()


def command(place, options):
    return subprocess.run(
        [sys.executable, "-m", "mathlm.recipes.dpo", *words(place, options)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


@pytest.mark.slow
def test_a_user_error_is_one_line(place):
    done = command(place, "--gamma 3")
    assert done.returncode == 1
    assert done.stderr.strip() == "error: --gamma is no option of --loss dpo"


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(place):
    options = "--dtype float64 --steps 3 --lora-rank 2"
    one = tune(place, options)[0]
    path = place / "two.json"
    shared = words(place, f"{options} --out {place / 'two'} --record {path}")
    run_in_two_ranks(place / "ranks", dpo, shared)
    two = json.loads(path.read_text())
    for ours, theirs in zip(one["history"], two["history"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    assert two["results"]["after"]["margin"] == pytest.approx(
        one["results"]["after"]["margin"], rel=1e-9
    )


def first_line(caplog):
    """The line of the first step: its loss, and what stands behind it."""
    (line,) = (m for m in caplog.messages if m.startswith("step 1 of "))
    return re.search(r"  loss (\S+)(.*?)  ", line).groups()


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ("", "ln 2 = 0.6931"),
        ("--label-smoothing 0.2", "ln 2 = 0.6931"),
        ("--loss robust --flip 0.2", "ln 2 = 0.6931"),
        ("--loss length-normalized", "ln 2 = 0.6931"),
        ("--loss hinge", "1"),
        ("--loss ipo --beta 0.5", "1/(4 beta^2) = 1"),
        ("--loss kto --desirable-weight 3 --undesirable-weight 3", "1.5"),
    ],
)
def test_the_first_loss_is_what_the_log_expects(place, caplog, options, expected):
    """At the reference all margins are 0: -ln 1/2, 1 - 0, (1/(2 beta))^2, weight times 1/2."""
    caplog.set_level("INFO")
    tune(place, f"{options} --epochs 1 --samples 0 --held-out 0")
    loss, behind = first_line(caplog)
    assert behind == f" (expected about {expected})"
    assert float(loss) == pytest.approx(float(expected.split(" = ")[-1]), abs=2e-3)


@pytest.mark.parametrize("options", ["--loss orpo", "--loss simpo", "--method prefix"])
def test_nothing_is_expected_where_no_theory_says_it(place, caplog, options):
    caplog.set_level("INFO")
    tune(place, f"{options} --epochs 1 --samples 0 --held-out 0")
    assert first_line(caplog)[1] == ""
