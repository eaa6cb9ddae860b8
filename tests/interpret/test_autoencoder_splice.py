"""Losses of a model that goes on with a changed value."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import Steered, spliced_losses
from mathlm.models import GPT, Bert, BertConfig, GPTConfig

IDS = torch.randint(20, (2, 8), generator=torch.Generator().manual_seed(3))
AT = "blocks.0.resid_post"


def small():
    config = GPTConfig(vocab_size=20, context=16, d_model=8, n_layers=2, n_heads=2)
    return GPT(config).eval()


def own(model):
    logits = model(IDS[:, :-1])
    return cross_entropy(logits.mT, IDS[:, 1:], reduction="none")


def test_the_identity_gives_the_losses_of_the_model():
    model = small()
    torch.testing.assert_close(spliced_losses(model, IDS, AT, lambda x: x), own(model))


def test_an_added_vector_is_a_steered_model():
    model, v = small(), torch.randn(8)
    spliced = spliced_losses(model, IDS, AT, lambda x: x + v)
    torch.testing.assert_close(spliced, own(Steered(model, {AT: v})))


def test_what_changes_the_shape_or_the_name_is_refused():
    with pytest.raises(InputError, match=r"change made \(2, 7, 4\) of \(2, 7, 8\)"):
        spliced_losses(small(), IDS, AT, lambda x: x[..., :4])
    with pytest.raises(InputError, match="nothing of width D"):
        spliced_losses(small(), IDS, "blocks.0.attention.q", lambda x: x)
    with pytest.raises(InputError, match="T of at least 2"):
        spliced_losses(small(), IDS[:, :1], AT, lambda x: x)
    with pytest.raises(InputError, match="change made NaN or infinity at"):
        spliced_losses(small(), IDS, AT, lambda x: x * torch.nan)


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_value_of_the_tap_is_refused():
    for change, found in ((lambda x: x.float(), "torch.float32"), (lambda x: None, "NoneType")):
        with pytest.raises(InputTypeError, match=f"change made {found} of torch.float64 at"):
            spliced_losses(small(), IDS, AT, change)
    with pytest.raises(InputTypeError, match="from cpu on meta"):
        spliced_losses(small(), IDS, AT, lambda x: x.to("meta"))


@pytest.mark.usefixtures("unchecked")
def test_a_model_that_predicts_no_next_token_is_refused():
    """Its states have the width of no vocabulary, and a loss of them would be any number."""
    bert = Bert(BertConfig(vocab_size=8, context=16, d_model=8, n_layers=2, n_heads=2)).eval()
    with pytest.raises(InputTypeError, match="Bert is not a GPT: it predicts no next token"):
        spliced_losses(bert, IDS % 8, AT, lambda x: x)
