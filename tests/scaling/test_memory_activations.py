"""What is kept for the backward pass, against what autograd keeps."""

import pytest
import torch
from torch.nn.functional import cross_entropy

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.models import (
    GPT,
    Bert,
    BertConfig,
    BlockVariant,
    GPTConfig,
    Transformer,
    TransformerConfig,
)
from mathlm.scaling import saved_numbers
from mathlm.scaling.memory import normalized

SIZES = {"vocab_size": 96, "context": 64, "d_model": 48, "n_layers": 2, "n_heads": 4}
LLAMA = {"norm": "rms", "activation": "swiglu", "position": "rope", "n_kv_heads": 2}
GPTS = [
    {}, LLAMA, LLAMA | {"qk_norm": True, "bias": False}, LLAMA | {"window": 5},
    {"activation": "relu", "position": "none"}, {"window": 5}, {"qk_norm": True},
    {"position": "alibi"}, {"position": "alibi", "window": 5, "norm": "rms"},
    {"position": "alibi", "n_kv_heads": 2},
    {"d_head": 20, "d_ff": 70, "n_kv_heads": 1}, {"tie_embeddings": False, "n_layers": 5},
]  # fmt: skip
TRANSFORMERS = [
    {}, {"norm_first": True}, {"norm": "rms", "activation": "swiglu", "position": "none"},
    {"activation": "geglu_tanh"},
    {"n_decoder_layers": 5, "position": "learned"}, {"target_vocab_size": 300},
    {"norm_first": True, "norm": "rms", "bias": False, "tie_embeddings": "all", "d_head": 20},
]  # fmt: skip
B, S, T = 3, 60, 40
IDS = torch.arange(B * T).view(B, T) % 96
SOURCE = torch.arange(B * S).view(B, S) % 96


def kept(model, work):
    """Floating-point numbers in storages that autograd keeps, those of the model left out."""
    own = {t.untyped_storage().data_ptr() for t in (*model.parameters(), *model.buffers())}
    found = {}

    def keep(x):
        storage = x.untyped_storage()
        if x.is_floating_point() and storage.data_ptr() not in own:
            found[storage.data_ptr()] = storage, storage.nbytes() // x.element_size()
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        work()
    return sum(n for _, n in found.values())


def loss_of(logits):
    return cross_entropy(logits.flatten(0, 1), IDS.flatten())


@pytest.mark.parametrize("changes", GPTS, ids=str)
def test_a_gpt_keeps_what_is_counted(changes):
    """To the number, but for the count of targets and the one table of cosines and sines."""
    config = GPTConfig(**SIZES | changes)
    model = GPT(config)
    found = kept(model, lambda: loss_of(model(IDS)))
    turns = T * config.head_width if config.position == "rope" else 0
    assert saved_numbers(config, T, B) == found - 1 - turns


@pytest.mark.parametrize("changes", TRANSFORMERS, ids=str)
def test_an_encoder_decoder_keeps_what_is_counted(changes):
    """To the number, but for the count of targets."""
    config = TransformerConfig(**SIZES | changes)
    model = Transformer(config)
    found = kept(model, lambda: loss_of(model(SOURCE, IDS)))
    assert saved_numbers(config, (S, T), B) == found - 1


@pytest.mark.parametrize("activation", ["relu", "gelu"])
def test_a_bert_keeps_what_is_counted(activation):
    config = BertConfig(**SIZES, activation=activation)
    model = Bert(config)
    found = kept(model, lambda: model(IDS).sum())
    assert saved_numbers(config, T, B) == found


@pytest.mark.parametrize("make", [GPT, Transformer])
def test_relative_positions_keep_the_weights_of_attention(make):
    """All H T S of them; the buckets of a table, which are integers, are not counted."""
    config = {GPT: GPTConfig, Transformer: TransformerConfig}[make](
        **SIZES, position="relative"
    )
    model = make(config)
    inputs = (IDS,) if make is GPT else (SOURCE, IDS)
    found = kept(model, lambda: loss_of(model(*inputs)))
    tokens = T if make is GPT else (S, T)
    assert saved_numbers(config, tokens, B) == pytest.approx(found, rel=0.02)


@pytest.mark.parametrize(("norm", "numbers"), [("layer", 2 * 48 + 2), ("rms", 3 * 48 + 1)])
def test_a_normalization_keeps_what_is_counted_to_the_number(norm, numbers):
    """What came in and what a linear map reads of it, and one number a token or two."""
    layer = GPT(GPTConfig(**SIZES, norm=norm)).final_norm
    x, weight = torch.randn(B, T, 48, requires_grad=True), torch.nn.Linear(48, 3)
    found = kept(torch.nn.Sequential(layer, weight), lambda: weight(layer(x)))
    assert found == B * T * numbers == B * T * normalized(48, norm)


def test_a_gpt_2_by_hand():
    """A token of a block: 2(2·768 + 2) + 4·768 + 12 + 2·3072 = 12,304; then 1,538 + 50,257."""
    assert saved_numbers(GPTConfig(), 1024, 8) == 8 * 1024 * (12 * 12_304 + 1_538 + 50_257)


def test_only_weights_of_attention_grow_faster_than_the_text():
    fused, kept_weights = (
        GPTConfig(**SIZES | {"context": 2048}, position=p) for p in ("none", "alibi")
    )
    assert saved_numbers(fused, 1000) == 10 * saved_numbers(fused, 100)
    more = saved_numbers(kept_weights, 1000) - saved_numbers(fused, 1000)
    assert more == 2 * 4 * 1000 * 1000 - 2 * 4 * 1000  # L H T T, in place of L H T sums


def test_what_is_no_configuration_is_refused():
    with pytest.raises(InputTypeError, match="config is a dict; counted are GPTConfig, Bert"):
        saved_numbers({}, 3)
    with pytest.raises(InputError, match="batch=0 must be an integer of at least 1"):
        saved_numbers(GPTConfig(), 3, 0)


def test_a_gpt_with_another_block_is_not_counted():
    config = GPTConfig(**SIZES, norm="rms", variant=BlockVariant(placement="after"))
    with pytest.raises(ConfigError, match="knows no GPT with variant=BlockVariant"):
        saved_numbers(config, 3)
