"""Counts, against the tensors of real models."""

import pytest
import torch

from mathlm.errors import InputError
from mathlm.models import GPT, PRESETS, GPTConfig, MixtureConfig
from mathlm.scaling import (
    count_parameters,
    kv_cache_bytes,
    latent_cache_bytes,
    window_cache_bytes,
)

SIZES = {"vocab_size": 10, "context": 32, "d_model": 24, "n_layers": 3, "n_heads": 6}


@pytest.mark.parametrize("changes", [{}, {"n_kv_heads": 2}, {"n_kv_heads": 1}, {"d_head": 10}])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_count_is_what_a_cache_holds(changes, dtype):
    model = GPT(GPTConfig(**SIZES | changes)).to(dtype)
    held = [t for layer in model.new_cache(5, 17).layers for t in (layer.k, layer.v)]
    storages = {t.untyped_storage().data_ptr(): t.untyped_storage() for t in held}
    expected = sum(storage.nbytes() for storage in storages.values())
    assert kv_cache_bytes(model.config, 17, 5, dtype.itemsize) == expected


def test_smollm2_by_hand():
    """2 x 30 layers x 3 heads x 64 numbers x 2 bytes = 23,040 bytes a token."""
    assert kv_cache_bytes(PRESETS["smollm2-135m"], 1) == 23_040
    assert kv_cache_bytes(PRESETS["smollm2-135m"], 8192) == 188_743_680


def test_sharing_heads_divides_the_cache():
    many, two, one = (kv_cache_bytes(GPTConfig(**SIZES, n_kv_heads=g), 7) for g in (6, 2, 1))
    assert many == 3 * two == 6 * one


def test_no_tokens_take_no_memory():
    assert kv_cache_bytes(GPTConfig(), 0) == window_cache_bytes(GPTConfig(), 0) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokens": -1}, "tokens=-1 must be an integer of at least 0"),
        ({"batch": 0}, "batch=0 must be an integer of at least 1"),
        ({"bytes_per_number": 0}, "bytes_per_number=0 must be"),
        ({"tokens": 2.5}, "tokens=2.5 must be an integer"),
        ({"batch": True}, "batch=True must be an integer"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_numbers_that_count_nothing_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        kv_cache_bytes(GPTConfig(), **{"tokens": 1} | changes)


def test_experts_and_routers_are_parts_of_a_mixture():
    """5 + 1 networks of 3 · 24 · 8 and 5 rows of 24 in each of 3 blocks."""
    gpt = GPTConfig(**SIZES, d_ff=8, norm="rms", activation="swiglu", bias=False)
    config = MixtureConfig(gpt=gpt, n_experts=5, top_k=2, n_shared=1)
    parts, dense = (count_parameters(c, by_part=True) for c in (config, gpt))
    assert parts == dense | {"feed_forward": 3 * 6 * 3 * 24 * 8, "router": 3 * 5 * 24}


def test_a_latent_cache_is_counted_per_token_and_layer():
    assert latent_cache_bytes(60, 512, 64, 1) == 69_120
    assert latent_cache_bytes(3, 5, 0, 7, batch=2, bytes_per_number=4) == 3 * 5 * 7 * 2 * 4


def test_deepseek_v2_says_that_it_keeps_a_fifteenth_of_deepseek_67b():
    """95 layers and 8 key/value heads of 128 in 16 bits, against 576 numbers in 6 bits."""
    before = GPTConfig(n_layers=95, n_heads=64, n_kv_heads=8, d_head=128, d_model=8192)
    bits = 6 * latent_cache_bytes(60, 512, 64, 1, bytes_per_number=1)
    assert round(100 * (1 - bits / (8 * kv_cache_bytes(before, 1))), 1) == 93.3


@pytest.mark.parametrize(
    "bad",
    [
        {"d_latent": 0},
        {"d_rotary": -1},
        {"tokens": -1},
        {"n_layers": 0},
        {"batch": 0},
        {"bytes_per_number": 0},
    ],
)
def test_sizes_of_a_latent_cache_that_make_no_sense_are_refused(bad):
    (name,) = bad
    with pytest.raises(InputError, match=f"{name}="):
        latent_cache_bytes(**{"n_layers": 1, "d_latent": 4, "d_rotary": 2, "tokens": 3} | bad)
