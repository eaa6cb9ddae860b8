"""What each part of a model writes, against models of which only that part is left."""

import copy
import itertools

import pytest
import torch

from mathlm.adapt import add_lora
from mathlm.errors import InputError, InputTypeError
from mathlm.generate import quantize
from mathlm.interpret import (
    Steered,
    logit_contributions,
    record,
    stream_contributions,
    stream_writes,
)
from mathlm.models import GPT, Bert, BertConfig, GPTConfig, MixtureConfig, MixtureGPT

SIZES = {"vocab_size": 11, "context": 8, "d_model": 8, "n_layers": 3, "n_heads": 4}
IDS = torch.tensor([[3, 1, 4, 1, 5], [9, 2, 6, 5, 3]])
MASK = torch.tensor([[True] * 5, [False, False, True, True, True]])
KINDS = [
    {"norm": norm, "bias": bias, "position": position, "n_kv_heads": G}
    for norm, bias, position, G in itertools.product(
        ("layer", "rms"), (True, False, "qkv"), ("learned", "rope"), (2, 4)
    )
]  # fmt: skip


def perturbed(**kind):
    """A GPT whose gains, shifts and biases are not those of the start."""
    model = GPT(GPTConfig(**SIZES | kind)).eval()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.3)
    return model


def close(found, expected):
    torch.testing.assert_close(found, expected, rtol=1e-10, atol=1e-10)


@torch.no_grad()
@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: "-".join(map(str, kind.values())))
def test_the_parts_add_up_to_the_stream_and_their_shares_to_the_logits(kind):
    model = perturbed(**kind)
    for mask in (None, MASK):
        parts = stream_contributions(model, IDS, mask)
        close(sum(parts.values()), record(model, IDS, mask)["blocks.2.resid_post"])
        real = torch.ones_like(IDS).bool() if mask is None else mask
        shares = logit_contributions(model, parts)
        close(sum(shares.values())[real], model(IDS, mask=mask)[real])


@torch.no_grad()
@pytest.mark.parametrize(("norm", "position"), [("layer", "alibi"), ("rms", "sinusoidal")])
def test_other_positions_add_up_too(norm, position):
    model = perturbed(norm=norm, position=position, activation="swiglu", tie_embeddings=False)
    shares = logit_contributions(model, stream_contributions(model, IDS))
    close(sum(shares.values()), model(IDS))


def test_the_parts_are_all_that_the_model_has():
    found = set(stream_contributions(perturbed(n_layers=1, n_heads=2), IDS))
    head = {f"blocks.0.attention.heads.{h}" for h in range(2)}
    network = {"blocks.0.feed_forward", "blocks.0.feed_forward.W_out.bias"}
    bias = {"blocks.0.attention.W_o.bias"}
    assert found == {"token_embedding", "position_embedding"} | head | bias | network
    few = set(
        stream_contributions(perturbed(n_layers=1, n_heads=2, position="rope", bias="qkv"), IDS)
    )
    assert few == {"token_embedding", "blocks.0.feed_forward"} | head


@torch.no_grad()
def test_the_embeddings_are_rows_of_their_tables():
    model = perturbed()
    parts = stream_contributions(model, IDS)
    close(parts["token_embedding"], model.token_embedding.weight[IDS])
    table = next(model.position.parameters())
    close(parts["position_embedding"], table[:5].expand(2, -1, -1))


@torch.no_grad()
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_a_head_writes_what_the_stream_lacks_without_its_columns(n_kv_heads):
    model = perturbed(n_kv_heads=n_kv_heads, position="rope")
    without = copy.deepcopy(model)
    without.blocks[2].attention.W_o.weight[:, 2:4] = 0.0  # of head 1, K = 2
    found = stream_contributions(model, IDS)["blocks.2.attention.heads.1"]
    streams = (record(m, IDS)["blocks.2.resid_mid"] for m in (model, without))
    close(found, next(streams) - next(streams))


@torch.no_grad()
def test_a_network_and_the_biases_write_what_is_left_when_the_rest_is_zero():
    model = perturbed()
    parts, writes = stream_contributions(model, IDS), stream_writes(model, IDS)
    block = model.blocks[1]
    bias = block.feed_forward.W_out.bias
    close(parts["blocks.1.feed_forward"] + bias, writes["blocks.1.feed_forward_out"])
    close(parts["blocks.1.feed_forward.W_out.bias"][1, 3], bias)
    block.attention.W_o.weight.zero_()
    left = stream_writes(model, IDS)["blocks.1.attention_out"]
    close(parts["blocks.1.attention.W_o.bias"], left)


@torch.no_grad()
def test_shares_of_some_tokens_are_columns_of_all():
    model = perturbed()
    parts = stream_contributions(model, IDS)
    every, some = (
        logit_contributions(model, parts, tokens) for tokens in (None, torch.tensor([7, 2]))
    )
    close(torch.stack([*some.values()]), torch.stack([*every.values()])[..., [7, 2]])
    close(every["final_norm.beta"][1, 2], model.head.weight @ model.final_norm.beta)


def test_models_whose_parts_are_others_are_refused():
    with pytest.raises(InputTypeError, match="Bert is not a GPT"):
        stream_contributions(Bert(BertConfig(**SIZES)).eval(), IDS)
    adapted = add_lora(perturbed(), rank=2)
    with pytest.raises(InputError, match="the model has low-rank adapters: merge_lora"):
        stream_contributions(adapted, IDS)


def test_a_map_that_is_not_linear_is_named():
    class Map(torch.nn.Linear):
        """As a quantized map, which is no Linear."""

    model = perturbed()
    model.blocks[1].attention.W_o = Map(8, 8)
    with pytest.raises(InputTypeError, match=r"blocks\.1\.attention\.W_o is a Map"):
        stream_contributions(model, IDS)


def test_a_head_whose_weights_are_not_at_hand_is_named():
    model = perturbed(tie_embeddings=False)
    parts = stream_contributions(model, IDS)
    with pytest.raises(InputTypeError, match="head is a ByteLinear"):
        logit_contributions(quantize(model, 8), parts)


def test_a_mixture_of_experts_is_named():
    sizes = SIZES | {"norm": "rms", "activation": "swiglu", "bias": False}
    mixture = MixtureGPT(MixtureConfig(gpt=GPTConfig(**sizes), n_experts=4, top_k=2)).eval()
    with pytest.raises(InputTypeError, match=r"blocks\.0\.feed_forward is a MixtureOfExperts"):
        stream_contributions(mixture.gpt, IDS)


def test_unknown_tokens_and_no_writes_are_refused():
    model = perturbed()
    parts = stream_contributions(model, IDS)
    with pytest.raises(InputError, match=r"tokens \[3, 11\]: .* 0 to 10"):
        logit_contributions(model, parts, torch.tensor([3, 11]))
    with pytest.raises(InputError, match="0 writes"):
        logit_contributions(model, {})
    with pytest.raises(InputError, match=r"embedding is \(2, 5, 7\), expected \(B, T, 8\)"):
        logit_contributions(model, {"embedding": torch.zeros(2, 5, 7)})


@pytest.mark.parametrize("place", ["blocks.0.feed_forward.W_out", "head"])
def test_every_map_that_writes_must_be_linear(place):
    class Map(torch.nn.Linear):
        """As a quantized map, which is no Linear."""

    model = perturbed(tie_embeddings=False)
    old = model.get_submodule(place)
    model.set_submodule(place, Map(old.in_features, old.out_features))
    with pytest.raises(InputTypeError, match=f"{place} is a Map"):
        stream_contributions(model, IDS)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("tokens", [[1, 2], 3, torch.tensor([1.0]), torch.ones(11).bool()],
                         ids=["list", "int", "float", "bool"])  # fmt: skip
def test_tokens_that_are_no_ids_are_refused(tokens):
    model = perturbed()
    with pytest.raises(InputTypeError, match=r"tokens must be a tensor of int64"):
        logit_contributions(model, stream_contributions(model, IDS), tokens)


def test_a_negative_token_is_not_one_counted_backwards():
    model = perturbed()
    with pytest.raises(InputError, match=r"tokens \[-1\]: .* 0 to 10"):
        logit_contributions(model, stream_contributions(model, IDS), torch.tensor([-1]))


@pytest.mark.parametrize("tokens", [torch.ones(2, 1), torch.tensor(3), torch.zeros(0)],
                         ids=["table", "one", "none"])  # fmt: skip
@pytest.mark.usefixtures("unchecked")
def test_tokens_that_are_no_row_of_ids_are_refused(tokens):
    model = perturbed()
    with pytest.raises(InputError, match=r"must be \(N,\), one or more"):
        logit_contributions(model, stream_contributions(model, IDS), tokens.long())


@pytest.mark.usefixtures("unchecked")
def test_writes_of_which_no_stream_is_the_sum_are_refused():
    model, one = perturbed(), torch.zeros(2, 5, 8)
    with pytest.raises(
        InputError, match=r"b is \(2, 4, 8\), expected \(2, 5, 8\) as the first"
    ):
        logit_contributions(model, {"a": one, "b": one[:, :4]})
    with pytest.raises(InputError, match="b holds NaN"):
        logit_contributions(model, {"a": one, "b": one * torch.nan})
    with pytest.raises(InputTypeError, match="writes must be a dict, as it was made, got list"):
        logit_contributions(model, [one])


def test_a_steered_model_is_no_sum_of_what_its_parts_write():
    steered = Steered(perturbed(), {"blocks.1.resid_pre": torch.ones(8)})
    for parts in (stream_contributions, stream_writes):
        with pytest.raises(InputError, match=r"steered at blocks.1.resid_pre, .*source\[0\]"):
            parts(steered, IDS)
