"""The study of features of SmolLM2, on a model of bytes that has learned nothing."""

import json

import pytest
import torch

from lab.features import smollm2_feature
from lab.features.smollm2_feature import chosen, contexts, main, rows_of, word_ids
from mathlm.models import GPT, GPTConfig


class Bytes:
    """A tokenizer for which each byte is a token."""

    def encode(self, text):
        return list(text.encode())

    def decode(self, ids):
        return bytes(ids).decode("latin-1")


def test_the_chosen_feature_is_the_one_that_is_active_on_the_words():
    ids = torch.tensor([[9, 1, 5, 2, 5]])
    features = torch.zeros(1, 4, 3)
    features[0, [1, 3], 2] = 0.5  # after the first position, the words stand at 1 and 3
    features[0, :, 1] = 7.0  # active everywhere
    assert chosen(features, ids, torch.tensor([5])) == (2, 1.0, 0.0)
    with pytest.raises(ValueError, match="more rows"):
        chosen(features, ids, torch.tensor([4]))


def test_a_context_ends_with_the_token_on_which_the_feature_is_largest():
    ids = torch.tensor([[*b"a good dog"]])
    values = torch.zeros(1, 9)
    values[0, 7] = 1.0  # position 8 of the text
    assert contexts(values, ids, Bytes()) == [" good d[o]"]


def test_only_words_of_one_token_count():
    assert word_ids(Bytes(), "red") == []


@pytest.mark.slow
def test_the_study_is_recorded(tmp_path, monkeypatch):
    torch.manual_seed(0)
    config = GPTConfig(vocab_size=256, context=96, d_model=8, n_layers=2, n_heads=2)
    model = GPT(config).eval()
    monkeypatch.setattr(smollm2_feature.pretrained, "find", lambda name: name)
    monkeypatch.setattr(smollm2_feature.GPT, "from_pretrained", lambda path: model)
    monkeypatch.setattr(smollm2_feature.ByteBPE, "from_gguf", lambda path: Bytes())
    monkeypatch.setattr(smollm2_feature, "word_ids", lambda t, words: [*words.encode()[:2]])
    path = tmp_path / "r.json"
    sizes = "--layer 0 --rows 24 --length 32 --features 24 --active 4 --steps 6 --lengths 0 1"
    found = main([*sizes.split(), "--record", str(path)])
    assert json.loads(path.read_text())["results"]["vectors"] == 12 * 31
    none, one = found["numbers"]["trials"]
    assert none["length"] == none["effect"] == none["cost"] == 0
    assert one["length"] == pytest.approx(found["median"], rel=1e-4)
    assert one["effect"] != 0
    assert not none["passed"]


def test_rows_are_pieces_of_both_sources():
    rows = rows_of(Bytes(), 4, 20)
    texts = [Bytes().decode(row.tolist()) for row in rows]
    assert rows.shape == (4, 20)
    assert all(text in smollm2_feature.corpus.load("glosses") for text in texts[::2])
    assert all(text in smollm2_feature.corpus.load("shakespeare") for text in texts[1::2])
