"""SmolLM2 that learns sums: the step on a small model, the counts, and the record."""

import json
import math
from collections import Counter
from itertools import combinations

import numpy as np
import pytest
import torch
from sources import ROOT

from lab.reasoning import smollm2_study as study
from lab.reasoning.smollm2_tasks import Question, split, sum_question
from mathlm import adapt
from mathlm.align import completions_of
from mathlm.chat.model import ChatModel
from mathlm.models import GPT, GPTConfig
from mathlm.optim import AdamW
from mathlm.text import Bytes, ChatFormat

RECORD = ROOT / "book" / "results" / "reasoning-smollm2.json"
SIZES = {"sums": (100, 16), "three terms": (40, 8), "chat": (40, 8)}


@pytest.fixture
def writer():
    """A GPT of three blocks that reads bytes, untrained."""
    format = ChatFormat.named()
    tokenizer = Bytes(format.special)
    config = GPTConfig(
        vocab_size=tokenizer.vocab_size, context=128, d_model=24, n_layers=3, n_heads=3,
        norm="rms", activation="swiglu", position="rope", bias=False,
    )  # fmt: skip
    model = GPT(config).float().requires_grad_(False)
    model.token_embedding.weight.data.mul_(8)  # logits that differ
    return study.Writer(ChatModel(model=model, tokenizer=tokenizer, format=format), 4)


@pytest.fixture(scope="module")
def record():
    """What the command wrote."""
    return json.loads(RECORD.read_text(encoding="utf-8"))


def models(record):
    """The base and each tuned model, all their sets."""
    return [record["base"], *(run["sets"] for run in record["runs"].values())]


def test_only_the_update_of_the_last_blocks_is_trained(writer):
    study.add_update(writer.model, seed=0, rank=2, last_blocks=2)
    names = adapt.trainable(writer.model)
    assert {name.split(".")[1] for name in names} == {"1", "2"}
    assert len(names) == 2 * 7 * 2  # blocks, matrices, A and B


def test_an_answer_to_a_chat_is_begun(writer):
    ids = writer.ids(Question("What is 1 + 2?", 3), chat=True)
    text = writer.tokenizer.decode(ids.tolist())
    assert "What is 1 + 2?" in text
    assert text.endswith("The answer is")


def odd(question, answer):
    """A reward with spread in any group."""
    return float(sum(map(ord, answer)) % 2)


def by_hand(writer, questions, group, seed):
    """-1/N Σ A log π(y) as its formula says, row by row."""
    asked = [writer.ids(q) for q in questions for _ in range(group)]
    batch, total = writer.batch(asked, seed), 0.0
    answers = completions_of(batch)
    rewards = torch.tensor([odd(None, writer.text(y)) for y in answers]).view(-1, group)
    others = (rewards.sum(1, keepdim=True) - rewards) / (group - 1)
    for x, y, gain in zip(asked, answers, (rewards - others).flatten(), strict=True):
        logits = writer.model(torch.cat((x, y))[None])[0, len(x) - 1 : -1]
        logp = logits.log_softmax(-1)[range(len(y)), y]
        total = total - gain * logp.sum() / len(asked)
    return total


def test_a_step_follows_the_gradient_of_its_formula(writer, monkeypatch):
    model = study.add_update(writer.model, seed=0, rank=4, last_blocks=3)
    trained = list(adapt.trainable(model).values())
    questions = [sum_question(30, 11), sum_question(9, 50)]
    expected = torch.autograd.grad(by_hand(writer, questions, 8, 5), trained)
    monkeypatch.setattr(study, "reward", odd)
    monkeypatch.setattr(study, "update", lambda optimizer, lr: 0.0)
    study.train_step(writer, questions, AdamW(trained, lr=1e-2), 1e-2, 8, 5)
    assert any(g.abs().max() > 1e-4 for g in expected)
    for p, g in zip(trained, expected, strict=True):
        torch.testing.assert_close(p.grad, g, rtol=1e-3, atol=1e-6)  # float32, two orders


def test_questions_are_used_once_and_the_rate_warms_up(writer, monkeypatch):
    seen, rates = [], []

    def step(writer, questions, optimizer, lr, group, seed):
        seen.extend(q.text for q in questions)
        rates.append(lr)
        return {"reward": 0.0}

    monkeypatch.setattr(study, "train_step", step)
    study.add_update(writer.model, seed=0, rank=2, last_blocks=1)
    settings = {"lr": 0.4, "warmup": 4, "steps": 6, "prompts": 8, "group": 2}
    study.train(writer, split(100)[0], 0, settings)
    assert len(set(seen)) == 48
    assert rates == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.4, 0.4])


def test_a_group_without_spread_moves_nothing(writer, monkeypatch):
    monkeypatch.setattr(study, "reward", lambda q, y: 1.0)
    study.add_update(writer.model, seed=0, rank=4, last_blocks=3)
    before = {name: p.clone() for name, p in adapt.trainable(writer.model).items()}
    optimizer = AdamW(adapt.trainable(writer.model).values(), lr=1e-2, weight_decay=0)
    found = study.train_step(writer, [sum_question(30, 11)], optimizer, 1e-2, 4, 0)
    assert (found["no_spread"], found["gradient"]) == (1, 0)
    for name, p in adapt.trainable(writer.model).items():
        assert torch.equal(p, before[name])


def test_a_vote_has_one_voice_for_each_number_and_none_without():
    assert study.voted([5, 4, 4, None], 4, 4) == 1
    assert study.voted([None, None, 3, 4], 4, 2) == 0  # no voice; then 3, which came first
    assert study.voted([4, 5, 5, 4, 4, 5], 4, 2) == pytest.approx(2 / 3)


def test_an_interval_by_hand():
    mean, low, high = study.interval([0.0, 0.5, 0.5, 1.0])
    half = 1.96 * math.sqrt(0.5 / 3) / 2
    assert (mean, low, high) == (0.5, round(0.5 - half, 4), round(0.5 + half, 4))
    assert study.interval([0.0, 0.0, 0.1])[1] == 0


def test_a_summary_by_hand():
    found = {
        "results": [41, 50],
        "greedy": [" 41\n", " 50."],
        "sampled": [[" 41\n", " 4\n", " 41 x", " 41\n"], [" 51\n", " 51", " 50", "?"]],
    }
    whole, first = (study.summary(found, name) for name in ("whole", "first"))
    assert (whole["greedy"][0], first["greedy"][0]) == (1, 2)
    assert (whole["right"], first["right"]) == ([2, 1], [3, 1])
    assert whole["pass"]["2"][0] == pytest.approx((5 / 6 + 1 / 2) / 2, abs=1e-4)
    assert whole["majority"]["4"] == 0.5
    assert first["majority"]["1"] == 0.5


def test_the_record_has_the_runs_and_sizes_that_it_states(record):
    settings = record["settings"]
    assert list(record["runs"]) == ["0", "1", "2"]
    assert settings == study.SETTINGS
    for run in record["runs"].values():
        assert len(run["steps"]) == settings["steps"]
    for sets in models(record):
        for name, (questions, samples) in SIZES.items():
            assert np.shape(sets[name]["sampled"]) == (questions, samples)
            assert len(sets[name]["greedy"]) == questions


def test_steps_of_the_record_are_shares_of_its_groups(record):
    answers, groups = 64, 8
    for run in record["runs"].values():
        for step in run["steps"]:
            right = step["reward"] * answers
            assert right == pytest.approx(round(right), abs=0.01)
            assert step["no_spread"] * groups == pytest.approx(round(step["no_spread"] * 8))
            assert step["reward"] <= step["first_right"] <= 1
            assert 1 <= step["length"] <= 6


def test_the_record_asked_for_the_held_out_sums(record):
    _, held_out = split(100)
    for sets in models(record):
        assert sets["sums"]["questions"] == [f"{a} + {b} =" for a, b in held_out]
        assert sets["sums"]["results"] == [a + b for a, b in held_out]


def test_the_shares_of_the_record_are_those_of_its_answers(record):
    """Counted by pairs of samples and by comparing text, not by the readers of the study."""
    for sets in models(record):
        found, told = sets["sums"], sets["sums"]["summary"]["whole"]
        pairs = zip(found["sampled"], found["results"], strict=True)
        right = [[y.strip() == str(r) for y in row] for row, r in pairs]
        assert told["right"] == [sum(row) for row in right]
        assert told["pass"]["1"][0] == pytest.approx(np.mean(right), abs=1e-4)
        two = np.mean([[a or b for a, b in combinations(row, 2)] for row in right])
        assert told["pass"]["2"][0] == pytest.approx(two, abs=1e-4)
        assert told["pass"]["16"][0] == pytest.approx(
            np.mean([any(x) for x in right]), abs=1e-4
        )
        greedy = zip(found["greedy"], found["results"], strict=True)
        assert told["greedy"][0] == sum(y.strip() == str(r) for y, r in greedy)


def test_the_votes_of_the_record_are_those_of_its_answers(record):
    for sets in models(record):
        found, right = sets["sums"], 0
        for row, result in zip(found["sampled"], found["results"], strict=True):
            numbers = [y.strip() for y in row]
            numbers = [y for y in numbers if y.isdecimal() and str(int(y)) == y]
            right += bool(numbers) and Counter(numbers).most_common(1)[0][0] == str(result)
        assert found["summary"]["whole"]["majority"]["16"] == pytest.approx(right / 100)
