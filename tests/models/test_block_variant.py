"""A GPT with a variant: what it builds, what it keeps, and who refuses it."""

import pytest
import torch

from mathlm.adapt import add_lora, add_prefix
from mathlm.align.answers import target_log_probabilities
from mathlm.errors import ConfigError, InputError
from mathlm.generate import generate, quantize
from mathlm.generate.fused_step import prepared_step
from mathlm.interpret import losses_by_head, stream_contributions
from mathlm.models import GPT, BlockVariant, GPTConfig
from mathlm.scaling import (
    count_parameters,
    forward_flops,
    kv_cache_bytes,
    saved_numbers,
    window_cache_bytes,
)

SIZES = {
    "vocab_size": 40, "context": 24, "d_model": 16, "n_layers": 4, "n_heads": 4,
    "n_kv_heads": 2, "d_ff": 24, "norm": "rms", "activation": "swiglu", "position": "rope",
    "bias": False,
}  # fmt: skip
VARIANTS = {
    "gemma": {
        "window": 5, "qk_norm": True,
        "variant": BlockVariant(
            placement="both", centered=True, full_every=2, local_rope_base=100.0,
            score_scale=0.3, score_cap=2.0, logit_cap=3.0, scale_embedding=True,
        ),
    },
    "olmo": {
        "qk_norm": True, "variant": BlockVariant(placement="after", qk_norm_over="all"),
    },
    "gate and sink": {
        "window": 5,
        "variant": BlockVariant(gate=True, sinks=True, rotary_fraction=0.5, full_every=4),
    },
}  # fmt: skip
EVERY = pytest.mark.parametrize("kind", VARIANTS)
IDS = torch.arange(40).view(2, 20) * 7 % 40


def model_of(kind):
    model = GPT(GPTConfig(**SIZES | VARIANTS[kind])).eval()
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


@EVERY
@pytest.mark.parametrize("sliding", [False, True])
def test_with_a_cache_it_is_the_whole_for_every_split(kind, sliding):
    model = model_of(kind)
    with torch.no_grad():
        whole = model(IDS)
        for at in range(1, 20):
            cache = model.new_cache(2, sliding=sliding)
            parts = model(IDS[:, :at], cache=cache), model(IDS[:, at:], cache=cache)
            torch.testing.assert_close(torch.cat(parts, 1), whole, rtol=1e-10, atol=1e-11)


@EVERY
def test_token_by_token_and_with_padding_in_front_it_is_the_same(kind):
    model, mask = model_of(kind), torch.ones(2, 20, dtype=torch.bool)
    mask[1, :6] = False
    with torch.no_grad():
        alone, cache, rows = model(IDS[1:, 6:]), model.new_cache(2, sliding=True), []
        for t in range(20):
            rows.append(model(IDS[:, t : t + 1], mask=mask[:, : t + 1], cache=cache))
    row = torch.cat(rows, 1)[1:, 6:]
    torch.testing.assert_close(row, alone, rtol=1e-10, atol=1e-11)


@EVERY
def test_greedy_texts_are_those_of_the_logits(kind):
    model, ids = model_of(kind), IDS[:1, :4]
    found = generate(model, ids, 12, temperature=0.0)
    for _ in range(12):
        ids = torch.cat((ids, model(ids)[:, -1:].argmax(-1)), 1)
    assert torch.equal(torch.as_tensor(found).flatten()[-12:], ids.flatten()[-12:])


def test_layers_have_the_windows_and_the_cache_the_bytes_of_the_formula():
    config = model_of("gemma").config
    assert config.windows == (5, None, 5, None)
    assert window_cache_bytes(config, 20, 3, 8) == 2 * 3 * 2 * 4 * 8 * (5 + 20 + 5 + 20)
    assert window_cache_bytes(config, 4) == kv_cache_bytes(config, 4)
    cache = model_of("gemma").new_cache(3, 20, sliding=True)
    room = 2 * 3 * 2 * 4 * 8 * (6 + 20 + 6 + 20)  # a quarter more than the window
    assert cache.bytes == room


def test_a_refused_step_back_changes_no_layer():
    model = model_of("gemma")
    cache = model.new_cache(2, sliding=True)
    with torch.no_grad():
        model(IDS, cache=cache)
    with pytest.raises(InputError, match="cannot go back from 20 tokens to 3"):
        cache.rewind(3)
    assert {layer.length for layer in cache.layers} == {20}


@EVERY
def test_parameters_are_counted(kind):
    model = model_of(kind)
    assert count_parameters(model.config) == sum(p.numel() for p in model.parameters())


def test_the_gate_costs_its_products():
    plain = GPTConfig(**SIZES)
    gated = GPTConfig(**SIZES, variant=BlockVariant(gate=True))
    more = forward_flops(gated, 10) - forward_flops(plain, 10)
    assert more == 2 * 10 * 4 * 16 * 16


def test_the_default_variant_is_no_change():
    plain, same = (GPT(GPTConfig(**SIZES, variant=v)) for v in (None, BlockVariant()))
    same.load_state_dict(plain.state_dict())
    torch.testing.assert_close(same(IDS), plain(IDS), rtol=1e-12, atol=1e-12)


def test_every_parameter_learns_and_low_rank_updates_reach_the_gate():
    model = model_of("gate and sink")
    model(IDS).square().sum().backward()
    assert all(p.grad.abs().sum() > 0 for p in model.parameters())
    add_lora(model, rank=2, targets="all-linear")
    assert any(
        ("W_g" in n and "lora" in n.lower()) or "W_g." in n for n, _ in model.named_parameters()
    )


def test_answers_are_judged_by_all_of_the_model():
    model = model_of("gemma")
    batch = {"ids": IDS[:, :-1], "targets": IDS[:, 1:]}
    expected = model(IDS[:, :-1]).log_softmax(-1).gather(-1, IDS[:, 1:, None]).squeeze(-1)
    torch.testing.assert_close(target_log_probabilities(model, batch), expected)


REFUSALS = {
    "quantize": lambda m: quantize(m),
    "a prefix or a prompt": lambda m: add_prefix(m, 2, gated=True),
    "a forward pass resumed": lambda m: losses_by_head(m, IDS, [0]),
    "the attribution of logits": lambda m: stream_contributions(m, IDS),
    "the count of what the backward pass": lambda m: saved_numbers(m.config, 4),
}


@pytest.mark.parametrize("who", REFUSALS)
def test_who_knows_only_plain_blocks_refuses(who):
    with pytest.raises(ConfigError, match=f"{who}.* knows no GPT with variant"):
        REFUSALS[who](model_of("olmo"))


def test_the_fused_step_leaves_it_to_the_model():
    assert prepared_step(model_of("olmo")) is None
    assert prepared_step(GPT(GPTConfig(**SIZES)).eval()) is not None


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"placement": "behind"}, "placement='behind' is not one of 'before', 'after', 'both'"),
        ({"qk_norm_over": "row"}, "qk_norm_over='row'"),
        ({"score_cap": 0.0}, "score_cap=0.0 must be positive"),
        ({"logit_cap": float("inf")}, "logit_cap=inf must be positive and finite"),
        ({"rotary_fraction": 0.0}, "rotary_fraction=0.0"),
        ({"full_every": 1}, "full_every=1 must be an integer of 2 or more"),
        ({"gate": 1}, "gate=1 must be True or False"),
    ],
)
def test_a_choice_out_of_range_is_refused(choice, words):
    with pytest.raises(ConfigError, match=words):
        BlockVariant(**choice)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"variant": {"gate": True}}, "must be a BlockVariant"),
        ({"variant": BlockVariant(full_every=2)}, "full_every=2 needs a window"),
        ({"variant": BlockVariant(local_rope_base=9.0)}, "local_rope_base=9.0 needs a window"),
        ({"variant": BlockVariant(rotary_fraction=0.8)}, "of d_head=4 is 3 features"),
        ({"variant": BlockVariant(centered=True), "norm": "layer"}, "need norm='rms'"),
        ({"variant": BlockVariant(rotary_fraction=0.5), "position": "none"}, "position='rope'"),
        ({"variant": BlockVariant(score_cap=5.0), "position": "alibi"}, "position='alibi'"),
    ],
)
def test_choices_that_do_not_go_together_are_refused(changes, words):
    with pytest.raises(ConfigError, match=words):
        GPTConfig(**SIZES | changes)
