"""The tuning script, as a user runs it."""

import json
import math
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from recipes.tiny_chats import OPTIONS, PAIRS, make, save_base, save_data, tune
from recipes.two_ranks import run_in_two_ranks

from mathlm.chat import folder
from mathlm.errors import CheckpointMismatchError, ConfigError, DataError, NonFiniteLossError
from mathlm.models import GPT
from mathlm.recipes import sft, tuning
from mathlm.train import checkpoints

ROOT = Path(sft.__file__).parents[2]
METHODS = {
    "full": "--method full",
    "freeze": "--method freeze --train blocks.1 final_norm",
    "lora": "--lora-rank 2 --lora-dropout 0.1",
    "adapters": "--method adapters --width 3",
    "prefix": "--method prefix --length 3",
    "prompt": "--method prompt --length 3",
}


@pytest.fixture
def place(tmp_path):
    """A folder with a base and data; torch makes float32."""
    torch.set_default_dtype(torch.float32)
    return make(tmp_path)


def logits(model, text=b"What is rain?"):
    with torch.no_grad():
        return model.eval()(torch.tensor([list(text)]))


@pytest.mark.parametrize("method", METHODS)
def test_each_method_learns_and_its_folder_answers_alike(place, method, monkeypatch):
    """What chat loads computes what the trained model did, and not what the base does."""
    models, write = [], tuning.write_result
    keep = models.append
    monkeypatch.setattr(
        tuning, "write_result", lambda c, p: keep(p.chat_model.model) or write(c, p)
    )
    results = tune(place, METHODS[method])[1]
    assert results["held_out_loss"] < results["held_out_loss_before"]
    loaded = folder.load(str(place / "out"), device="cpu")
    torch.testing.assert_close(logits(loaded.model), logits(models[0]), rtol=1e-5, atol=1e-5)
    base = GPT.from_pretrained(place / "base")
    assert (logits(loaded.model) - logits(base)).abs().max() > 1e-4


@pytest.mark.parametrize("held_out", ["", "--held-out 0"])
@pytest.mark.parametrize("lr", [1e9, 1e22])
def test_a_run_that_has_diverged_is_an_error_and_writes_nothing(place, lr, held_out):
    """Weights of 1e9 overflow the norm: all logits are 0, and the loss is ln 256, finite."""
    with pytest.raises(NonFiniteLossError, match="diverged"):
        tune(place, f"--epochs 1 --batch-size 99 --lr {lr:g} {held_out}")
    assert not (place / "out" / folder.FILE).exists()


def test_what_counts_as_diverged():
    guess = math.log(256)
    for before, after in ((3.0, guess), (3.0, 6.0), (5.6, math.inf), (3.0, math.nan)):
        with pytest.raises(
            NonFiniteLossError, match="a uniform guess among 256 tokens costs 5"
        ):
            tuning.require_convergence(before, after, 256)
    for before, after in ((3.0, 5.0), (5.56, 5.57), (9.0, 6.0)):
        tuning.require_convergence(before, after, 256)


def test_an_interrupted_run_is_resumed_by_the_same_command(place, monkeypatch):
    """With dropout in the updates; the step that was not saved is done again."""
    options = "--lora-dropout 0.3 --save-every 2 --ema 0.9"
    straight, step = tune(place, options)[0], sft.Trainer.train_step

    def killed(self):
        if self.step == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(sft.Trainer, "train_step", killed)
    with pytest.raises(KeyboardInterrupt):
        tune(place, options, "again")
    monkeypatch.undo()
    assert checkpoints(place / "again" / "checkpoints")[-1].name == "step_000002"
    assert tune(place, options, "again")[0]["history"] == straight["history"]


def test_the_result_is_the_same_bit_for_bit_after_a_resume(place):
    tune(place)
    first = (place / "out" / "adapter_model.safetensors").read_bytes()
    tune(place)
    assert (place / "out" / "adapter_model.safetensors").read_bytes() == first


def test_a_run_is_not_resumed_with_other_options(place):
    tune(place)
    for options, message in (
        ("--lora-alpha 32", r"objective.method.lora_alpha was None, is 32"),
        ("--l2-sp 0.1", r"objective.objective"),
        ("--seed 3", r"data_sha256"),
    ):
        with pytest.raises(CheckpointMismatchError, match=message):
            tune(place, options)


def test_a_run_is_not_resumed_on_another_base(place):
    tune(place)
    for path in (place / "base").iterdir():
        path.unlink()
    save_base(place / "base", seed=5)
    with pytest.raises(CheckpointMismatchError, match="are not those that were frozen then"):
        tune(place)


def test_patience_keeps_the_best_weights(place):
    """A large step overshoots soon."""
    record, found = tune(place, "--method full --lr 0.3 --warmup 0 --epochs 60 --patience 2")
    losses = [r["held_out_loss"] for r in record["history"] if "held_out_loss" in r]
    assert found["step"] < 120
    assert found["held_out_loss"] == min(losses) < losses[-1]


def test_the_pull_towards_the_start_keeps_the_weights_nearer(place):
    base, far = GPT.from_pretrained(place / "base").state_dict(), []
    for weight in ("0", "10"):
        tune(place, f"--method full --l2-sp {weight}", weight)
        tuned = GPT.from_pretrained(place / weight).state_dict()
        far.append(sum((tuned[n] - base[n]).square().sum().item() for n in base))
    assert far[1] < far[0] / 4


def test_old_text_is_among_the_rows(place):
    (place / "old.txt").write_text("To be, or not to be, that is the question. " * 20)
    record = tune(place, f"--replay {place / 'old.txt'} --replay-share 0.5")[0]
    assert record["config"]["data"]["replay_share"] == 0.5
    assert len(record["config"]["data_sha256"]) == 2


def test_a_merged_result_is_a_model_of_its_own(place):
    tune(place, "--merge --lora-rank 2")
    said = folder.read(place / "out")
    assert said["kind"] == "model"
    assert (
        GPT.from_pretrained(place / "out").config == GPT.from_pretrained(place / "base").config
    )


def test_codes_of_8_bits_carry_an_adapter(place):
    results = tune(place, "--quantize 8 --special-tokens keep --lora-rank 2")[1]
    assert results["held_out_loss"] < results["held_out_loss_before"]
    loaded = folder.load(str(place / "out"), device="cpu").model
    assert "Quantized" in type(loaded.token_embedding).__name__


def test_what_is_left_out_is_counted(place):
    save_data(place / "my.jsonl", [*PAIRS, ("empty?", " "), ("long?", "x" * 99)])
    found = tune(place)[1]
    assert found["dropped"] == {"empty answer": 1, "longer than the context": 1}


def test_without_held_out_conversations_nothing_is_judged(place):
    record, found = tune(place, "--held-out 0")
    assert "held_out_loss" not in found
    assert "held_out_loss" not in record["history"][-1]


def test_a_base_in_the_way_is_left_alone(place):
    before = (place / "base" / "model.safetensors").read_bytes()
    with pytest.raises(ConfigError, match="is the model itself"):
        tune(place, "--method full", "base")
    save_base(place / "other", seed=4)
    with pytest.raises(ConfigError, match="holds another model"):
        tune(place, "--method full", "other")
    assert (place / "base" / "model.safetensors").read_bytes() == before


def follow(place, options="", base="out", out="second"):
    """A second run, which begins with the folder of the first."""
    shared = f"{OPTIONS} --data {place / 'my.jsonl'} --model {place / base}"
    return sft.main(f"{shared} --out {place / out} {options}".split())


@pytest.mark.parametrize("options", ["--lora-rank 2", "--method full", "--lora-rank 2 --merge"])
def test_a_run_may_begin_with_the_adapter_of_another(place, options, monkeypatch):
    """It begins where that ended, and its folder holds what it computes."""
    first, models = tune(place, "--lora-rank 2")[1], []
    write = tuning.write_result
    monkeypatch.setattr(
        tuning, "write_result", lambda c, p: models.append(p.chat_model.model) or write(c, p)
    )
    found = follow(place, options)
    assert found["held_out_loss_before"] == pytest.approx(first["held_out_loss"], rel=1e-4)
    assert found["held_out_loss"] < found["held_out_loss_before"]
    loaded = folder.load(str(place / "second"), device="cpu").model
    torch.testing.assert_close(logits(loaded), logits(models[0]), rtol=1e-4, atol=1e-4)


def test_three_runs_may_follow_each_other(place):
    tune(place, "--lora-rank 2")
    second = follow(place, "--lora-rank 2")
    third = follow(place, "--lora-rank 2", "second", "third")
    assert third["held_out_loss_before"] == pytest.approx(second["held_out_loss"], rel=1e-4)
    folder.load(str(place / "third"), device="cpu")


def test_an_adapter_that_was_tuned_again_meanwhile_is_told(place):
    tune(place, "--lora-rank 2")
    follow(place, "--lora-rank 2")
    tune(place, "--lora-rank 3", "other")
    for name in ("adapter_model.safetensors", "adapter_config.json"):
        (place / "out" / name).write_bytes((place / "other" / name).read_bytes())
    with pytest.raises(CheckpointMismatchError, match="which has changed since"):
        folder.load(str(place / "second"), device="cpu")


@pytest.mark.parametrize("options", ["--method prefix --length 3", "--quantize 8"])
def test_what_cannot_become_part_of_the_weights_is_no_base(place, options):
    tune(place, options)
    with pytest.raises(ConfigError, match="cannot become part of the weights: only LoRA"):
        follow(place)


def test_data_that_cannot_be_read_is_refused_before_anything_is_written(place):
    (place / "my.jsonl").write_text('{"prompt": "a"}\n')
    with pytest.raises(DataError, match=r"line 1 of .*my.jsonl"):
        tune(place)
    assert not (place / "out").exists()


def words(place, options):
    shared = f"{OPTIONS} --data {place / 'my.jsonl'} --model {place / 'base'} {options}"
    return shared.split()


def command(place, options):
    return subprocess.run(
        [sys.executable, "-m", "mathlm.recipes.sft", *words(place, options)],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


@pytest.mark.slow
def test_a_user_error_is_one_line(place):
    done = command(place, "--width 3")
    assert done.returncode == 1
    assert done.stderr.strip() == "error: --width is no option of --method lora"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sum", "ddp"])
def test_two_processes_give_the_losses_of_one(place, kind):
    options = "--dtype float64 --steps 3 --lora-rank 2"
    one = tune(place, options)[0]
    path = place / "two.json"
    shared = f"{options} --parallel {kind} --out {place / 'two'} --record {path}"
    run_in_two_ranks(place / "ranks", sft, words(place, shared))
    for ours, theirs in zip(
        one["history"], json.loads(path.read_text())["history"], strict=True
    ):
        assert ours == pytest.approx(theirs, rel=1e-9)
    assert (place / "two" / "adapter_model.safetensors").exists()


def test_a_log_of_numbers_lies_in_the_folder_of_the_result(place):
    record, _ = tune(place, "--log csv")
    header, *rows = (place / "out" / "log.csv").read_text().splitlines()
    assert header.startswith("step,loss,")
    assert [int(row.split(",")[0]) for row in rows] == [r["step"] for r in record["history"]]
