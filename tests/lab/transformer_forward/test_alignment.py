import pytest
import torch

from lab.transformer_forward.alignment import (
    alignment_score,
    cross_attention,
    effect_of_hiding,
)
from mathlm.errors import InputError, InputTypeError
from mathlm.models import GPT, GPTConfig, Transformer, TransformerConfig


def make(**changes):
    sizes = {"vocab_size": 9, "context": 8, "d_model": 12, "n_layers": 1, "n_decoder_layers": 2}
    return Transformer(TransformerConfig(**sizes, n_heads=3, **changes))


SOURCE, TARGET = torch.tensor([3, 4, 5, 6]), torch.tensor([1, 7, 8])


def test_weights_are_those_of_queries_and_keys_in_each_layer_and_head():
    """softmax(q kᵀ / √4), queries of the target and keys of the source cut by hand."""
    model, taps = make(), {}
    model(SOURCE[None], TARGET[None], taps=taps)
    weights = cross_attention(model, SOURCE, TARGET)
    assert weights.shape == (2, 3, 3, 4)
    for i, block in enumerate(model.decoder):
        q = block.cross_attention.W_q(taps[f"decoder.{i}.resid_mid"][0])
        k = block.cross_attention.W_k(taps["memory"][0])
        for h in range(3):
            part = slice(4 * h, 4 * h + 4)
            expected = (q[:, part] @ k[:, part].T / 2).softmax(-1)
            torch.testing.assert_close(weights[i, h], expected, rtol=1e-12, atol=0)


def test_there_are_no_gradients_and_the_model_is_as_it_was():
    model = make().train()
    assert not cross_attention(model, SOURCE, TARGET).requires_grad
    assert model.training


def test_later_tokens_of_the_target_change_nothing_before_them():
    model = make()
    short, long = (cross_attention(model, SOURCE, TARGET[:n]) for n in (2, 3))
    torch.testing.assert_close(long[:, :, :2], short, rtol=1e-12, atol=0)


def test_dropout_is_refused_unless_the_model_is_evaluated():
    model = make(dropout=0.1)
    with pytest.raises(InputError, match=r"dropout=0\.1 is on: call model\.eval"):
        cross_attention(model, SOURCE, TARGET)
    assert cross_attention(model.eval(), SOURCE, TARGET).shape == (2, 3, 3, 4)


def test_batches_are_refused(unchecked):
    with pytest.raises(InputError, match=r"source has shape \(1, 4\), expected \(tokens,\)"):
        cross_attention(make(), SOURCE[None], TARGET)
    with pytest.raises(InputError, match=r"target has shape \(1, 3\)"):
        cross_attention(make(), SOURCE, TARGET[None])


def test_other_tokens_are_refused(unchecked):
    with pytest.raises(InputTypeError, match="token ids must be int64"):
        cross_attention(make(), SOURCE.double(), TARGET)
    with pytest.raises(InputError, match="token id 9"):
        cross_attention(make(), SOURCE + 3, TARGET)


ROWS = [[0.7, 0.2, 0.1], [0.5, 0.25, 0.25], [0.0, 0.4, 0.6]]
WEIGHTS = torch.tensor(ROWS, dtype=torch.float64)
LINKS = torch.tensor([[True, False, False], [False, False, False], [False, True, True]])


def test_the_score_is_the_mean_share_of_linked_words():
    """Rows 0 and 2 have links: (0.7 + 1.0) / 2."""
    assert alignment_score(WEIGHTS, LINKS).item() == pytest.approx(0.85, rel=1e-12)


def test_every_head_has_its_own_score():
    heads = torch.stack((WEIGHTS, torch.full((3, 3), 1 / 3)))[None]
    torch.testing.assert_close(alignment_score(heads, LINKS), torch.tensor([[0.85, 0.5]]))


@pytest.mark.parametrize(
    ("weights", "links", "error", "message"),
    [
        (WEIGHTS, LINKS[:2], InputError, r"links \(2, 3\) must be \(3, 3\)"),
        (WEIGHTS, LINKS & False, InputError, "none of 3 targets is linked"),
        (
            WEIGHTS,
            LINKS.double(),
            InputTypeError,
            "links must be a tensor of bool, got torch.float",
        ),
        (WEIGHTS, LINKS.tolist(), InputTypeError, "must be a tensor of bool, got list"),
        (2 * WEIGHTS, LINKS, InputError, "each row of weights must sum to 1"),
    ],
)
def test_what_cannot_be_scored_is_refused(weights, links, error, message, unchecked):
    with pytest.raises(error, match=message):
        alignment_score(weights, links)


def test_models_and_texts_of_another_kind_are_refused(unchecked):
    gpt = GPT(GPTConfig(vocab_size=9, context=8, d_model=8, n_layers=1, n_heads=2))
    with pytest.raises(InputTypeError, match="GPT is no Transformer with an encoder"):
        cross_attention(gpt, SOURCE, TARGET)
    with pytest.raises(InputTypeError, match="source is a list, expected a tensor"):
        cross_attention(make(), SOURCE.tolist(), TARGET)


WHOLE = torch.tensor([1, 7, 8, 2])


def logp(model, source, memory_mask=None):
    memory = model.encode(source[None])
    found = model.decode(WHOLE[None, :-1], memory, memory_mask=memory_mask).log_softmax(-1)
    return found[0].gather(1, WHOLE[1:, None])[:, 0]


def test_a_word_that_is_hidden_everywhere_is_as_good_as_deleted():
    """Positions count real words, so the model cannot tell that one was there."""
    model = make().requires_grad_(False)
    found = effect_of_hiding(model, SOURCE, WHOLE, everywhere=True)
    for s in range(4):
        shorter = torch.cat([SOURCE[:s], SOURCE[s + 1 :]])
        expected = logp(model, SOURCE) - logp(model, shorter)
        torch.testing.assert_close(found[:, s], expected, rtol=1e-9, atol=1e-12)


def test_a_row_that_is_hidden_from_the_decoder_is_still_read_by_the_encoder():
    model = make().requires_grad_(False)
    found = effect_of_hiding(model, SOURCE, WHOLE, everywhere=False)
    assert found.shape == (3, 4)
    mask = torch.tensor([[True, False, True, True]])
    expected = logp(model, SOURCE) - logp(model, SOURCE, mask)
    torch.testing.assert_close(found[:, 1], expected, rtol=1e-9, atol=1e-12)
    everywhere = effect_of_hiding(model, SOURCE, WHOLE, everywhere=True)
    assert (found - everywhere).abs().max() > 1e-3
