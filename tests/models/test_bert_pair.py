import pytest
import torch

from mathlm.errors import InputError
from mathlm.models import BertConfig, SentencePairs

V, T = 11, 8


@pytest.fixture
def model():
    config = BertConfig(vocab_size=V, context=T, d_model=12, n_layers=2, n_heads=3)
    pairs = SentencePairs(config)
    for p in pairs.parameters():
        torch.nn.init.normal_(p, std=0.4)
    return pairs.eval()


def test_both_heads_read_one_bert(model):
    """The token logits are those of the masked model, the pair's those of the first vector."""
    ids, segments = torch.randint(V, (3, T)), torch.randint(2, (3, T))
    tokens, pairs = model(ids, segments=segments)
    first = model.masked.bert(ids, segments=segments)[:, 0]
    pooled = torch.tanh(first @ model.pooler.weight.T + model.pooler.bias)
    expected = pooled @ model.follows.weight.T + model.follows.bias
    assert torch.allclose(tokens, model.masked(ids, segments=segments), rtol=1e-12)
    assert torch.allclose(pairs, expected, rtol=1e-12)
    assert pairs.shape == (3, 2)


def test_padding_changes_neither(model):
    ids, mask = torch.randint(V, (2, T)), torch.arange(T) < 5
    tokens, pairs = model(ids[:, :5])
    padded = model(ids, mask=mask.expand(2, T))
    assert torch.allclose(padded[0][:, :5], tokens, rtol=1e-10)
    assert torch.allclose(padded[1], pairs, rtol=1e-10)


def test_taps_show_what_the_pair_is_read_from(model):
    taps: dict = {}
    model(torch.randint(V, (2, T)), taps=taps)
    assert taps["pooled"].shape == (2, 12)
    assert {"transformed", "blocks.1.resid_post"} <= set(taps)


def test_weights_start_small_and_biases_at_zero():
    made = SentencePairs(
        BertConfig(vocab_size=50, context=9, d_model=64, n_layers=1, n_heads=2)
    )
    for linear in (made.pooler, made.follows, made.masked.transform):
        assert linear.weight.std().item() == pytest.approx(0.02, rel=0.25)
        assert not linear.bias.any()


def test_more_segments_than_there_are_kinds_are_refused(model):
    with pytest.raises(InputError, match=r"segment 2 at \[0, 0\] is outside 0\.\.1"):
        model(torch.zeros(1, T).long(), segments=torch.full((1, T), 2))
