"""Policy training by groups, as a user runs it."""

import json
import re
import sys
from pathlib import Path

import pytest
import torch
from recipes.tiny_chats import save_base
from recipes.two_ranks import run_in_two_ranks

from mathlm.chat import folder
from mathlm.errors import (
    CheckpointMismatchError,
    ConfigError,
    DataError,
    DataNotFoundError,
    InputError,
)
from mathlm.plot import training_run
from mathlm.recipes import grpo, plot, policy, ppo
from mathlm.recipes.columns import with_columns
from mathlm.recipes.command import parse

ROOT = Path(grpo.__file__).parents[2]
OPTIONS = (
    "--device cpu --plain --max-new-tokens 8 --group-size 8 --prompts-per-iteration 2 "
    "--iterations 3 --lr 3e-2 --log-every 1 --judge 3"
)
LETTERS = "recipes.test_grpo:share_of_letters"


def share_of_letters(prompts, completions):
    """What share of a text are plain letters: a model of random bytes learns that soon."""
    plain = [sum(c.isascii() and c.isalpha() for c in text) for text in completions]
    return [n / max(1, len(text)) for n, text in zip(plain, completions, strict=True)]


def broken(prompts, completions):
    """A reward that fails at one kind of text."""
    return [float("nan") for _ in completions]


@pytest.fixture
def place(tmp_path):
    """A folder with a model and prompts; torch makes float32."""
    torch.set_default_dtype(torch.float32)
    save_base(tmp_path / "base")
    lines = [json.dumps({"prompt": text}) for text in ("Rain is", "What", "A")]
    (tmp_path / "my.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def words(place, options, out="out", reward=LETTERS):
    shared = f"{OPTIONS} --prompts {place / 'my.jsonl'} --model {place / 'base'}"
    files = f"--out {place / out} --record {place / out}.json"
    return f"{shared} {files} --reward {reward} {options}".split()


def train(place, options="", out="out", recipe=grpo, reward=LETTERS):
    """Run a recipe; its record."""
    recipe.main(words(place, options, out, reward))
    return json.loads((place / f"{out}.json").read_text())


@pytest.mark.parametrize(("recipe", "options"), [
    (grpo, "--method full --iterations 8"),
    (ppo, "--method full --iterations 8 --whiten --epochs 2"),
    (ppo, "--lora-rank 4 --iterations 2 --values shared --entropy-bonus 0.01 --cut -1"),
])  # fmt: skip
def test_a_policy_learns_and_its_folder_holds_it(place, recipe, options, monkeypatch):
    """Rewards of the last iterations are above those of the first."""
    found = train(place, f"{options} --beta 0.01", recipe=recipe)
    results, rollouts = found["results"], found["rollouts"]
    if "full" in options:
        first, last = (
            sum(r["reward"] for r in part) / 3 for part in (rollouts[:3], rollouts[-3:])
        )
        assert last > first + 0.03
    assert results["before"]["kl"] == 0 < results["after"]["kl_k3"]
    last = rollouts[-1]
    assert {"reward", "kl", "entropy", "length", "samples", "finished"} <= set(last)
    assert last["samples"][0]["prompt"] in ("Rain is", "What", "A")
    assert all(0 <= r["group_std"] <= r["reward_std"] for r in rollouts)
    assert {r["equal_groups"] for r in rollouts} <= {0, 1 / 3, 2 / 3, 1}
    seen: list = []
    monkeypatch.setattr(
        "mathlm.plot.training_run",
        lambda *given: seen.extend(given) or training_run(*given),
    )
    plot.main([str(place / "out")])
    assert [r["reward"] for r in seen[2]] == [r["reward"] for r in rollouts]
    assert folder.load(str(place / "out"), device="cpu").model is not None


@pytest.mark.parametrize(("loss", "objective", "baseline", "beta"), [
    ("corrected", "CorrectedGRPO", "leave_one_out_advantages", 0.0),
    ("published", "GRPO", "group_advantages", 0.0),
    ("dr", "DrGRPO", "centred_advantages", 0.3),
    ("rloo", "Reinforce", "leave_one_out_advantages", 0.3),
])  # fmt: skip
def test_each_loss_has_its_baseline_and_pays_the_divergence_once(
    loss, objective, baseline, beta
):
    words = f"--prompts a --reward length --beta 0.3 --loss {loss}".split()
    plan = grpo.plan_of(parse(grpo.GRPOConfig, words))
    assert type(plan.objective).__name__ == objective
    assert plan.credit.baseline.__name__ == baseline
    assert plan.credit.beta == beta
    assert getattr(plan.objective, "beta", 0.3 - beta) == 0.3 - beta


def test_an_interrupted_run_is_resumed_by_the_same_command(place, monkeypatch):
    """Within an iteration of four steps, bit for bit."""
    options = "--epochs 2 --minibatches 2 --save-every 3 --lora-dropout 0.1 --iterations 2"
    straight, step = train(place, options, recipe=ppo), policy.Trainer.train_step

    def killed(self):
        if self.step == 6:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(policy.Trainer, "train_step", killed)
    with pytest.raises(KeyboardInterrupt):
        train(place, options, "again", recipe=ppo)
    monkeypatch.undo()
    again = train(place, options, "again", recipe=ppo)
    assert again["history"] == straight["history"]
    assert again["rollouts"] == straight["rollouts"]
    with pytest.raises(CheckpointMismatchError, match=r"credit.beta was 0.05, is 0.1"):
        train(place, f"{options} --beta 0.1", "again", recipe=ppo)


def test_conversations_end_where_the_answer_ends(place):
    """With turns, the end of a turn stops a completion, and the prompt is what was asked."""
    lines = [{"prompt": "1 + 2"}, {"messages": [{"role": "user", "content": "2 + 2"}]}]
    text = "\n".join(map(json.dumps, lines))
    (place / "my.jsonl").write_text(text + "\n")
    options = words(place, "--iterations 1 --judge 2", reward="arithmetic")
    options.remove("--plain")
    grpo.main(options)
    samples = json.loads((place / "out.json").read_text())["results"]["after"]["samples"]
    assert [s["prompt"] for s in samples] == ["1 + 2", lines[1]["messages"]]


@pytest.mark.parametrize(("options", "reward", "says"), [
    ("", "nothing", "--reward nothing is none of sentiment, length, arithmetic, format, no"),
    ("", "format", "--reward format needs --pattern"),
    ("", "recipes.test_grpo:nothing", "cannot be imported: module .* has no attribute"),
    ("", "recipes.test_grpo:OPTIONS", "is a str, not a function"),
    ("--loss rloo --epochs 2", "length", "--loss rloo has no ratio"),
    ("--group-size 0", "length", "--group-size 0 must be positive"),
    ("--format named", "length", "--plain prompts have no turns"),
    ("--l2-sp 1", "length", "take a larger --beta"),
    ("--parallel fsdp", "length", "--parallel fsdp leaves a part"),
    ("--cut nothing", "length", "cut='nothing' is neither a finite number nor one of"),
])  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_written(place, options, reward, says):
    with pytest.raises(ConfigError, match=says):
        train(place, options, reward=reward)
    assert not (place / "out").exists()


def true_answer(prompts, completions, answer, level=None):
    """A reward of the other keys of a line: how much of the true answer is there."""
    assert level is None
    assert [f"{p}!" for p in prompts] == answer
    return [float(len(set(c) & set(a))) for c, a in zip(completions, answer, strict=True)]


def test_a_reward_may_stand_in_a_file_of_the_current_folder(tmp_path, monkeypatch):
    """A console script has its own folder first on the path, ``-m`` the current one."""
    (tmp_path / "reward_of_a_file.py").write_text("def ones(p, c): return [1.0] * len(c)\n")
    elsewhere = tmp_path / "bin"
    elsewhere.mkdir()
    (elsewhere / "reward_of_a_file.py").write_text("def ones(p, c): return [2.0] * len(c)\n")
    monkeypatch.setattr(sys, "path", [str(elsewhere), *filter(None, sys.path)])
    monkeypatch.chdir(tmp_path)
    found = policy.find_reward("reward_of_a_file:ones")
    assert found(["a"], ["b"]) == [1.0]
    assert sys.path[:2] == [str(tmp_path), str(elsewhere)]


def test_a_reward_gets_the_other_keys_of_its_prompts_line(place):
    lines = [{"prompt": text, "answer": f"{text}!", "id": 7} for text in ("Rain is", "What")]
    (place / "my.jsonl").write_text("\n".join(map(json.dumps, lines)))
    found = train(place, "--iterations 1", reward="recipes.test_grpo:true_answer")
    assert found["options"]["reward"] == "recipes.test_grpo:true_answer"
    assert "true_answer" in json.dumps(found["config"])


def test_a_key_that_a_reward_needs_and_no_line_has_is_named(place):
    with pytest.raises(ConfigError, match="true_answer asks for answer, and the lines of"):
        train(place, reward="recipes.test_grpo:true_answer")


def test_columns_are_those_that_the_reward_has_parameters_for():
    rows = [{"answer": 1, "level": 2}, {"answer": 3}]
    given = {}
    for name, f in {
        "none": lambda prompts, completions: given.update(none={}),
        "one": lambda prompts, completions, level=0: given.update(one={"level": level}),
        "all": lambda prompts, completions, **columns: given.update(all=columns),
    }.items():
        with_columns(f, ["a", "b"], rows)(["b", "a"], ["x", "y"])
        assert name in given
    assert given["one"] == {"level": [None, 2]}
    assert given["all"] == {"answer": [3, 1], "level": [None, 2]}


def test_a_prompt_with_two_answers_is_refused():
    rows = [{"answer": 1}, {"answer": 2}]
    with pytest.raises(DataError, match="'a' stands in two lines with different answer"):
        with_columns(lambda p, c, answer: c, ["a", "a"], rows)


@pytest.mark.parametrize(("line", "says"), [
    ('{"text": "a"}', "line 1 of .* has no prompt"),
    ('{"prompt": ""}', "line 1 of .* has no prompt"),
    ("", "holds no prompt"),
    ('{"prompt": [{"role": "user", "content": "a"}]}', "prompt 0 is a list of messages: leave"),
])  # fmt: skip
def test_prompts_that_are_none_are_refused(place, line, says):
    (place / "my.jsonl").write_text(line)
    with pytest.raises(DataError, match=says):
        train(place)


def test_a_file_that_is_not_there_is_named(place):
    (place / "my.jsonl").unlink()
    with pytest.raises(DataNotFoundError, match=r"my.jsonl is no file"):
        train(place)


def test_groups_of_one_and_rewards_of_nan_are_errors(place):
    with pytest.raises(InputError, match="groups have 1 sample"):
        train(place, "--group-size 1")
    with pytest.raises(InputError, match=r"the reward broken gave nan.*prompt 'Rain is'"):
        train(place, reward="recipes.test_grpo:broken")


@pytest.mark.slow
def test_two_processes_give_the_losses_of_one(place):
    recipe = ppo
    options = "--dtype float64 --iterations 2 --epochs 2 --lora-rank 2"
    one = train(place, options, recipe=recipe, reward="length")
    run_in_two_ranks(place / "ranks", recipe, words(place, options, "two", "length"))
    two = json.loads((place / "two.json").read_text())
    for ours, theirs in zip(one["history"], two["history"], strict=True):
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-9)
    assert two["rollouts"][-1]["samples"] == one["rollouts"][-1]["samples"]
    assert (place / "two" / "adapter_model.safetensors").exists()


def test_the_log_names_the_divergence_that_is_expected_at_first(place, caplog):
    caplog.set_level("INFO")
    train(place, "--iterations 2")
    lines = [m for m in caplog.messages if m.startswith("iteration ")]
    first, second = (re.search(r"  KL (\S+)(.*?)  ", line + "  ").groups() for line in lines)
    assert abs(float(first[0])) < 1e-4
    assert first[1] == " (expected about 0 if it begins as its reference)"
    assert second[1] == ""
