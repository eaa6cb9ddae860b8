"""Parameters, against those of real models."""

import itertools

import pytest
import torch

from mathlm.errors import InputTypeError
from mathlm.models import (
    GPT,
    MLP,
    Bert,
    BertConfig,
    GPTConfig,
    MLPConfig,
    Recurrent,
    RecurrentConfig,
    Transformer,
    TransformerConfig,
)
from mathlm.models.files.weights import shapes_only
from mathlm.scaling import count_parameters

SIZES = {"vocab_size": 30, "context": 16, "d_model": 24, "n_layers": 3, "n_heads": 6}
GPTS = [
    {}, {"tie_embeddings": False}, {"bias": False}, {"bias": "qkv"}, {"n_kv_heads": 2},
    {"d_head": 10, "n_kv_heads": 3}, {"d_ff": 50}, {"qk_norm": True}, {"norm": "rms"},
    {"norm": "rms", "bias": False}, {"activation": "swiglu"}, {"activation": "relu"},
    {"activation": "swiglu", "bias": False, "norm": "rms", "position": "rope"},
    {"position": "relative"}, {"position": "alibi"}, {"position": "none"},
    {"position": "sinusoidal", "window": 4},
]  # fmt: skip
TRANSFORMERS = [
    {}, {"target_vocab_size": 40}, {"target_vocab_size": 40, "tie_embeddings": "target"},
    {"tie_embeddings": "all"}, {"n_decoder_layers": 5}, {"d_ff": 50}, {"d_head": 10},
    {"norm": "rms"}, {"norm_first": True}, {"norm_first": True, "norm": "rms", "bias": False},
    {"bias": False}, {"activation": "swiglu"}, {"position": "learned"}, {"position": "none"},
    {"activation": "geglu_tanh"}, {"tie_embeddings": "inputs"},
    {"position": "relative", "n_buckets": 16, "max_distance": 64},
]  # fmt: skip
MODELS = {
    GPTConfig: GPT,
    BertConfig: Bert,
    TransformerConfig: Transformer,
    RecurrentConfig: Recurrent,
    MLPConfig: MLP,
}
CONFIGS = [
    *(GPTConfig(**SIZES | changes) for changes in GPTS),
    *(BertConfig(**SIZES | changes) for changes in ({}, {"d_ff": 50}, {"n_segments": 5})),
    *(TransformerConfig(**SIZES | changes) for changes in TRANSFORMERS),
    *(
        RecurrentConfig(kind=kind, d_model=24, n_layers=2, tie_embeddings=tied)
        for kind, tied in itertools.product(("rnn", "gru", "lstm"), (False, True))
    ),
    MLPConfig(d_in=3, d_hidden=(5, 7), d_out=2),
    MLPConfig(d_in=3, d_hidden=(), d_out=2, bias=False),
]


def make(config):
    with shapes_only():
        return MODELS[type(config)](config)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c}"[:90])
def test_the_count_is_that_of_the_model(config):
    assert count_parameters(config) == sum(p.numel() for p in make(config).parameters())


STACK = {
    "attention": "attention", "cross_attention": "cross_attention",
    "feed_forward": "feed_forward", "attention_norm": "norms", "cross_attention_norm": "norms",
    "feed_forward_norm": "norms",
}  # fmt: skip


def part_of(name):
    """Which part a parameter belongs to, read from its name."""
    first, *rest = name.split(".")
    if first in ("blocks", "encoder", "decoder"):
        return STACK[rest[1]] if first == "blocks" else f"{first}.{STACK[rest[1]]}"
    if first in ("encoder_norm", "decoder_norm"):
        return first.replace("_", ".") + "s"
    if first == "layers" and rest[0].isdigit():
        return f"layers.{rest[0]}"
    names = {"final_norm": "norms", "embedding_norm": "norms"}
    return "position" if "position" in first else names.get(first, first)


@pytest.mark.parametrize("config", CONFIGS, ids=lambda c: f"{c}"[:90])
def test_every_part_has_the_count_of_its_parameters(config):
    found = dict.fromkeys(count_parameters(config, by_part=True), 0)
    for name, p in make(config).named_parameters():
        found[part_of(name)] += p.numel()
    assert count_parameters(config, by_part=True) == found


def test_gpt_2_by_hand():
    """Per block 4·768² + 4·768 = 2,362,368 and 8·768² + 5·768 = 4,722,432 and 4·768 = 3,072."""
    assert count_parameters(GPTConfig(), by_part=True) == {
        "token_embedding": 50_257 * 768,
        "position": 1024 * 768,
        "attention": 12 * 2_362_368,
        "feed_forward": 12 * 4_722_432,
        "norms": 12 * 3_072 + 1_536,
        "head": 0,
    }


def test_cross_attention_is_a_third_of_the_attention_of_a_symmetric_encoder_decoder():
    """One self-attention in each stack, and one more in the decoder: all of one size."""
    parts = count_parameters(TransformerConfig(**SIZES), by_part=True)
    sizes = {parts[f"{name}attention"] for name in ("encoder.", "decoder.", "decoder.cross_")}
    assert sizes == {3 * 4 * (24 * 24 + 24)}


def test_a_matrix_that_is_shared_is_counted_once():
    none, target, every = (
        count_parameters(TransformerConfig(**SIZES, tie_embeddings=tie))
        for tie in ("none", "target", "all")
    )
    assert none - target == target - every == 30 * 24


def test_counting_a_model_that_no_memory_holds_makes_nothing():
    before = torch.get_rng_state()
    assert count_parameters(GPTConfig(d_model=2**20, n_layers=10**6, n_heads=128)) > 10**18
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("config", ["gpt2", None, GPTConfig, {"d_model": 4}])
def test_what_is_no_configuration_is_refused(config):
    kind = type(config).__name__
    with pytest.raises(InputTypeError, match=rf"config is a {kind}; counted are GPTConfig, M"):
        count_parameters(config)
