"""One command from raw text to a chat: what each part does, and that it can be killed."""

import bz2
import io
import json
import math
import re
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
import torch

from mathlm.chat.conversation import Conversation
from mathlm.chat.folder import load
from mathlm.errors import ConfigError, InputError
from mathlm.recipes import chat, whole_stack
from mathlm.recipes.chat import answer
from mathlm.recipes.whole_stack import STAGES, answers, pipeline, report, stages
from mathlm.recipes.whole_stack.judging import of_like_length, win_rate
from mathlm.recipes.whole_stack.pipeline import Run, clear_half_written
from mathlm.recipes.whole_stack.stages import LONGEST_NAME, speeches
from mathlm.text import ByteBPE, KneserNey, read_documents
from mathlm.train import Trainer

SMALLEST = replace(
    pipeline.SCALES["tiny"],
    documents=60,
    planted=6,
    steps=12,
    looks=4,
    held_out=512,
    tuning_steps=40,
    draws=160,
    preference_steps=4,
    judged=16,
)
TIMES = ("seconds", "cpu_seconds")


def results(found):
    """What the stages found, without how long they took."""
    return {k: {a: b for a, b in v.items() if a not in TIMES} for k, v in found.items()}


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    torch.set_default_dtype(torch.float32)
    run = Run(tmp_path_factory.mktemp("stack") / "run", SMALLEST, device="cpu")
    return run, run.do(STAGES)


@pytest.mark.slow
def test_each_stage_says_what_it_found(unbroken):
    run, found = unbroken
    assert list(found) == list(STAGES)
    for name in STAGES:
        stored = json.loads((run.folder / "stages" / f"{name}.json").read_text())["result"]
        assert stored == found[name]


@pytest.mark.slow
def test_no_dirt_is_left_and_what_is_kept_is_right(unbroken):
    _, found = unbroken
    assert found["raw"]["right"] < 0.5 < 0.98 < found["cleaned"]["right"]
    kinds = ("junk left", "exact left", "near left")
    assert {kind: found["cleaned"][kind] for kind in kinds} == dict.fromkeys(kinds, 0)
    assert found["cleaned"]["exact duplicates"] == 6


@pytest.mark.slow
def test_tuning_teaches_to_end(unbroken):
    models = unbroken[1]["judged"]["models"]
    assert models["base"]["ended"] < 0.1 < models["tuned"]["ended"]
    assert models["tuned"]["answer_loss"] < models["base"]["answer_loss"]


@pytest.mark.slow
def test_what_was_preferred_gains_on_what_was_not(unbroken):
    last = unbroken[1]["preferred"]["history"][-1]
    assert last["loss"] < unbroken[1]["preferred"]["history"][0]["loss"]


@pytest.mark.slow
def test_each_model_of_the_folder_can_be_talked_with(unbroken, capsys):
    for name in ("base", "tuned", "preferred"):
        chat_model = load(unbroken[0].place(name), device="cpu")
        answer(Conversation(chat_model, max_new_tokens=4, seed=0), "Speak as Romeo.")
    assert capsys.readouterr().out.count("\n") >= 3


@pytest.mark.slow
def test_the_command_of_the_last_line_answers_what_comes_through_a_pipe(
    unbroken, monkeypatch, capsys
):
    monkeypatch.setattr(sys, "stdin", io.StringIO("Speak as Romeo.\n"))
    folder = str(unbroken[0].place("preferred"))
    chat.main(["--model", folder, "--device", "cpu", "--seed", "0", "--max-new-tokens", "4"])
    assert capsys.readouterr().out.endswith("\n")


@pytest.mark.slow
def test_the_report_shows_a_figure_for_each_part(unbroken):
    run, found = unbroken
    page = report.write_report(run.folder, found).read_text(encoding="utf-8")
    assert page.count("<img alt=") == len(report.figures(found)) == 4
    assert f"{found['pretrained']['parameters']:,} weights" in page


def test_the_report_knows_every_stage():
    assert list(STAGES) == list(report.ORDER)


@pytest.mark.slow
def test_what_was_cleaned_adds_up(unbroken):
    left = report.documents_left(unbroken[1])
    assert list(left.values())[-1] == unbroken[1]["cleaned"]["kept"]


class Killed(BaseException):
    """In the place of a kill that nothing can catch."""


def after(stage, number=0):
    """The stage, killed when it has done all but say so; in a training after some steps."""

    def killed(run):
        left, step = [number], Trainer.train_step

        def train_step(trainer):
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return step(trainer)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Trainer, "train_step", train_step)
            stage(run)
        raise Killed

    return killed


@pytest.mark.slow
def test_killed_in_each_stage_it_ends_as_if_it_had_not_been(unbroken, tmp_path):
    run = Run(tmp_path / "run", SMALLEST, device="cpu")
    for name, stage in STAGES.items():
        for number in {"pretrained": (8, 0), "tuned": (20, 0), "preferred": (3, 0)}.get(
            name, (0,)
        ):
            with pytest.raises(Killed):
                run.do(STAGES | {name: after(stage, number)})
            assert run.result(name) is None
        run.do({name: stage})
    assert results(run.do(STAGES)) == results(unbroken[1])


@pytest.mark.slow
def test_the_command_goes_on_after_a_kill(tmp_path, monkeypatch):
    """A process is killed as soon as it has a checkpoint; the same command then ends."""
    out = tmp_path / "run"
    code = (
        "import sys; from mathlm.recipes import whole_stack as w;"
        f"w.SCALES['tiny'] = w.SCALES['tiny'].__class__(**{vars(SMALLEST)!r});"
        "w.main(sys.argv[1:])"
    )
    command = [sys.executable, "-c", code, str(out), "--scale", "tiny", "--device", "cpu"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None and not list(out.glob("pretraining/*/state.json")):
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
    assert not (out / "stages" / "pretrained.json").exists()
    monkeypatch.setitem(whole_stack.SCALES, "tiny", SMALLEST)
    found = whole_stack.main([str(out), "--scale", "tiny", "--device", "cpu"])
    assert (out / "report.html").is_file()
    assert found["judged"]["models"]["tuned"]["ended"] > 0


def test_other_settings_are_refused_by_name(tmp_path):
    Run(tmp_path, SMALLEST).begin()
    Run(tmp_path, SMALLEST).begin()
    other = Run(tmp_path, replace(SMALLEST, steps=21), seed=1)
    with pytest.raises(ConfigError, match=r"steps=12 then, 21 now, seed=0 then, 1 now"):
        other.begin()


def test_a_model_that_was_not_written_whole_is_written_again(tmp_path):
    for name in (".new-abc", "checkpoints"):
        (tmp_path / name).mkdir()
    (tmp_path / "config.json").touch()
    clear_half_written(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]
    for name in ("config.json", "chat.json"):
        (tmp_path / name).touch()
    clear_half_written(tmp_path)
    assert (tmp_path / "config.json").exists()


def test_no_word_stands_in_both_halves_of_the_lexicon():
    preferring, judging = answers.halves()
    roots = [{word[:4] for word in half.valences} for half in (preferring, judging)]
    assert not roots[0] & roots[1]
    assert len(preferring) + len(judging) == len(answers.sentiment.load())
    assert 0.4 < len(judging) / len(answers.sentiment.load()) < 0.6


def test_speeches_by_hand():
    text = "ROMEO:\nIs the day so young? But new\nstruck nine.\n\nnobody:\nIs the day so young?"
    other = "PETER:\nAnon!\n\n" + "X" * (LONGEST_NAME + 1) + ":\nThis name is much too long."
    expected = [("ROMEO", "Is the day so young? But new\nstruck nine.")]
    assert speeches([text, other], longest=60) == expected
    assert speeches([text], longest=30) == []


def test_wins_ties_and_losses_by_hand():
    class Length:
        score = staticmethod(len)

    found = win_rate(Length, ["aaa", "b", "cc", "dd"], ["aa", "bb", "c", "ee"])
    assert (found["rate"], found["ties"]) == (2.5 / 4, 1 / 4)


def test_one_pair_has_no_standard_error():
    with pytest.raises(InputError, match="1 pairs are too few"):
        win_rate(answers.halves()[0], ["joy"], ["grief"])


def test_like_lengths_are_counted_in_bytes():
    ours, theirs = ["a" * 20, "b" * 20, "é" * 10], ["a" * 35, "b" * 36, "c" * 4]
    assert of_like_length(ours, theirs) == ([ours[0]], [theirs[0]])


def test_a_pair_needs_two_answers_that_end_and_differ(monkeypatch, unchecked):
    said = [[("joy", True), ("joy", True), ("joy", False), (" ", True)], [("grief", True)] * 4]
    said[1][1] = ("joy", True)
    monkeypatch.setattr(answers, "answers", lambda *args: said.pop(0))
    sure = {"joy": 2.0, "grief": -2.0}
    rule = replace(answers.sentiment.load(), valences=sure)
    monkeypatch.setattr(answers, "halves", lambda: (rule, rule))
    rows, dropped = answers.preferred_pairs(None, list("abcd"), 9, 0)
    assert rows == [{"prompt": "a", "chosen": "joy", "rejected": "grief"}]
    assert dropped == {"not ended": 2, "alike": 1}


def test_a_dictionary_is_read_and_asked_for_where_the_scale_says_so(tmp_path):
    run = Run(tmp_path, replace(SMALLEST, glosses=30, speeches=8), device="cpu")
    found = run.do(
        {name: STAGES[name] for name in ("raw", "cleaned", "tokens", "instructions")}
    )
    assert 0 < found["instructions"]["rows"]["dictionary"] <= 16
    asked = run.place("instructions.jsonl").read_text(encoding="utf-8")
    assert asked.count('"What does ') == found["instructions"]["rows"]["dictionary"]


def test_without_matplotlib_nothing_is_begun(tmp_path, monkeypatch):
    monkeypatch.setattr(whole_stack, "find_spec", lambda name: None)
    with pytest.raises(ConfigError, match="the report needs matplotlib: pip install"):
        whole_stack.main([str(tmp_path / "run")])
    assert not (tmp_path / "run").exists()


INVENTED = {
    "raw": {"right": 0.25, "seconds": 20.0},
    "pretrained": {"held_out_loss": 3.25, "bits_per_byte": 2.5, "seconds": 60.0},
    "tuned": {"held_out_loss_before": 4.0, "held_out_loss": 1.5, "seconds": 30.0},
    "preferred": {
        "before": {"accuracy": 0.5, "margin": 0.0},
        "after": {"accuracy": 0.75, "margin": 0.125},
        "seconds": 10.0,
    },
}


@pytest.mark.parametrize("named", [True, False])
def test_the_table_has_each_training_after_it_and_where_all_is(
    tmp_path, monkeypatch, caplog, named
):
    """By hand: 20 + 60 + 30 + 10 s are 2 min; what was before a training is in the report."""
    stack, record = tmp_path / "stack", tmp_path / "own.json"
    stack.mkdir()
    monkeypatch.setattr(Run, "do", lambda run, made: INVENTED)
    monkeypatch.setattr(whole_stack, "write_report", lambda folder, _: folder / "report.html")
    with caplog.at_level("INFO"):
        whole_stack.main([str(stack), *(["--record", str(record)] if named else [])])
    cells = [re.split(" {3,}", line) for line in caplog.messages[-1].strip().split("\n")]
    assert cells == [
        ["pretrained: held-out loss [nats/token]", "3.25"],
        ["pretrained: held-out loss [bits/byte]", "2.5"],
        ["tuned: held-out loss [nats/token]", "1.5"],
        ["preferred: accuracy on held-out pairs", "0.75"],
        ["preferred: margin of held-out answers [reward]", "0.125"],
        ["time", "2 min"],
        ["report", str(stack / "report.html")],
        ["record", str(record if named else stack / "record.json")],
        ["next", f"mathlm chat --model {stack / 'preferred'}"],
    ]
    assert json.loads((record if named else stack / "record.json").read_text())["stages"]


@pytest.mark.slow
def test_the_baselines_are_charged_for_the_bytes_on_which_the_models_are_compared(unbroken):
    run, found = unbroken
    tokenizer = ByteBPE.load(run.place("tokenizer.json"))
    plays = tokenizer.decode(stages.scored_tokens(run, tokenizer)).encode()
    training = "".join(read_documents(run.place("documents.jsonl"), "text")).encode()
    baselines = found["baselines"]
    assert baselines["held_out_bytes"] == len(plays)
    nats = -KneserNey(4, training).log_probabilities(plays).sum()
    assert baselines["tables"]["order 4"] == pytest.approx(nats / len(plays) / math.log(2))
    extra = len(bz2.compress(training + plays)) - len(bz2.compress(training))
    assert baselines["compressors"]["bz2"] == pytest.approx(8 * extra / len(plays))
    assert all(1.5 < bits < 8 for bits in baselines["tables"].values())
    assert f"bz2 {baselines['compressors']['bz2']:.2f}" in " ".join(report.sentences(found))
