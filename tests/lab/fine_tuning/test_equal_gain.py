"""Full tuning and LoRA at equal gain: the interpolation by hand, and a study that goes on."""

import json

import pytest
import torch

from lab.fine_tuning import equal_gain, fine_tuning_chats
from lab.fine_tuning.equal_gain import at_gain, chosen, ended, spread
from lab.fine_tuning.fine_tuning_tasks import task
from mathlm.models import GPT, GPTConfig
from mathlm.text import Bytes, ChatFormat, Message

BASE = {"text": 2.0, "kl": 0.0, "old": 1.0, "choice": 3.0}


def row(text, kl, choice=2.0):
    return {"text": text, "kl": kl, "old": 1.0 + 2 * kl, "choice": choice}


def made(arm, lr, seed, *rows):
    return {"arm": arm, "step_size": lr, "seed": seed, "curve": list(rows)}


RUNS = [
    made("full", 0.1, 0, row(1.9, 0.1), row(1.7, 0.4, 2.5)),
    made("full", 0.2, 0, row(1.6, 0.8, 2.4)),
    made("full", 0.1, 1, row(2.1, 0.1), row(1.9, 0.3, 2.5)),
    made("full", 0.2, 1, row(1.7, 0.3), row(1.75, 0.9, 2.7)),
    made("LoRA 4, markers", 0.1, 0, row(1.5, 0.0)),
]


def test_forgetting_at_equal_gain_is_interpolated_by_hand():
    # step size 0.1: between (0.1, 0.1) and (0.3, 0.4); 0.2: between (0, 0) and (0.4, 0.8)
    assert at_gain(BASE, RUNS[:1], "full", 0.2) == pytest.approx([0.25])
    assert at_gain(BASE, RUNS[1:2], "full", 0.2) == pytest.approx([0.4])
    # the least of both step sizes; seed 1 never gains 0.2 with 0.1, and 2/3 · 0.3 with 0.2
    assert at_gain(BASE, RUNS, "full", 0.2) == pytest.approx([0.25, 0.2])
    # bits per byte of old text are twice the divergence here
    assert at_gain(BASE, RUNS, "full", 0.2, lost="old") == pytest.approx([0.5, 0.4])
    assert at_gain(BASE, RUNS, "full", 0.35) == [pytest.approx(0.7), None]
    # exactly at a measurement, and a first gain of less than nothing
    assert at_gain(BASE, RUNS[:1], "full", 0.1) == pytest.approx([0.1])
    assert at_gain(BASE, RUNS[2:3], "full", 0.1) == pytest.approx([0.3])


def test_a_step_size_is_chosen_by_the_mean_over_the_seeds():
    assert ended(RUNS, "full", "choice") == {0.1: [2.5, 2.5], 0.2: [2.4, 2.7]}
    assert chosen(RUNS, "full") == 0.1  # 2.5 against 2.55, though seed 0 alone says 0.2
    assert spread([1.0, 2.0, 3.0]) == (2.0, 1.0)


@pytest.fixture
def tiny(monkeypatch):
    talks = [[Message("user", f"{n}?"), Message("assistant", f"{n}{n}.")] for n in range(12)]
    monkeypatch.setattr(
        fine_tuning_chats, "parts", lambda: (talks[:8], talks[8:10], talks[10:])
    )
    torch.manual_seed(1)
    config = GPTConfig(
        vocab_size=256, context=144, d_model=64, n_layers=1, n_heads=2, norm="rms",
        bias=False, activation="swiglu", position="rope", tie_embeddings=True, d_ff=72,
    )  # fmt: skip
    format, text = ChatFormat.named(), "What is here said was said before. " * 24
    sizes = fine_tuning_chats.Sizes(
        rows=1, context=60, held_out=2, old=2, own=2, length=6, tokens=4
    )
    made = task(GPT(config).eval(), Bytes(format.special), format, (text, text[60:]), sizes)
    monkeypatch.setattr(equal_gain, "plays", lambda: made)
    return made


@pytest.mark.slow
def test_the_study_goes_on_where_it_stopped_and_trains_markers_in_every_arm(tiny, tmp_path):
    path = tmp_path / "gain.json"
    options = f"--record {path} --steps 2 --seeds 0 --arms full".split()
    equal_gain.main([*options, "--runs", "1"])
    first = json.loads(path.read_text())["runs"]
    assert [r["step_size"] for r in first] == [3e-4]
    found = equal_gain.main([*options, "LoRA 4, markers"])
    assert found["runs"][0] == first[0]
    assert len(found["runs"]) == 6
    rows = {r["arm"]: r["trained"] for r in found["runs"]}
    inside = 4 * (4 * 2 * 64 + 3 * (64 + 72))  # numbers of a LoRA of rank 4 of this block
    assert rows["LoRA 4, markers"] == inside + len(tiny.markers) * 64
