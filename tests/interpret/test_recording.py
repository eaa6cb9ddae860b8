"""What a model computes on the way, recorded and watched."""

import pytest
import torch
from torch import nn

from mathlm.adapt import add_lora
from mathlm.errors import InputError, InputTypeError
from mathlm.interpret import Watched, record
from mathlm.models import (
    GPT,
    MLP,
    Bert,
    BertConfig,
    GPTConfig,
    MLPConfig,
    Transformer,
    TransformerConfig,
)

IDS = torch.arange(16).view(2, 8)


def small(**changes):
    sizes = {"vocab_size": 20, "context": 8, "d_model": 8, "n_layers": 2, "n_heads": 2}
    return GPT(GPTConfig(**sizes | changes))


def test_the_record_holds_every_block_from_the_embedding_to_the_last_norm():
    model = small()
    taps = record(model, IDS)
    assert taps["blocks.1.attention.weights"].shape == (2, 2, 8, 8)
    assert torch.equal(taps["embedding"], taps["blocks.0.resid_pre"])
    assert torch.equal(model.final_norm(taps["blocks.1.resid_post"]), taps["final_norm"])
    torch.testing.assert_close(model.head(taps["final_norm"]), model(IDS))


def test_the_record_has_no_gradients():
    assert not any(value.requires_grad for value in record(small(), IDS).values())


def test_a_mask_reaches_the_model():
    mask = torch.arange(8).expand(2, 8) < 5
    weights = record(small(), IDS, mask)["blocks.0.attention.weights"]
    assert weights[..., :5, :5].sum(-1).allclose(torch.ones(()))
    assert (weights[..., 5:] == 0).all()


def test_a_bert_is_recorded_too():
    config = BertConfig(vocab_size=20, context=8, d_model=8, n_layers=1, n_heads=2)
    assert "blocks.0.attention.weights" in record(Bert(config), IDS)


def test_a_watched_value_is_replaced_for_everything_after_it():
    model, taps = small(), record(small(), IDS)
    stream = torch.randn_like(taps["embedding"])
    model(IDS, taps=Watched(lambda n, v: stream if n == "blocks.1.resid_post" else v))
    replaced = model(
        IDS, taps=Watched(lambda n, v: stream if n.endswith("1.resid_post") else v)
    )
    torch.testing.assert_close(replaced, model.head(model.final_norm(stream)))


def test_watching_sees_every_name_and_keeps_one_value():
    model, names = small(), []
    watched = Watched(lambda name, value: (names.append(name), value)[1])
    model(IDS, taps=watched)
    assert names == list(record(model, IDS))
    assert len(watched) == 1


def test_dropout_that_is_on_is_refused():
    model = small(dropout=0.1)
    with pytest.raises(InputError, match=r"dropout=0.1 is on: call model.eval\(\) first"):
        record(model, IDS)
    assert record(model.eval(), IDS)


def test_a_model_without_taps_is_refused():
    with pytest.raises(InputTypeError, match="Linear takes no taps: give a GPT or a Bert"):
        record(nn.Linear(2, 2), IDS)


@pytest.mark.usefixtures("unchecked")
def test_what_is_no_model_and_what_are_no_ids_is_refused():
    for wrong, found in ((GPT, "GPT"), (None, "NoneType")):
        with pytest.raises(InputTypeError, match=f"made already, got {found}"):
            record(wrong, IDS)
    with pytest.raises(InputTypeError, match=r"must be a tensor \(B, T\), got list"):
        record(small(), IDS.tolist())


def test_ids_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="20"):
        record(small(), IDS + 10)


@pytest.mark.usefixtures("unchecked")
def test_a_model_of_two_texts_or_of_vectors_is_refused():
    sizes = {"vocab_size": 20, "context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}
    both = Transformer(TransformerConfig(**sizes))
    with pytest.raises(InputTypeError, match="Transformer takes no mask: give a GPT or a Bert"):
        record(both, IDS)
    with pytest.raises(InputTypeError, match="MLP takes no mask"):
        record(MLP(MLPConfig(d_in=8, d_hidden=(4,), d_out=2)), IDS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("ids", [IDS[0], torch.tensor(3), IDS[None]], ids=["row", "one", "3-d"])
def test_ids_of_another_shape_are_refused(ids):
    with pytest.raises(InputError, match=r"expected \(batch, tokens\)"):
        record(small(), ids)


@pytest.mark.usefixtures("unchecked")
def test_a_mask_that_is_no_tensor_is_refused():
    with pytest.raises(InputTypeError, match="mask must be a tensor of bool, got list"):
        record(small(), IDS, [[True] * 8] * 2)


def test_dropout_of_an_update_that_is_on_is_refused():
    model = add_lora(small(), rank=2, dropout=0.25).train()
    with pytest.raises(InputError, match=r"dropout=0.25 is on: call model.eval\(\) first"):
        record(model, IDS)
    assert record(model.eval(), IDS)


def test_dropout_of_one_part_is_seen_though_the_whole_is_evaluated():
    model = small(dropout=0.1).eval()
    model.blocks[1].dropout.train()
    with pytest.raises(InputError, match=r"dropout=0.1 is on"):
        record(model, IDS)
