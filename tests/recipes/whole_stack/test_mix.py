"""What the longer scale reads: each passage once, and all of it in the run."""

from dataclasses import replace

import pytest
import torch

from mathlm.recipes.whole_stack import STAGES, mix, pipeline
from mathlm.recipes.whole_stack.pipeline import Run

CUT = {
    "documents": 60,
    "planted": 6,
    "glosses": 30,
    "vocab_size": 400,
    "size": "tiny",
    "context": 80,
    "batch_size": 4,
    "steps": 4,
    "looks": 2,
    "held_out": 512,
    "answer": 32,
}


def test_each_passage_stands_once_and_without_its_mark():
    found = mix.passages()
    assert len(found) == len(set(found)) == 13271
    assert not any(mix.END_OF_QUAC in text for text in found)
    assert 9.8e6 < sum(len(text.encode()) for text in found) < 10e6


def test_a_scale_reads_what_it_says(monkeypatch):
    monkeypatch.setattr(mix, "passages", lambda: ("An article.\n",))
    monkeypatch.setattr(mix, "talks", lambda: ["Hi.\nHello.\n"])
    monkeypatch.setattr(mix.corpus, "documents", lambda name: ("a : b\n", "c : d\n"))
    assert mix.mixed(["play"], 0, False, False) == ["play"]
    assert mix.mixed(["play"], 1, True, True) == [
        "play",
        "a : b\n",
        "An article.\n",
        "Hi.\nHello.\n",
    ]


@pytest.mark.slow
def test_the_evening_at_toy_length_goes_from_text_to_a_trained_model(tmp_path, monkeypatch):
    torch.set_default_dtype(torch.float32)
    passages, talks = mix.passages()[:40], mix.talks()[:40]
    monkeypatch.setattr(mix, "passages", lambda: passages)
    monkeypatch.setattr(mix, "talks", lambda: talks)
    scale = replace(pipeline.SCALES["evening"], **CUT)
    run = Run(tmp_path / "run", scale, device="cpu")
    found = run.do({name: STAGES[name] for name in ("raw", "cleaned", "tokens", "pretrained")})
    read = found["tokens"]["bytes"]
    assert read > sum(len(text.encode()) for text in (*passages, *talks))
    losses = [row["held_out_loss"] for row in found["pretrained"]["history"]]
    assert losses[-1] < losses[0]
    again = run.do({name: STAGES[name] for name in ("raw", "cleaned", "tokens", "pretrained")})
    assert again == found
