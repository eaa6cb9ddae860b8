"""The command that asks questions: which model, which questions, and what it says of both."""

import json
import logging

import pytest
import torch

from mathlm.errors import ConfigError, DataError, InputError
from mathlm.evaluation import right_answers, score_choices, score_letters
from mathlm.models import GPT, GPTConfig
from mathlm.recipes import evaluate as recipe
from mathlm.text import Bytes, questions


@pytest.fixture
def models(monkeypatch):
    """Two small models of bytes where pretrained ones would be, by name."""
    torch.set_default_dtype(torch.float32)
    found = {}
    for seed, name in enumerate(("one", "two")):
        torch.manual_seed(seed)
        config = GPTConfig(vocab_size=256, context=200, d_model=16, n_layers=1, n_heads=2)
        found[name] = GPT(config)
    monkeypatch.setattr(recipe, "load_pretrained", lambda name, *more: (found[name], Bytes()))
    return found


@pytest.fixture
def file(tmp_path):
    """Forty questions of two choices, letters that no model knows anything about."""
    lines = [
        {"question": f"{n} or {n * n}?", "choices": [f"{n}x", f"{n * n}y"], "answer": n % 2}
        for n in range(3, 43)
    ]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    return path


@pytest.mark.parametrize(("way", "ask"), [("answer", score_choices), ("letter", score_letters)])
def test_what_it_counts_are_the_right_answers(models, file, way, ask, caplog):
    caplog.set_level(logging.INFO)
    some = questions.read(file)
    options = ["--task", str(file), "--way", way, "--by", "token", "--device", "cpu"]
    found = recipe.main(["--model", "one", *options])["one"]
    right = right_answers(ask(models["one"], Bytes(), some), some, "token")
    assert found["right"] == right.mean()
    assert (found["questions"], found["chance"]) == (40, 0.5)
    low, high = found["interval"]
    assert low < found["right"] < high
    assert f"one: {100 * right.mean():.1f} % of 40 questions right" in caplog.text


def test_two_models_are_compared_on_the_same_questions(models, file, tmp_path, caplog):
    caplog.set_level(logging.INFO)
    record = tmp_path / "r.json"
    options = ["--task", str(file), "--device", "cpu", "--record", str(record)]
    found = recipe.main(["--model", "one", "--against", "two", *options])
    difference = found["one"]["right"] - found["two"]["right"]
    assert found["comparison"]["difference"] == pytest.approx(difference)
    written = json.loads(record.read_text())
    both = written["answers"]
    differ = sum(a != b for a, b in zip(both["one"], both["two"], strict=True)) / 40
    assert found["comparison"]["disagreement"] == differ
    assert written["results"]["comparison"]["p_value"] == found["comparison"]["p_value"]
    assert "they differ on" in caplog.text


def test_a_limit_takes_questions_from_the_whole_set(file):
    config = recipe.EvaluateConfig(task=str(file), limit=5)
    whole = questions.read(file)
    assert recipe.asked(config) == tuple(whole[i] for i in (0, 10, 20, 29, 39))
    assert recipe.asked(recipe.EvaluateConfig(task=str(file), limit=99)) == whole


def test_plain_mistakes_are_sentences(models, file, tmp_path):
    with pytest.raises(ConfigError, match="--limit 0 asks nothing"):
        recipe.EvaluateConfig(limit=0)
    (bad := tmp_path / "bad.jsonl").write_text('{"question": "why?"}')
    with pytest.raises(DataError, match=r"line 1 of .* lacks \['choices', 'answer'\]"):
        recipe.main(["--model", "one", "--task", str(bad)])
    (long := tmp_path / "long.jsonl").write_text(
        json.dumps({"question": "x" * 300, "choices": ["a", "b"], "answer": 0})
    )
    with pytest.raises(InputError, match="context"):
        recipe.main(["--model", "one", "--task", str(long)])
