"""Operations, against the counter of torch."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

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
    RecurrentConfig,
    Transformer,
    TransformerConfig,
)
from mathlm.scaling import PUBLISHED, count_parameters, flops_per_token, forward_flops, six_nd

SIZES = {"vocab_size": 30, "context": 64, "d_model": 24, "n_layers": 3, "n_heads": 6}
LLAMA = {
    "n_kv_heads": 2, "norm": "rms", "activation": "swiglu", "position": "rope", "bias": False,
}  # fmt: skip
GPTS = [{}, LLAMA, {"d_head": 10, "tie_embeddings": False, "qk_norm": True, "d_ff": 50}]
GPTS += [{"position": "alibi", "window": 5}, {"position": "relative"}]
GPTS += [LLAMA | {"variant": BlockVariant(gate=True)}]
TRANSFORMERS = [{}, {"n_decoder_layers": 1, "target_vocab_size": 50}]
TRANSFORMERS += [{"norm_first": True, "activation": "swiglu", "d_head": 10, "d_ff": 50}]
TRANSFORMERS += [{"activation": "geglu_tanh", "tie_embeddings": "inputs"}]
T, S, B = 40, 25, 2
IDS, SOURCE = torch.arange(B * T).view(B, T) % 30, torch.arange(B * S).view(B, S) % 30


def counted(call):
    """Operations of a forward pass, and of forward and backward, as torch counts them.

    The plain kernel of attention is made of matrix products, which the counter sees.
    """
    with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
        y = call()
        forward = counter.get_total_flops()
        y.sum().backward()
    return forward, counter.get_total_flops()


@pytest.mark.parametrize("changes", GPTS, ids=str)
def test_a_gpt_takes_what_torch_counts(changes):
    config = GPTConfig(**SIZES | changes)
    model = GPT(config)
    expected, both = counted(lambda: model(IDS))
    assert forward_flops(config, T, B) == expected
    assert B * T * flops_per_token(config, T, training=True) == pytest.approx(both, rel=1e-12)


@pytest.mark.parametrize("changes", TRANSFORMERS, ids=str)
def test_an_encoder_decoder_takes_what_torch_counts(changes):
    config = TransformerConfig(**SIZES | changes)
    model = Transformer(config)
    expected, both = counted(lambda: model(SOURCE, IDS))
    assert forward_flops(config, (S, T), B) == expected
    ours = B * (S + T) * flops_per_token(config, (S, T), training=True)
    assert ours == pytest.approx(both, rel=1e-12)


def test_one_number_stands_for_both_sequences():
    config = TransformerConfig(**SIZES)
    assert [forward_flops(config, t) for t in (1, T)] == [
        forward_flops(config, (t, t)) for t in (1, T)
    ]


def test_a_bert_takes_what_torch_counts():
    config = BertConfig(**SIZES)
    model = Bert(config)
    expected, both = counted(lambda: model(IDS))
    assert forward_flops(config, T, B) == expected
    assert B * T * flops_per_token(config, T, training=True) == pytest.approx(both, rel=1e-12)


@pytest.mark.parametrize("kind", ["rnn", "gru", "lstm"])
def test_a_recurrent_model_takes_what_torch_counts(kind):
    """But that the first state of each layer, one of 10, wants no gradient."""
    config = RecurrentConfig(kind=kind, vocab_size=30, d_model=24, n_layers=2, fused=False)
    model = Recurrent(config)
    expected, both = counted(lambda: model(IDS[:, :10]))
    assert forward_flops(config, 10, B) == expected
    assert 10 * B * flops_per_token(config, 10, training=True) == pytest.approx(both, rel=0.04)


def test_an_mlp_takes_what_torch_counts():
    config = MLPConfig(d_in=3, d_hidden=(50, 70), d_out=20)
    model, x = MLP(config), torch.randn(T, 3, requires_grad=True)
    expected, both = counted(lambda: model(x))
    assert forward_flops(config, T) == expected
    assert T * flops_per_token(config, T, training=True) == pytest.approx(both, rel=1e-12)


@pytest.mark.parametrize("past", [1, 7, 39])
def test_reading_behind_a_cache_takes_what_torch_counts(past):
    config = GPTConfig(**SIZES | LLAMA)
    model, new = GPT(config), IDS[:, past:]
    with torch.no_grad():
        cache = model.new_cache(B)
        model(IDS[:, :past], cache=cache)
        with FlopCounterMode(display=False) as counter, sdpa_kernel(SDPBackend.MATH):
            model(new, cache=cache)
    assert forward_flops(config, T - past, B, cached=past) == counter.get_total_flops()


def test_one_token_at_a_time_takes_less_than_reading_the_whole_text_anew():
    """Scores: 1 + 2 + ... + T pairs with a cache; all else T times."""
    config = GPTConfig(**SIZES)
    steps = sum(forward_flops(config, 1, cached=t) for t in range(T))
    saved = 4 * 3 * 24 * (T * T - T * (T + 1) // 2)
    assert steps == forward_flops(config, T) - saved
    assert sum(forward_flops(config, t + 1) for t in range(T)) > 10 * steps


def test_a_gpt_2_by_hand():
    """2 (12·12·768² + 768·50,257) + 4·12·1024·768 = 284,812,800 operations a token."""
    expected = 2 * (12 * 12 * 768**2 + 768 * 50_257) + 4 * 12 * 1024 * 768
    assert flops_per_token(GPTConfig(), 1024) == expected == 284_812_800


def test_the_rule_of_thumb_leaves_out_the_share_of_attention():
    """With N the entries of the blocks' matrices: S / (6 D) of what it has."""
    config = GPTConfig(vocab_size=1, d_model=64, n_heads=4, n_layers=3, context=96)
    blocks = 3 * 12 * 64**2
    exact = flops_per_token(config, 96, training=True) - 6 * 64  # without the head of one word
    assert exact / (six_nd(blocks, 1)) - 1 == pytest.approx(96 / (6 * 64), rel=1e-12)


def test_gpt_3_takes_what_its_paper_says():
    """Brown et al. (2020), table D.1: 174,600 million parameters, 300e9 tokens, 3.14e23."""
    n = count_parameters(PUBLISHED["gpt3-175b"])
    assert six_nd(n, 300e9) == pytest.approx(3.14e23, rel=2e-3)


BAD = {
    "tokens": ({"tokens": 0}, "tokens=0 must be an integer of at least 1"),
    "part of a token": ({"tokens": 2.5}, "tokens=2.5 must be an integer"),
    "batch": ({"batch": 0}, "batch=0 must be an integer of at least 1"),
    "cached": ({"cached": -1}, "cached=-1 must be an integer of at least 0"),
    "pair": ({"tokens": (3, 4)}, r"tokens=\(3, 4\) of a GPTConfig: two numbers"),
}


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("changes", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_that_count_nothing_are_refused(changes, message):
    with pytest.raises(InputError, match=message):
        forward_flops(GPTConfig(), **{"tokens": 4} | changes)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("tokens", "message"),
    [
        ((3, 0), "target_tokens=0 must be"),
        ((0, 3), "source_tokens=0 must be"),
        ((1, 2, 3), r"tokens=\(1, 2, 3\) of a TransformerConfig: two numbers"),
    ],
)
def test_an_encoder_decoder_reads_two_sequences(tokens, message):
    with pytest.raises(InputError, match=message):
        flops_per_token(TransformerConfig(**SIZES), tokens)


def test_a_cache_is_for_a_gpt_only():
    with pytest.raises(InputError, match="cached=3 needs a GPTConfig, not a BertConfig"):
        forward_flops(BertConfig(), 4, cached=3)


def test_what_is_no_configuration_is_refused():
    with pytest.raises(InputTypeError, match="config is a str; counted are GPTConfig"):
        flops_per_token("gpt2", 4)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("n", [0, -1.0, float("nan"), float("inf"), "7B", True])
def test_parameters_and_tokens_are_positive(n):
    with pytest.raises(InputError, match=r"n=.* must be a positive, finite number"):
        six_nd(n, 1e9)
    with pytest.raises(InputError, match=r"d=.* must be a positive, finite number"):
        six_nd(1e9, n)


def test_a_training_that_no_float_holds_is_said():
    for n, d in ((10**400, 1e9), (1e9, 10**400)):
        with pytest.raises(InputError, match=r"[nd] is about 10\^400, and the largest float"):
            six_nd(n, d)
    with pytest.raises(InputError, match=r"operations=inf must be a positive, finite number"):
        six_nd(1e200, 1e200)
