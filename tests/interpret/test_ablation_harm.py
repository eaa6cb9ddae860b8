"""Losses of a model without some heads."""

import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import Steered, head_means, losses_by_head, losses_without_heads
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

IDS = torch.arange(20).view(2, 10) * 3 % 20


def small(**changes):
    sizes = {"vocab_size": 20, "context": 16, "d_model": 8, "n_layers": 3, "n_heads": 4}
    model = GPT(GPTConfig(**sizes | changes))
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


@torch.no_grad()
def test_the_loss_of_the_whole_model_is_its_cross_entropy():
    model = small()
    logp = model(IDS).log_softmax(-1)
    expected = -logp[0, 3, IDS[0, 4]], -logp[1, 8, IDS[1, 9]]
    found = losses_without_heads(model, IDS)
    assert found.shape == (2, 9)
    torch.testing.assert_close((found[0, 3], found[1, 8]), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("position", ["rope", "learned", "sinusoidal", "none"])
def test_heads_taken_together_lose_what_each_loses_alone(position):
    model = small(position=position, n_kv_heads=2, norm="rms")
    found, whole = losses_by_head(model, IDS, [0, 2]), losses_without_heads(model, IDS)
    assert found.shape == (2, 4, 2, 9)
    for i, layer in enumerate([0, 2]):
        for head in range(4):
            alone = losses_without_heads(model, IDS, [(layer, head)])
            torch.testing.assert_close(found[i, head], alone, rtol=1e-11, atol=1e-11)
            assert (alone - whole).abs().max() > 1e-3


def test_means_stand_in_for_heads():
    model = small()
    means = head_means(model, IDS)
    mean, zero = (losses_without_heads(model, IDS, [(1, 1)], means=m) for m in (means, None))
    assert (mean - zero).abs().max() > 1e-3


def test_what_has_no_answer_is_refused():
    with pytest.raises(InputError, match=r"ids \(2, 1\) must be \(B, T\) with a row"):
        losses_without_heads(small(), IDS[:, :1])
    with pytest.raises(InputError, match=r"ids \(0, .* must be \(B, T\) with a row"):
        losses_without_heads(small(), IDS[:0])
    with pytest.raises(InputError, match=r"layers=\[3\] must be some of 0 to 2"):
        losses_by_head(small(), IDS, [3])
    with pytest.raises(InputError, match=r"layers=\[\] must be some of 0 to 2"):
        losses_by_head(small(), IDS, [])
    with pytest.raises(InputError, match="position='alibi' is not one of rope, learned"):
        losses_by_head(small(position="alibi"), IDS, [0])


def test_many_rows_lose_the_heads_that_a_few_rows_lose_whatever_names_the_heads(unchecked):
    """The rows are read in parts; a generator of pairs is empty after the first of them."""
    model, ids = small(context=200), torch.arange(300).view(2, 150) % 20
    expected = losses_without_heads(model, ids, [(1, 2), (0, 3)])
    found = losses_without_heads(model, ids, (pair for pair in [(1, 2), (0, 3)]))
    assert torch.equal(found, expected)
    assert (found[1] - losses_without_heads(model, ids)[1]).abs().max() > 1e-3


@pytest.mark.usefixtures("unchecked")
def test_models_that_predict_no_next_token_are_refused():
    bert = Bert(BertConfig(vocab_size=8, context=16, d_model=8, n_layers=2, n_heads=2)).eval()
    for losses in (
        lambda: losses_without_heads(bert, IDS % 8),
        lambda: losses_by_head(bert, IDS, [0]),
    ):
        with pytest.raises(
            InputTypeError, match="Bert is not a GPT: it predicts no next token"
        ):
            losses()


@pytest.mark.usefixtures("unchecked")
def test_ids_and_layers_of_another_kind_are_refused():
    with pytest.raises(InputTypeError, match="ids must be a tensor"):
        losses_without_heads(small(), IDS.tolist())
    with pytest.raises(InputTypeError, match="asks for layers"):
        losses_by_head(small(), IDS, 1)
    steered = Steered(small(), {"embedding": torch.ones(8)})
    with pytest.raises(InputError, match="the model is steered at embedding"):
        losses_by_head(steered, IDS, [1])
