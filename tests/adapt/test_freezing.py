"""Freezing a part of a model."""

import pytest
import torch
from torch import nn

from mathlm.adapt import freeze
from mathlm.errors import InputError, InputTypeError
from mathlm.models import GPT, GPTConfig


def tiny_gpt(**choices):
    sizes = {"d_model": 16, "n_layers": 2, "n_heads": 2, "vocab_size": 7, "context": 8}
    return GPT(GPTConfig(**sizes | choices))


def trained(model):
    return [name for name, p in model.named_parameters() if p.requires_grad]


def test_one_block_and_the_last_norm_are_trained():
    """Names by hand: a block has 2 norms of 2 and 6 maps of 2 parameters, 16 together."""
    found = trained(freeze(tiny_gpt(), but=["blocks.1", "final_norm"]))
    assert len(found) == 16 + 2
    assert {name.split(".")[0] for name in found} == {"blocks", "final_norm"}
    assert not any(name.startswith("blocks.0.") for name in found)


def test_a_part_of_a_name_trains_every_parameter_that_has_it():
    """12 biases of maps; gamma and beta of 5 norms."""
    model = tiny_gpt()
    assert len(trained(freeze(model, but=["bias"]))) == 12
    assert len(trained(freeze(model, but=["gamma", "beta"]))) == 10


def test_names_match_by_whole_parts_only():
    """blocks.1 is not blocks.10, and W_q not W_query."""
    model = nn.ModuleDict({"blocks": nn.ModuleList(nn.Linear(1, 1) for _ in range(11))})
    assert trained(freeze(model, but=["blocks.1"])) == ["blocks.1.weight", "blocks.1.bias"]


def test_a_step_moves_nothing_but_what_was_named():
    model = freeze(tiny_gpt(), but=["blocks.0.attention.W_v"])
    before = {name: p.detach().clone() for name, p in model.named_parameters()}
    model(torch.arange(7)[None]).square().sum().backward()
    torch.optim.SGD((p for p in model.parameters() if p.requires_grad), lr=0.1).step()
    moved = [n for n, p in model.named_parameters() if not torch.equal(p, before[n])]
    assert moved == ["blocks.0.attention.W_v.weight", "blocks.0.attention.W_v.bias"]


def test_nothing_is_trained_if_nothing_is_named():
    assert trained(freeze(tiny_gpt())) == []


def test_a_second_call_forgets_the_first():
    model = freeze(tiny_gpt(), but=["bias"])
    assert trained(freeze(model, but=["final_norm.gamma"])) == ["final_norm.gamma"]


def test_a_name_that_matches_nothing_is_refused_with_what_is_near():
    model = freeze(tiny_gpt(), but=["bias"])
    with pytest.raises(InputError, match=r"'W_1' matches no parameter; near it: .*W_"):
        freeze(model, but=["gamma", "W_1"])
    assert len(trained(model)) == 12


def test_a_tied_head_is_trained_as_the_embedding():
    model = tiny_gpt(tie_embeddings=True)
    with pytest.raises(InputError, match=r"head.weight is the same tensor as token_embedding"):
        freeze(model, but=["head"])
    assert trained(freeze(model, but=["token_embedding"])) == ["token_embedding.weight"]


@pytest.mark.parametrize("but", ["bias", 3, [3], [None]])
def test_what_is_no_list_of_names_is_refused(but):
    with pytest.raises(InputTypeError, match=r"write but=|give names"):
        freeze(tiny_gpt(), but=but)
