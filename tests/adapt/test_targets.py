import pytest
from torch import nn

from mathlm.adapt.targets import find_targets, sites
from mathlm.errors import InputError, InputTypeError
from mathlm.models import (
    GPT,
    MLP,
    Bert,
    BertConfig,
    BlockVariant,
    GPTConfig,
    MLPConfig,
    Recurrent,
    Transformer,
    TransformerConfig,
)


def gpt(**changes):
    sizes = {"vocab_size": 20, "context": 16, "d_model": 16, "n_layers": 2, "n_heads": 2}
    return GPT(GPTConfig(**sizes | changes))


def names(model, targets):
    return [site.name for site in find_targets(model, targets)]


@pytest.mark.parametrize(
    ("target", "count"),
    [("W_q", 2), ("attention.W_q", 2), ("blocks.1.attention.W_q", 1), ("head", 1)],
)
def test_a_target_is_the_last_parts_of_a_name(target, count):
    found = names(gpt(), (target,))
    assert len(found) == count
    assert all(name.endswith(target) for name in found)


def test_a_target_is_whole_parts_of_a_name():
    with pytest.raises(InputError, match="target '_q' names no linear map"):
        names(gpt(), "_q")


def test_all_linear_maps_are_those_of_the_blocks():
    plain, gated = names(gpt(), "all-linear"), names(gpt(activation="swiglu"), "all-linear")
    assert len(plain) == 2 * 6
    assert len(gated) == 2 * 7
    assert "head" not in plain


def test_every_kind_of_transformer_has_such_maps():
    D = {"vocab_size": 20, "context": 16, "d_model": 16, "n_heads": 2, "n_layers": 1}
    assert len(names(Bert(BertConfig(**D)), "all-linear")) == 6
    assert len(names(Transformer(TransformerConfig(**D)), "all-linear")) == 6 + 10
    assert len(names(MLP(MLPConfig(d_in=4, d_hidden=(5,), d_out=6)), "all-linear")) == 2


def test_a_recurrent_model_has_a_head_alone():
    model = Recurrent(kind="gru", vocab_size=20, d_model=8)
    assert names(model, "head") == ["head"]
    with pytest.raises(InputError, match="no linear map in a block; its maps are head"):
        names(model, "all-linear")


def test_a_module_at_two_places_is_found_at_both():
    layer = nn.Linear(3, 3)
    model = nn.ModuleDict({"one": layer, "two": layer})
    assert [site.name for site in sites(model)] == ["one", "two"]


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("Wq", r"near it: W_q; the model's are called W_q, W_k, W_v, W_o, W_in"),
        ("q_proj", "names no linear map; the model's are called W_q"),
        ("token_embedding", "token_embedding, which is no linear map but of kind Embedding"),
        ("attention", "linear maps inside: blocks.0.attention.W_q, blocks.0.attention.W_k"),
    ],
)
def test_a_target_that_names_no_linear_map_is_answered_with_names(target, message):
    with pytest.raises(InputError, match=message):
        names(gpt(), ("W_q", target))


def test_targets_that_are_no_names_are_refused(unchecked):
    with pytest.raises(InputError, match="targets is empty"):
        names(gpt(), ())
    with pytest.raises(InputTypeError, match="targets has 3: give names"):
        names(gpt(), ("W_q", 3))


def test_a_head_with_a_soft_cap_is_no_plain_linear_map():
    """Merged with an update, it would be a matrix without its cap."""
    model = gpt(variant=BlockVariant(logit_cap=30.0), tie_embeddings=False)
    with pytest.raises(InputError, match="head, which is no linear map but of kind CappedHead"):
        names(model, "head")
