"""One small T5 for several tasks."""

import numpy as np
import pytest
import torch

from lab.architectures import text_to_text, text_to_text_study
from lab.architectures.small_t5 import TextToTextConfig, build, fit
from lab.architectures.tasks_as_text import encoded, pair
from lab.architectures.text_to_text import correct, say, train
from mathlm.errors import ConfigError


@pytest.fixture(autouse=True)
def single_precision(unchecked):
    torch.set_default_dtype(torch.float32)


def test_the_parts_are_those_of_t5():
    model = build(TextToTextConfig(d_model=16))
    names = [name for name, _ in model.named_parameters()]
    assert not any(name.endswith(("bias", "beta")) for name in names)
    config = model.config
    assert (config.norm, config.norm_first, config.position) == ("rms", True, "relative")
    assert not config.attention_scale
    assert model.head.weight is model.source_embedding.weight


def test_every_pair_fits_the_context():
    model = build(TextToTextConfig(d_model=16))
    sources = [pair(task, 777)[0] for task in text_to_text.TextToTextConfig().tasks]
    assert len(say(model, sources)) == 4


def test_a_model_that_learned_one_sentence_by_heart_says_it():
    config = TextToTextConfig(d_model=32, steps=60, batch=4)
    model, texts = build(config), [pair("next", 42), pair("to french", 42)]
    losses = fit(model, 60, config, lambda rng: [encoded(t) for t in texts])
    assert losses[-1] < 0.1 < losses[0]
    assert say(model, [source for source, _ in texts]) == ["forty three", "quarante deux"]
    assert correct(model, "next", [42, 43]).tolist() == [True, False]


def test_queries_take_smaller_steps():
    """After one step of AdamW every weight has moved by its step size: W_q by 1/√K of it."""
    config = TextToTextConfig(d_model=16, batch=4, lr=1e-3)
    model = build(config)
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    fit(model, 1, config, lambda rng: [encoded(pair("next", n)) for n in range(4)])
    moved = {n: (p - before[n]).abs().max().item() for n, p in model.named_parameters()}
    ratio = moved["encoder.0.attention.W_q.weight"] / moved["encoder.0.attention.W_k.weight"]
    assert ratio == pytest.approx(model.config.head_width**-0.5, rel=1e-2)


def test_training_reports_every_task_and_is_a_function_of_the_seed():
    config = TextToTextConfig(steps=6, pretrain=5, d_model=16, batch=4, labeled=3, seed=3)
    one, two = train(config), train(config)
    assert one.loss == two.loss
    assert (len(one.pretraining), len(one.loss)) == (5, 6)
    assert set(one.right) == {"to french", "to english", "to digits", "next"}
    assert np.isfinite(one.loss).all()


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"tasks": ("to german",)}, r"tasks \('to german',\) must be some of to french"),
        ({"tasks": ()}, r"tasks \(\) must be some of"),
        ({"steps": 0}, "steps must be at least 1"),
        ({"pretrain": -1}, "pretrain at least 0"),
        ({"labeled": 901}, r"labeled=901 is outside 1\.\.900"),
    ],
)
def test_runs_that_make_no_sense_are_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        TextToTextConfig(**options)


def test_the_study_compares_equal_steps(tmp_path):
    path = tmp_path / "record.json"
    options = "--steps 2 --pretrain 3 --labeled 4 --seeds 1 --record"
    rows = text_to_text_study.main([*options.split(), str(path)])
    plans = [(c.labeled, c.pretrain, c.steps) for c in (row["config"] for row in rows)]
    assert plans == [(None, 0, 2), (4, 0, 2), (4, 0, 5), (4, 3, 2)]
    assert path.is_file()


def test_the_parts_are_counted():
    model = build(TextToTextConfig())
    parts = {name: sum(p.numel() for p in m.parameters()) for name, m in model.named_children()}
    assert parts["source_embedding"] == parts["head"] == 84 * 64  # one matrix
    assert parts["encoder"] == 12 * 64**2 + 2 * 64
