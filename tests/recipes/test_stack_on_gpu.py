"""The largest scale of the whole stack: what can be known of it without a GPU."""

import json
from dataclasses import replace

import pytest
import torch
from recipes.pretended_cuda import OnCuda, pretended_cuda

from mathlm.recipes import whole_stack
from mathlm.recipes.pretrain import Model
from mathlm.recipes.whole_stack import STAGES, judging, stages
from mathlm.recipes.whole_stack import answers as stack_answers
from mathlm.recipes.whole_stack.pipeline import SCALES
from mathlm.scaling import count_parameters, training_memory
from mathlm.text import corpus, instructions

CUT = {
    "size": "nano",
    "context": 96,
    "documents": 60,
    "planted": 6,
    "glosses": 200,
    "vocab_size": 384,
    "batch_size": 2,
    "steps": 2,
    "looks": 1,
    "held_out": 200,
    "speeches": 16,
    "tuning_steps": 2,
    "rows": 2,
    "answer": 16,
    "draws": 6,
    "preference_steps": 2,
    "judged": 2,
}


@pytest.fixture
def cut(monkeypatch):
    """The scale with few steps and documents; an answer then ends, and has a rated word."""
    torch.set_default_dtype(torch.float32)
    monkeypatch.setitem(whole_stack.SCALES, "gpu", replace(SCALES["gpu"], **CUT))
    monkeypatch.setattr(judging, "LIKE", -1)
    monkeypatch.setattr(stages, "TEXT", 200)
    monkeypatch.setattr(whole_stack, "write_report", lambda folder, found: folder)
    write = stack_answers.answers

    def answers(*args):
        said = write(*args)
        return [(f"{('joy', 'hate')[args[-1] > 9]} {text}", True) for text, _ in said]

    monkeypatch.setattr(stack_answers, "answers", answers)


def shape(scale):
    """The model of a scale."""
    return Model(size=scale.size, context=scale.context).config(scale.vocab_size)


def test_its_model_fits_on_a_small_gpu():
    scale = SCALES["gpu"]
    parts = training_memory(shape(scale), scale.context, scale.batch_size)
    assert count_parameters(shape(scale)) > 10e6
    assert sum(parts.values()) < 12 * 2**30


def test_its_texts_are_installed():
    assert {"glosses", "shakespeare"} <= set(corpus.available())
    assert {"chatterbot", "chitchat"} <= set(instructions.available())


@pytest.mark.slow
def test_every_stage_runs_on_a_gpu_that_is_pretended(cut, tmp_path):
    with pretended_cuda() as mode:
        found = whole_stack.main([str(tmp_path), "--scale", "gpu", "--device", "cuda"])
    assert list(found) == list(STAGES)
    assert set(found["judged"]["wins"]) == {"preferring rule", "judging rule"}
    assert mode.calls > 1000
    assert json.loads((tmp_path / "record.json").read_text())["device"] == "a pretended GPU"


def test_the_pretended_gpu_refuses_what_a_gpu_refuses():
    with pretended_cuda():
        x, y = torch.ones(2, 3).to("cuda"), torch.ones(3)
        assert x.device.type == (x @ y.cuda()).device.type == "cuda"
        assert not isinstance(x.cpu(), OnCuda)
        with pytest.raises(RuntimeError, match="same device"):
            x @ y
        with pytest.raises(TypeError, match="numpy"):
            x.numpy()
