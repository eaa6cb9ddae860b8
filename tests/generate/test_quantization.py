import math
from dataclasses import replace

import pytest
import torch

from mathlm import functional as F
from mathlm.errors import InputError, InputTypeError
from mathlm.generate import generate, input_scales, quantize, stored_bytes
from mathlm.layers import ByteLinear, NibbleLinear
from mathlm.models import GPT, GPTConfig, MixtureConfig, MixtureGPT, Recurrent

SHAPE = {"vocab_size": 40, "context": 48, "d_model": 32, "n_layers": 2, "n_heads": 4}
LLAMA = {"norm": "rms", "activation": "swiglu", "position": "rope", "bias": False, "d_ff": 96}
KINDS = [
    {},
    {**LLAMA, "n_kv_heads": 2},
    {"tie_embeddings": False, "bias": "qkv", "qk_norm": True, "d_ff": 96},
]
IDS = torch.arange(24).view(2, 12) * 7 % 40


def small(**options):
    return GPT(GPTConfig(**{**SHAPE, **options})).eval()


def rounded_by_hand(model, bits, group):
    """The model with each matrix replaced by its nearest levels, in float64."""
    for name, p in model.named_parameters():
        if p.ndim == 2 and not name.startswith("position"):
            eight = bits == 8 or not name.startswith("blocks")
            levels = (
                F.symmetric_levels(p, 8)
                if eight
                else F.affine_levels(p, 4, group, torch.bfloat16)
            )
            p.data = levels.values(p.dtype)
    return model


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize(("bits", "group"), [(8, None), (4, 16)])
def test_a_quantized_model_is_the_model_with_rounded_weights(options, bits, group):
    model = small(**options)
    with torch.no_grad():
        quantized = quantize(model, bits, group)(IDS)
        expected = rounded_by_hand(model, bits, group)(IDS)
    torch.testing.assert_close(quantized, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("bits", [8, 4])
def test_in_float32_the_logits_are_those_of_float64(options, bits):
    """Through the kernels: 4 bits work with bfloat16, 8 binary digits."""
    torch.set_default_dtype(torch.float32)
    model = quantize(small(**options), bits, None if bits == 8 else 32)
    with torch.no_grad():
        fast = model(IDS[:, :6]).double()
        exact = model.double()(IDS[:, :6])
    assert (fast - exact).norm() < (1e-5 if bits == 8 else 0.02) * exact.norm()


@pytest.mark.parametrize("options", KINDS)
@pytest.mark.parametrize("bits", [8, 4])
def test_with_and_without_a_cache_the_texts_are_the_same(options, bits):
    model = quantize(small(**options), bits, None if bits == 8 else 32)
    texts = [generate(model, IDS, 16, temperature=0.0, cache=c) for c in (True, False)]
    assert torch.equal(*texts)


def test_the_model_itself_is_not_changed():
    model = small()
    before = model(IDS)
    quantize(model)
    assert torch.equal(model(IDS), before)
    assert all(p.requires_grad for p in model.parameters())


def test_every_matrix_is_codes_and_nothing_can_be_trained():
    model = quantize(small(), 4, 32)
    kinds = [type(m) for m in model.modules() if isinstance(m, ByteLinear | NibbleLinear)]
    assert kinds.count(NibbleLinear) == 2 * 6
    assert kinds.count(ByteLinear) == 1  # head and embedding in one
    assert not any(p.requires_grad for p in model.parameters())


def test_bytes_are_counted_by_hand():
    """Tied, 8 bits: per matrix 1 byte a weight, 8 a row of each block, 8 a step (float64).

    Blocks: W_q, W_k, W_v, W_o 32 wide; W_gate, W_in 96; W_out 32; head 40 in 48s.
    Norms have 5 · 32 gains; rope has two tables of cosines and sines.
    """
    model = quantize(small(**LLAMA))
    attention = 4 * (32 * (32 + 8) + 32 * 8)
    gates = 2 * (32 * (96 + 8) + 96 * 8)
    out = 96 * (32 + 8) + 32 * 8
    head = 32 * (48 + 8) + 40 * 8
    rest = sum(b.nbytes for b in model.position.buffers()) + 5 * 32 * 8
    assert stored_bytes(model) == 2 * (attention + gates + out) + head + rest


def test_four_bits_take_less_than_a_third_of_float32():
    torch.set_default_dtype(torch.float32)
    model = small(d_model=128, context=64, vocab_size=256)
    assert stored_bytes(quantize(model, 4)) < stored_bytes(model) / 3


def test_shared_weights_count_once():
    model = small(bias=False, position="none")
    numbers = sum(p.numel() for p in model.parameters())
    assert stored_bytes(model) == 8 * numbers


def outlying(**options):
    """A model whose maps read one feature that is 30 times as large as the others."""
    model = small(**options)
    with torch.no_grad():
        for block in model.blocks:
            block.attention_norm.gamma[3] *= 30
            block.feed_forward_norm.gamma[3] *= 30
    return model


def test_activation_aware_scales_lessen_the_error_of_the_logits():
    model = outlying(**LLAMA)
    with torch.no_grad():
        exact = model(IDS)
        plain = (quantize(model, 4, 32)(IDS) - exact).norm()
        aware = (quantize(model, 4, 32, "activation-aware", IDS)(IDS) - exact).norm()
    assert aware < 0.7 * plain, aware / plain


def test_scales_may_be_folded_into_the_normalization_before():
    """x / s = γ/s ⊙ x/rms: the same model with the scales of W_q, W_k, W_v moved there."""
    model = quantize(outlying(**LLAMA), 4, 32, "activation-aware", IDS)
    with torch.no_grad():
        beside = model(IDS)
        for block in model.blocks:
            block.attention_norm.gamma *= block.attention.W_q.inverse_scale
            for m in (block.attention.W_q, block.attention.W_k, block.attention.W_v):
                m.inverse_scale = None
        torch.testing.assert_close(model(IDS), beside)


def test_maps_that_read_the_same_inputs_share_their_scales():
    scales = input_scales(small(**LLAMA), IDS, 4, 8)
    q, k, v, o = (scales[f"blocks.1.attention.W_{n}"] for n in "qkvo")
    assert torch.equal(q, k)
    assert torch.equal(k, v)
    assert not torch.equal(v, o)
    gates = [scales[f"blocks.0.feed_forward.{n}"] for n in ("W_in", "W_gate")]
    assert torch.equal(*gates)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 5}, "bits=5 must be 8 or 4"),
        ({"bits": 8, "group": 32}, "group=32: weights of 8 bits have one grid for each row"),
        ({"bits": 4, "group": 0}, r"blocks.0.attention.W_q: group=0 must be at least 1"),
        ({"bits": 4, "method": "gptq"}, "method='gptq' must be one of"),
        ({"bits": 4, "method": "activation-aware"}, "needs calibration ids"),
        ({"bits": 4, "calibration": IDS}, "method='nearest' takes no calibration"),
        ({"method": "activation-aware", "calibration": IDS}, "are for bits=4"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_options_that_do_not_go_together_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        quantize(small(), **options)


@pytest.mark.usefixtures("unchecked")
def test_what_cannot_be_quantized_is_refused():
    model = small()
    with pytest.raises(InputError, match="quantized already"):
        quantize(quantize(model))
    with pytest.raises(InputTypeError, match="takes a GPT, got Recurrent"):
        quantize(Recurrent(kind="rnn", vocab_size=10, d_model=4))
    config = replace(model.config, norm="rms", activation="swiglu", bias=False)
    mixture = MixtureGPT(MixtureConfig(gpt=config, n_experts=3, top_k=2))
    with pytest.raises(InputError, match="the model has experts"):
        quantize(mixture.gpt)
    model.blocks[1].attention.W_k.weight.data[0, 0] = math.nan
    with pytest.raises(InputError, match=r"blocks.1.attention.W_k: 1 of 1024 numbers are NaN"):
        quantize(model)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"bits": 8.0}, "bits=8.0 must be an integer"),
        ({"bits": "8"}, "bits='8' must be an integer"),
        ({"bits": 4, "group": 64.0}, "group=64.0 must be an integer"),
        (
            {"bits": 4, "method": "activation-aware", "calibration": [[1]]},
            "calibration is a list",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_arguments_of_another_kind_are_named(options, message):
    with pytest.raises(InputTypeError, match=message):
        quantize(small(), **options)


@pytest.mark.parametrize("bits", [8, 4])
@pytest.mark.parametrize("name", ["blocks.1.feed_forward.W_in", "head", "token_embedding"])
def test_weights_whose_codes_would_make_nan_are_refused(bits, name):
    model = small(tie_embeddings=False)
    model.get_submodule(name).weight.data[3, 4] = -1e38
    with pytest.raises(InputError, match=rf"{name}: the largest weight is 1e\+38"):
        quantize(model, bits)


def test_scales_are_those_of_weights_that_are_no_codes():
    with pytest.raises(InputError, match="quantized already"):
        input_scales(quantize(small()), IDS, 4, 8)
