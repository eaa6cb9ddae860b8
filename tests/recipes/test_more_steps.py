"""Steps added to a run that has ended."""

import json
import math
import shutil

import pytest
import torch
from recipes.tiny_chats import make, tune

from mathlm.errors import CheckpointMismatchError, ConfigError
from mathlm.recipes import pretrain

TEXT = "".join(f"{i} and {i + 1} make {2 * i + 1}.\n" for i in range(200))
OPTIONS = (
    "--size nano --context 16 --batch-size 2 --warmup 2 --lr 1e-2 --log-every 1 --device cpu"
)


@pytest.fixture
def run(tmp_path):
    """Run the command on one folder; the learning rate of each step, and the losses."""
    torch.set_default_dtype(torch.float32)
    text, record = tmp_path / "text.txt", tmp_path / "record.json"
    text.write_text(TEXT)

    def call(options):
        place = f"--data {text} --record {record} --out {tmp_path / 'run'}"
        pretrain.main(f"{OPTIONS} {place} {options}".split())
        history = json.loads(record.read_text())["history"]
        return [r["lr"] for r in history], [r["loss"] for r in history]

    return call


def cosine(t, steps):
    """Two steps of warmup to 1e-2, then half a cosine to a tenth, by the definition."""
    if t < 2:
        return 1e-2 * (t + 1) / 3
    return 1e-3 + 9e-3 * (1 + math.cos(math.pi * (t - 2) / (steps - 2))) / 2


def test_more_steps_are_refused_and_what_may_be_asked_is_named(run):
    run("--steps 6")
    with pytest.raises(ConfigError) as error:
        run("--steps 12")
    said = str(error.value)
    jump = f"jumps from 1.0e-3 to {cosine(6, 12):.1e}".replace("e-0", "e-")
    assert "holds a run of 6 steps, and 12 are asked for" in said
    assert f"--more-steps stretch (the schedule of 12 steps: it {jump})" in said
    assert "constant (it stays at 1.0e-3), or rewarm (it rises to 1.0e-2 in 2 steps" in said


@pytest.mark.parametrize(
    ("asked", "rates", "sentence"),
    [
        ("stretch", [cosine(t, 12) for t in range(6, 12)], "is that of a run of 12 steps: it"),
        (
            "constant",
            [1e-3] * 6,
            "from step 6 on the learning rate stays at 1.0e-3, to step 12",
        ),
        ("rewarm", [cosine(t, 6) for t in range(6)], "rises to 1.0e-2 in 2 steps, and falls"),
    ],
)
def test_the_learning_rate_is_what_is_said(run, caplog, asked, rates, sentence):
    caplog.set_level("INFO")
    before = run("--steps 6")
    assert before[0] == pytest.approx([cosine(t, 6) for t in range(6)], rel=1e-12)
    assert "learning rate" not in caplog.text
    after = run(f"--steps 12 --more-steps {asked}")
    assert after[0][:6] == before[0]
    assert after[1][:6] == before[1]
    assert after[0][6:] == pytest.approx(rates, rel=1e-12)
    assert sentence in caplog.text


@pytest.mark.parametrize("asked", ["stretch", "constant", "rewarm"])
def test_more_steps_that_are_interrupted_go_on_as_if_they_were_not(run, tmp_path, asked):
    """From 6 steps straight on to 12, and on to 12 with all lost after the checkpoint of 8."""
    run("--steps 6")
    longer = f"--steps 12 --save-every 2 --more-steps {asked}"
    straight = run(longer)
    for name in ("step_000010", "step_000012"):
        shutil.rmtree(tmp_path / "run" / name)
    assert run(longer) == straight
    assert run(longer) == straight  # nothing is left to do


def test_steps_may_be_added_twice(run):
    run("--steps 4")
    run("--steps 6 --more-steps constant")
    rates = run("--steps 10 --more-steps rewarm")[0]
    expected = [cosine(t, 4) for t in range(4)] + [1e-3] * 2 + [cosine(t, 4) for t in range(4)]
    assert rates == pytest.approx(expected, rel=1e-12)


def test_other_options_still_have_to_agree(run):
    run("--steps 4")
    with pytest.raises(CheckpointMismatchError, match=r"weight_decay was 0\.1, is 0\.2"):
        run("--steps 6 --more-steps constant --weight-decay 0.2")


def test_there_has_to_be_a_run_and_there_have_to_be_more(run):
    with pytest.raises(ConfigError, match=r"there is no run in .* to add steps to"):
        run("--steps 4 --more-steps constant")
    run("--steps 4")
    with pytest.raises(ConfigError, match=r"is at step 4, and 4 are asked for\. Give a larger"):
        run("--steps 4 --more-steps constant")
    with pytest.raises(ConfigError, match=r"is at step 4, and 4 are asked for\. Give a larger"):
        run("--steps 4 --more-steps rewarm")
    with pytest.raises(ConfigError, match="rises for 2 steps, and 2 are left of 6"):
        run("--steps 6 --more-steps rewarm")


def test_fewer_steps_and_changes_that_are_allowed_are_as_before(run):
    run("--steps 6")
    with pytest.raises(CheckpointMismatchError, match=r"schedule\.steps was 6, is 5"):
        run("--steps 5")
    assert run("--steps 8 --allow-change")[0][6:] == pytest.approx(
        [cosine(t, 8) for t in (6, 7)], rel=1e-12
    )


def test_epochs_may_be_added_to_a_fine_tuning(tmp_path):
    torch.set_default_dtype(torch.float32)
    make(tmp_path)
    before = tune(tmp_path, "--epochs 2")[0]["history"]
    with pytest.raises(ConfigError, match="holds a run of 4 steps, and 8 are asked for"):
        tune(tmp_path, "--epochs 4")
    after = tune(tmp_path, "--epochs 4 --more-steps constant")[0]["history"]
    assert [r["lr"] for r in after[4:]] == pytest.approx([1e-3] * 4)
    assert [r["loss"] for r in after[:4]] == [r["loss"] for r in before]
