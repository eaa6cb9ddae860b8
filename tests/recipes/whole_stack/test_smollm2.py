"""From a pretrained model: what is asked, what makes a pair, and that a killed run goes on."""

import json
import math

import pytest
import torch

from mathlm.errors import ConfigError, InputError
from mathlm.models import GPT, GPTConfig, save_pretrained
from mathlm.recipes import whole_stack
from mathlm.recipes.whole_stack import FROM_SMOLLM2, TUNING_SCALES, report, smollm2, topics
from mathlm.recipes.whole_stack.pipeline import Run
from mathlm.train import Trainer

SIZES = {
    "requests": 16,
    "held_out": 4,
    "blocks": 1,
    "rank": 2,
    "context": 256,
    "rows": 4,
    "looks": 2,
    "tuning_steps": 4,
    "tuning_lr": 1e-2,
    "answer": 4,
    "asked": 6,
    "preference_steps": 4,
    "preference_lr": 1e-2,
    "judged": 8,
    "letters": 300,
}
TIMES = ("seconds", "cpu_seconds")


@pytest.fixture(autouse=True)
def single_precision():
    torch.set_default_dtype(torch.float32)


class Length:
    """A rule that likes long answers."""

    score = staticmethod(len)


def test_no_topic_stands_on_both_sides_and_no_prompt_twice():
    learned, judging = (topics.prompts(side) for side in (False, True))
    assert len({*learned, *judging}) == len(learned) + len(judging) == 3 * len(topics.TOPICS)
    names = [
        {p.split(" of ")[-1].split(" about ")[-1].strip(".?") for p in side}
        for side in (learned, judging)
    ]
    assert not names[0] & names[1]
    assert [len(x) for x in names] == [75, 25]


def test_the_best_and_the_worst_answer_make_a_pair_by_hand():
    asked = ["a", "b", "c", "a", "b", "c", "a", "b", "c"]
    said = [("xx", True), ("x", True), ("x", True), ("x", True), ("y", True), ("x", False)]
    said += [("xxx", True), ("xxxx", False), (" ", True)]
    rows, dropped = smollm2.best_and_worst(asked, said, Length)
    assert rows == [{"prompt": "a", "chosen": "xxx", "rejected": "x"}]
    assert dropped == {"not ended": 1, "alike": 1}


def test_the_longer_scales_are_for_the_way_from_scratch(tmp_path):
    with pytest.raises(ConfigError, match="evening is for --from scratch"):
        whole_stack.main([str(tmp_path / "x"), "--from", "smollm2", "--scale", "evening"])


def test_stages_are_named_as_in_the_report():
    assert [name for name in report.ORDER if name in FROM_SMOLLM2] == list(FROM_SMOLLM2)
    assert set(TUNING_SCALES) == {"tiny", "cpu", "gpu"}


@pytest.fixture(scope="module")
def small_data():
    """Few entries and few questions in place of the installed sets."""
    glosses = [f"word{'a' * i} : a thing of kind {i}\n" for i in range(1, 40)]
    talks = [
        smollm2.conversation({"prompt": f"Who is {i}?", "response": f"It is I, {i}."})
        for i in range(40)
    ]
    return tuple(glosses), talks


@pytest.fixture
def small_run(tmp_path, monkeypatch, small_data):
    """A run of all stages on a model of bytes; its answers are words of the lexicon."""
    glosses, talks = small_data
    plays = ("", "A play that was held out. " * 20)
    monkeypatch.setattr(smollm2.corpus, "documents", lambda name: glosses)
    monkeypatch.setattr(smollm2.corpus, "split", lambda name: plays)
    monkeypatch.setattr(smollm2.instructions, "load", lambda name: talks)

    def answers(chat_model, asked, longest, seed, temperature):
        words = ("joy and love", "grief and hate", "happy", "sad")
        return [(words[(i // 6 + i + seed) % 4], True) for i in range(len(asked))]

    monkeypatch.setattr(smollm2, "answers", answers)
    torch.manual_seed(0)
    sizes = {"vocab_size": 256, "context": 256, "d_model": 16, "n_layers": 2, "n_heads": 2}
    rest = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False}
    save_pretrained(GPT(GPTConfig(**sizes, **rest)).float(), tmp_path / "base")
    scale = smollm2.TuningScale(base=str(tmp_path / "base"), **SIZES)
    return lambda name: Run(tmp_path / name, scale, device="cpu")


def results(found):
    return {k: {a: b for a, b in v.items() if a not in TIMES} for k, v in found.items()}


@pytest.mark.usefixtures("unchecked")
def test_no_request_that_judges_was_learned(small_run):
    run = small_run("run")
    found = run.do({"instructions": smollm2.requests})["instructions"]
    learned, judging = (
        [json.loads(line)["prompt"] for line in run.place(name).read_text().splitlines()]
        for name in ("instructions.jsonl", "held_out.jsonl")
    )
    assert not set(learned) & set(judging)
    assert found["rows"] == {"learned": len(learned), "held out": len(judging)}
    assert 0 < len(judging) <= 2 * SIZES["held_out"]
    assert len(learned) == SIZES["requests"]


@pytest.mark.slow
@pytest.mark.usefixtures("unchecked")
def test_killed_in_both_trainings_it_ends_as_if_it_had_not_been(small_run, monkeypatch):
    whole = small_run("whole").do(FROM_SMOLLM2)
    run, step = small_run("killed"), Trainer.train_step

    class Killed(BaseException):
        pass

    for number in (3, 3):
        left = [number]

        def train_step(trainer, left=left):
            left[0] -= 1
            if left[0] == 0:
                raise Killed
            return step(trainer)

        monkeypatch.setattr(Trainer, "train_step", train_step)
        with pytest.raises(Killed):
            run.do(FROM_SMOLLM2)
    monkeypatch.setattr(Trainer, "train_step", step)
    found = run.do(FROM_SMOLLM2)
    assert results(found) == results(whole)
    measures = [x for model in found["judged"]["models"].values() for x in model.values()]
    assert all(map(math.isfinite, measures))
    assert len(found["judged"]["sample"]) == 10
    page = report.write_report(run.folder, found).read_text(encoding="utf-8")
    assert page.count("<img alt=") == len(report.figures(found)) == 2


@pytest.mark.usefixtures("unchecked")
def test_without_pairs_it_says_what_to_do(small_run, monkeypatch):
    run = small_run("run")
    stages = {name: FROM_SMOLLM2[name] for name in ("instructions", "tuned", "pairs")}

    def same(chat_model, asked, *rest):
        return [("joy", True)] * len(asked)

    monkeypatch.setattr(smollm2, "answers", same)
    with pytest.raises(InputError, match=r"24 answers made 0 pairs.*take a larger scale"):
        run.do(stages)
