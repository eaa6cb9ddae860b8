"""Counts that papers and model cards print."""

from dataclasses import replace

import pytest

from mathlm.models import GPT, Bert, GPTConfig, Transformer, TransformerConfig
from mathlm.models.files.weights import shapes_only
from mathlm.scaling import PUBLISHED, count_parameters
from mathlm.scaling.published import _encoder_decoder, _gpt3, _llama, _t5

EXACT = {
    "t5-small": 60_506_624,
    "t5-base": 222_903_552,
    "t5-11b": 11_307_321_344,
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
    "smollm2-135m": 134_515_008,
    "llama-7b": 6_738_415_616,
    "llama-13b": 13_015_864_320,
    "llama-65b": 65_285_660_672,
    "llama2-70b": 68_976_648_192,
    "mistral-7b": 7_241_732_096,
    "llama3-8b": 8_030_261_248,
    "llama3-70b": 70_553_706_496,
}
ROUNDED = {  # as printed, and half a unit of the last digit
    "gpt3-175b": (174_600e6, 50e6),  # Brown et al. (2020), table D.1: 174,600 million
    "smollm2-360m": (362e6, 0.5e6),  # the model card: 362M
    "bert-large": (335e6 - 1.05e6, 0.5e6),  # 335M with the pooler of 1024² + 1024
}


@pytest.mark.parametrize(("name", "expected"), EXACT.items())
def test_the_count_is_that_of_the_published_weights(name, expected):
    """The sums over the tensors of the safetensors files at huggingface.co."""
    assert count_parameters(PUBLISHED[name]) == expected


@pytest.mark.parametrize(("name", "printed"), ROUNDED.items())
def test_the_count_rounds_to_what_is_printed(name, printed):
    assert abs(count_parameters(PUBLISHED[name]) - printed[0]) <= printed[1]


@pytest.mark.parametrize(
    ("name", "width", "expected"),
    [("bert-base", 768, 109_482_240), ("minilm", 384, 22_713_216)],
)
def test_a_bert_has_in_its_file_a_pooler_that_is_no_part_here(name, width, expected):
    assert count_parameters(PUBLISHED[name]) + width * width + width == expected


@pytest.mark.parametrize(
    ("name", "printed", "rel"),
    [("transformer-base", 65e6, 0.03), ("transformer-big", 213e6, 0.01)],
)
def test_the_models_of_2017_are_near_what_their_table_prints(name, printed, rel):
    """Vaswani et al. (2017), table 3: 65 and 213 million; "about 37,000" tokens."""
    assert count_parameters(PUBLISHED[name]) == pytest.approx(printed, rel=rel)


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_count_is_that_of_a_model_without_values(name):
    config = PUBLISHED[name]
    make = {GPTConfig: GPT, TransformerConfig: Transformer}.get(type(config), Bert)
    with shapes_only():
        model = make(config)
    assert count_parameters(config) == sum(p.numel() for p in model.parameters())


LLAMA = GPTConfig(
    vocab_size=32_000, context=2048, d_model=4096, n_layers=32, n_heads=32, d_ff=11_008,
    norm="rms", norm_eps=1e-6, activation="swiglu", position="rope", rope_base=10_000.0,
    bias=False, tie_embeddings=False,
)  # fmt: skip
MISTRAL = GPTConfig(
    vocab_size=32_000, context=32_768, d_model=4096, n_layers=32, n_heads=32, d_ff=14_336,
    norm="rms", norm_eps=1e-5, activation="swiglu", position="rope", rope_base=10_000.0,
    bias=False, tie_embeddings=False, n_kv_heads=8, window=4096,
)  # fmt: skip
LARGEST = replace(LLAMA, d_model=8192, n_layers=80, n_heads=64, d_ff=22_016, norm_eps=1e-5)
LLAMA3 = replace(MISTRAL, vocab_size=128_256, context=8192, rope_base=500_000.0, window=None)
T5 = TransformerConfig(
    vocab_size=32_128, context=512, d_model=512, n_layers=6, n_heads=8, d_head=64, d_ff=2048,
    norm="rms", norm_eps=1e-6, norm_first=True, position="relative", bias=False,
    tie_embeddings="all", scale_embeddings=False, attention_scale=False, scale_head=True,
)  # fmt: skip
BASE = TransformerConfig(
    vocab_size=37_000, context=512, d_model=512, n_layers=6, n_heads=8, tie_embeddings="all",
    dropout=0.1,
)  # fmt: skip
GPT3 = GPTConfig(context=2048, d_model=12_288, n_layers=96, n_heads=96)


@pytest.mark.parametrize(
    ("name", "make", "numbers", "printed"),
    [
        ("llama-7b", _llama, (4096, 32, 32, 11_008, None, 2048, 32_000, 1e4, 1e-6), LLAMA),
        ("mistral-7b", _llama, (4096, 32, 32, 14_336, 8, 32_768), MISTRAL),
        ("llama-65b", _llama, (8192, 80, 64, 22_016), LARGEST),
        ("llama3-8b", _llama, (4096, 32, 32, 14_336, 8, 8192, 128_256, 5e5), LLAMA3),
        ("t5-small", _t5, (512, 6, 8, 2048, 64), T5),
        ("transformer-base", _encoder_decoder, (512, 8), BASE),
        ("gpt3-175b", _gpt3, (12_288, 96, 96), GPT3),
    ],
)
def test_a_member_of_a_family_is_what_its_paper_or_file_prints(name, make, numbers, printed):
    """The papers' tables, and config.json of the files at huggingface.co, field by field."""
    options = {"window": 4096} if name == "mistral-7b" else {}
    assert make(*numbers, **options) == printed
    assert PUBLISHED[name] == printed
