"""The study of a vector from sad to glad, on a model of bytes that has learned nothing."""

import json

import pytest
import torch

from lab.features import added_vectors
from lab.features.added_vectors import log_odds, main
from mathlm.models import GPT, GPTConfig


class Bytes:
    """A tokenizer for which each byte is a token."""

    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(ids).decode("latin-1")


def small():
    config = GPTConfig(vocab_size=256, context=96, d_model=8, n_layers=2, n_heads=2)
    return GPT(config).eval()


def test_log_odds_are_those_of_the_two_sets_of_words():
    model, ids = small(), torch.tensor([1, 2, 3])
    p = model(ids[None])[0, -1].softmax(-1).detach()
    by_hand = ((p[4] + p[5]) / p[6]).log().item()
    assert log_odds(model, [ids], [4, 5], [6]) == pytest.approx(by_hand, abs=1e-12)


def test_the_study_is_recorded_and_strength_zero_is_the_model_itself(tmp_path, monkeypatch):
    monkeypatch.setattr(added_vectors.pretrained, "find", lambda name: name)
    monkeypatch.setattr(added_vectors.GPT, "from_pretrained", lambda path: small())
    monkeypatch.setattr(added_vectors.ByteBPE, "from_gguf", lambda path: Bytes())
    path = tmp_path / "r.json"
    options = ["--layer", "0", "--strengths", "0", "1", "--new-tokens", "2"]
    found = main([*options, "--record", str(path)])
    assert json.loads(path.read_text())["results"]["layer"] == 0
    rows = {(row["vector"], row["strength"]): row for row in found["rows"]}
    assert len(rows) == 4
    assert rows["random", 0.0]["log_odds"] == rows["glad - sad", 0.0]["log_odds"]
    assert rows["glad - sad", 1.0]["loss"] != rows["glad - sad", 0.0]["loss"]
    assert rows["glad - sad", 1.0]["texts"][0].startswith("I think that the play")
