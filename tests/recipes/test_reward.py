"""The script that trains a reward, as a user runs it."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from recipes.tiny_preferences import OPTIONS, learn, make, save_pairs
from recipes.two_ranks import run_in_two_ranks

from mathlm.align import encode_pairs
from mathlm.errors import CheckpointMismatchError, ConfigError, DataError, InputError
from mathlm.recipes import data, reward, score
from mathlm.recipes.command import parse
from mathlm.text import Bytes, ChatFormat, Message, Preference
from mathlm.train import checkpoints

ROOT = Path(reward.__file__).parents[2]


@pytest.fixture
def place(tmp_path):
    """A folder with a base and data; torch makes float32."""
    torch.set_default_dtype(torch.float32)
    return make(tmp_path)


@pytest.mark.parametrize("method", ["--method full", "--lora-rank 4", "--lora-rank 4 --merge"])
def test_what_the_folder_holds_judges_as_the_trained_model_did(place, method, monkeypatch):
    made, prepare = [], reward.prepare_reward
    monkeypatch.setattr(reward, "prepare_reward", lambda a: made.append(prepare(a)) or made[0])
    found = learn(place, method)[1]
    assert found["before"]["accuracy"] == 0.5
    assert found["before"]["loss"] == pytest.approx(0.6931471805599453)
    assert found["after"]["accuracy"] > 0.9
    trained = reward.LearnedReward(made[0][0].chat_model, made[0][1])
    prompts, answers = ["rain a?"] * 2, ["yes rain", "nay rain"]
    loaded = reward.load_reward(place / "out", "cpu")(prompts, answers)
    assert loaded == pytest.approx(trained(prompts, answers), abs=1e-5)
    assert loaded[0] > loaded[1]


def test_how_answers_are_batched_changes_no_reward(place):
    learn(place)
    judge = reward.load_reward(place / "out", "cpu")
    prompts, answers = ["a?", "what is it?", "b?"], ["yes", "nay, or so it seems", ""]
    together = judge(prompts, answers)
    alone = [judge([p], [a])[0] for p, a in zip(prompts, answers, strict=True)]
    assert together == pytest.approx(alone, abs=1e-5)
    said = [[Message("user", prompt)] for prompt in prompts]
    assert judge(said, answers) == together


def test_rewards_of_training_answers_lie_around_zero(place):
    learn(place, "--held-out 0 --centring 0")
    judge = reward.load_reward(place / "out", "cpu")
    rows = [json.loads(line) for line in (place / "my.jsonl").read_text().splitlines()]
    prompts = [row["prompt"] for row in rows]
    both = [judge(prompts, [row[side] for row in rows]) for side in ("chosen", "rejected")]
    assert sum(map(sum, both)) / 28 == pytest.approx(0.0, abs=1e-4)


def test_a_reward_that_is_length_is_called_so(place, caplog):
    caplog.set_level("INFO")
    save_pairs(place / "my.jsonl", better="well well well", worse="well")
    found = learn(place)[1]
    assert found["more_than_length"] is False
    assert found["after"]["length_accuracy"] == 1.0
    assert "LENGTH ALONE DOES AS WELL: accuracy" in caplog.text


def test_a_reward_that_is_not_length_is_called_so(place, caplog):
    caplog.set_level("INFO")
    found = learn(place, "--held-out 0.4 --epochs 25")[1]
    assert found["more_than_length"] is True
    assert found["after"]["length_accuracy"] == 0.5
    assert "the reward tells more than length" in caplog.text


def test_an_interrupted_run_is_resumed_by_the_same_command(place, monkeypatch):
    options = "--lora-dropout 0.3 --save-every 2"
    straight, step = learn(place, options)[0], reward.Trainer.train_step

    def killed(self):
        if self.step == 3:
            raise KeyboardInterrupt
        return step(self)

    monkeypatch.setattr(reward.Trainer, "train_step", killed)
    with pytest.raises(KeyboardInterrupt):
        learn(place, options, "again")
    monkeypatch.undo()
    assert checkpoints(place / "again" / "checkpoints")[-1].name == "step_000002"
    again = learn(place, options, "again")[0]
    assert again["history"] == straight["history"]
    assert again["results"]["after"] == straight["results"]["after"]


def test_the_result_is_the_same_bit_for_bit_after_a_resume(place):
    learn(place)
    names = ("adapter_model.safetensors", "reward_head.safetensors")
    first = [(place / "out" / name).read_bytes() for name in names]
    learn(place)
    assert [(place / "out" / name).read_bytes() for name in names] == first


def test_a_run_is_not_resumed_with_another_margin(place):
    learn(place)
    with pytest.raises(CheckpointMismatchError, match=r"margin was 0\.0, is 0\.5"):
        learn(place, "--margin 0.5")


def test_no_prompt_is_on_both_sides_and_no_pair_is_lost():
    """Six prompts with two pairs each; what the user said counts, not its capitals."""
    asked = [name for letter in "abcdef" for name in (letter, letter.upper())]
    given = [
        Preference(prompt=(Message("user", ask),), chosen="yes", rejected=f"no {i}")
        for i, ask in enumerate(asked)
    ]
    tokens = Bytes(ChatFormat.named().special)
    encoded = encode_pairs(given, ChatFormat.named(), tokens, 64)
    rows = data.split([one.prompt for one in given], 0.34, 0)
    learned, judged = (data.some(encoded, side) for side in rows)
    sides = [{asked[i].lower() for i in side.index} for side in (learned, judged)]
    assert (len(learned), len(judged)) == (8, 4)
    assert not sides[0] & sides[1]
    for side in (learned, judged):
        for i, chat in zip(side.index, side.rejected, strict=True):
            assert np.array_equal(chat.ids, encoded.rejected[i].ids)


def test_what_is_left_out_is_counted(place):
    rows = (place / "my.jsonl").read_text().splitlines()
    equal = {"prompt": "z?", "chosen": "same", "rejected": "same"}
    long = {"prompt": "z?", "chosen": "x" * 99, "rejected": "y"}
    (place / "my.jsonl").write_text("\n".join([*rows, json.dumps(equal), json.dumps(long)]))
    dropped = learn(place)[1]["dropped"]
    assert {name: n for name, n in dropped.items() if n} == {
        "equal answers": 1,
        "longer than the context": 1,
    }


def test_one_prompt_cannot_be_held_out(place):
    (place / "my.jsonl").write_text(
        "".join(
            json.dumps({"prompt": "a?", "chosen": f"yes {i}", "rejected": f"no {i}"}) + "\n"
            for i in range(4)
        )
    )
    with pytest.raises(ConfigError, match="--held-out 0 trains on all"):
        learn(place)


def test_data_that_cannot_be_read_is_refused_before_anything_is_written(place):
    (place / "my.jsonl").write_text('{"prompt": "a", "chosen": "b"}\n')
    with pytest.raises(DataError, match=r"line 1 of .*my.jsonl"):
        learn(place)
    assert not (place / "out").exists()


def test_a_folder_without_a_reward_and_a_text_too_long_are_refused(place):
    with pytest.raises(ConfigError, match=r"give a folder of mathlm reward"):
        reward.load_reward(place / "base")
    learn(place)
    with pytest.raises(InputError, match=r"conversation 1 has \d+ tokens"):
        reward.load_reward(place / "out", "cpu")(["a", "b"], ["c", "d" * 99])


def test_options_are_filled_in_and_checked():
    config = parse(reward.RewardConfig, ["--data", "x/mine.jsonl"])
    assert str(config.folder) == "runs/mine-smollm2-reward"
    assert (config.centring, config.adaptation.options["lora_rank"]) == (0.01, 16)
    with pytest.raises(ConfigError, match=r"--width is no option of --method lora"):
        parse(reward.RewardConfig, ["--data", "x.jsonl", "--width", "3"])
    with pytest.raises(ConfigError, match=r"--l2-sp is for mathlm sft"):
        parse(reward.RewardConfig, ["--data", "x.jsonl", "--l2-sp", "0.1"])


def test_one_answer_is_judged_from_the_command_line(place):
    learn(place)
    options = ["--prompt", "rain?", "--completion", "yes rain", "--device", "cpu"]
    found = score.main(["--reward", str(place / "out"), *options])
    judge = reward.load_reward(place / "out", "cpu")
    assert found == judge(["rain?"], ["yes rain"])[0]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["sum", "ddp"])
def test_two_processes_give_the_losses_of_one(place, kind):
    options = "--dtype float64 --steps 3 --lora-rank 2"
    one = learn(place, options)[0]
    path = place / "two.json"
    shared = f"{OPTIONS} --data {place / 'my.jsonl'} --model {place / 'base'} {options}"
    shared += f" --parallel {kind} --out {place / 'two'} --record {path}"
    run_in_two_ranks(place / "ranks", reward, shared.split())
    theirs = json.loads(path.read_text())
    for ours, other in zip(one["history"], theirs["history"], strict=True):
        assert ours == pytest.approx(other, rel=1e-9)
    assert theirs["results"]["after"] == pytest.approx(one["results"]["after"], rel=1e-6)


@pytest.mark.parametrize(
    ("options", "said"), [("", "ln 2 = 0.6931"), ("--margin 1", "ln(1 + e^1) = 1.313")]
)
def test_the_first_loss_is_what_the_log_expects(place, caplog, options, said):
    """All rewards are 0 at first: -log σ(0 - margin)."""
    caplog.set_level("INFO")
    learn(place, f"--epochs 1 {options}")
    number = said.split(" = ")[1]
    assert f"  loss {number} (expected about {said})  " in caplog.text


def test_the_table_has_the_reward_and_a_reward_its_keys(caplog):
    words = ["--reward", "recipes.test_reward:of_keys", "--completion", "12"]
    keys = ["--key", "answer=12", "--key", "note=plain words"]
    with caplog.at_level("INFO"):
        assert score.main([*words, *keys]) == 1.0
    assert "recipes.test_reward:of_keys" in caplog.messages[-1]
    assert re.search(r"^reward +1", caplog.messages[-1], re.MULTILINE)
    with pytest.raises(
        ConfigError, match="for answer, and the options --key NAME=VALUE give note"
    ):
        score.main([*words, "--key", "note=x"])
    with pytest.raises(ConfigError, match="NAME=VALUE give nothing but the prompt"):
        score.main(words)
    with pytest.raises(ConfigError, match="--key answer must be NAME=VALUE"):
        score.main([*words, "--key", "answer"])


def of_keys(prompts, completions, answer, note):
    """1 where the answer, a number, is the completion."""
    assert note == ["plain words"]
    return [float(int(text) == true) for text, true in zip(completions, answer, strict=True)]
