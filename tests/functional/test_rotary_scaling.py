import math

import pytest
import torch

from mathlm import functional as F
from mathlm.errors import ConfigError, InputError

SINGLE = {"rtol": 2e-6, "atol": 0.0}  # transformers computes frequencies in float32
LLAMA3 = {"factor": 8.0, "original_context": 8192, "slow": 1, "fast": 4}
SHAPES = pytest.mark.parametrize(
    ("d_head", "base"), [(8, 10_000.0), (64, 10_000.0), (64, 500_000.0), (128, 100_000.0)]
)


def theirs(kind, d_head, base, length=None, **parameters):
    """Frequencies and attention factor as transformers computes them."""
    from transformers import LlamaConfig
    from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS

    config = LlamaConfig(
        hidden_size=2 * d_head,
        num_attention_heads=2,
        max_position_embeddings=2048,
        rope_parameters={"rope_type": kind, "rope_theta": base, **parameters},
    )
    frequencies, factor = ROPE_INIT_FUNCTIONS[kind](config, "cpu", seq_len=length)
    return frequencies.double(), factor


def agree(d_head, base, scaling, kind, **parameters):
    frequencies, factor = theirs(kind, d_head, base, **parameters)
    ours = F.scaled_frequencies(d_head, base, scaling)
    torch.testing.assert_close(ours, frequencies, **SINGLE)
    assert scaling.amplitude == pytest.approx(factor, rel=1e-12)


def test_frequencies_fall_from_1_by_equal_ratios():
    """Base 10 000 and four pairs: a factor 10 from one pair to the next."""
    expected = torch.tensor([1.0, 0.1, 0.01, 0.001])
    torch.testing.assert_close(F.rotary_frequencies(8), expected, rtol=1e-14, atol=0.0)
    assert torch.equal(F.scaled_frequencies(8), F.rotary_frequencies(8))


def test_a_base_below_1_lets_later_pairs_turn_faster():
    assert F.rotary_frequencies(4, 0.25).tolist() == [1, 2]


def test_frequencies_are_computed_in_double_precision_whatever_the_default_dtype():
    context = {"original_context": 2048}
    kinds = [
        F.RopeScaling(kind=kind, factor=8, **({} if kind in ("linear", "ntk") else context))
        for kind in ("linear", "ntk", "yarn", "llama3")
    ]
    exact = [F.scaled_frequencies(64, 10_000.0, kind) for kind in kinds]
    torch.set_default_dtype(torch.float32)  # conftest sets it anew for each test
    for kind, right in zip(kinds, exact, strict=True):
        assert torch.equal(F.scaled_frequencies(64, 10_000.0, kind), right)


@SHAPES
def test_linear_scaling_is_that_of_transformers(d_head, base):
    agree(d_head, base, F.RopeScaling(kind="linear", factor=4), "linear", factor=4.0)


@SHAPES
@pytest.mark.parametrize("length", [2049, 3000, 16_384])
def test_ntk_scaling_at_a_length_is_the_dynamic_one_of_transformers(d_head, base, length):
    factor = F.dynamic_factor(length, 2048, 2.0)
    scaling = F.RopeScaling(kind="ntk", factor=factor)
    agree(d_head, base, scaling, "dynamic", length=length, factor=2.0)


@SHAPES
@pytest.mark.parametrize(
    ("ours", "their"),
    [
        ({}, {}),
        ({"fast": 16, "slow": 2}, {"beta_fast": 16, "beta_slow": 2}),
        ({"attention_factor": 1.5}, {"attention_factor": 1.5}),
    ],
)
def test_yarn_is_that_of_transformers(d_head, base, ours, their):
    scaling = F.RopeScaling(kind="yarn", factor=16, original_context=2048, **ours)
    more = {"factor": 16.0, "original_max_position_embeddings": 2048, **their}
    agree(d_head, base, scaling, "yarn", **more)


@pytest.mark.parametrize(
    ("d_head", "base", "context"),
    [(8, 2.0, 201), (64, 10_000.0, 6)],
    ids=["beyond_both_ends", "a_step"],
)
def test_the_ramp_of_yarn_ends_where_that_of_transformers_does(d_head, base, context):
    """It would go from pair -1 to 20 of 4; no pair turns once, which leaves a step."""
    scaling = F.RopeScaling(kind="yarn", factor=16, original_context=context)
    more = {"factor": 16.0, "original_max_position_embeddings": context}
    agree(d_head, base, scaling, "yarn", **more)


def test_after_a_trained_length_of_one_token_all_pairs_are_divided():
    scaling = F.RopeScaling(kind="llama3", factor=8, original_context=1)
    scaled = F.scaled_frequencies(8, 10_000.0, scaling)
    torch.testing.assert_close(scaled, F.rotary_frequencies(8) / 8, rtol=1e-14, atol=0.0)


def test_the_largest_base_of_ntk_scaling_is_the_largest_float():
    """With four features it is base · factor²: 1e4 · 1e302, then 1e4 · 1.96e304 and more."""
    scaled = F.scaled_frequencies(4, 1e4, F.RopeScaling(kind="ntk", factor=1e151))
    assert scaled.tolist() == pytest.approx([1, 1e-153], abs=0)
    for factor in (1.4e152, 1e200):
        with pytest.raises(InputError, match="overflows float64"):
            F.scaled_frequencies(4, 1e4, F.RopeScaling(kind="ntk", factor=factor))


@SHAPES
def test_llama3_scaling_is_that_of_transformers(d_head, base):
    agree(
        d_head, base, F.RopeScaling(kind="llama3", **LLAMA3), "llama3",
        factor=8.0, low_freq_factor=1, high_freq_factor=4,
        original_max_position_embeddings=8192,
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["linear", "ntk", "yarn", "llama3"])
def test_a_factor_of_1_changes_nothing(kind):
    context = {} if kind in ("linear", "ntk") else {"original_context": 2048}
    scaling = F.RopeScaling(kind=kind, factor=1, **context)
    scaled = F.scaled_frequencies(64, 10_000.0, scaling)
    torch.testing.assert_close(scaled, F.rotary_frequencies(64), rtol=1e-14, atol=0.0)
    assert scaling.amplitude == 1.0


@pytest.mark.parametrize("kind", ["ntk", "yarn", "llama3"])
def test_the_fastest_pair_is_kept_and_the_slowest_divided_by_the_factor(kind):
    context = {} if kind == "ntk" else {"original_context": 2048}
    scaling = F.RopeScaling(kind=kind, factor=8, **context)
    ratio = F.rotary_frequencies(64) / F.scaled_frequencies(64, 10_000.0, scaling)
    assert ratio[0].item() == pytest.approx(1.0, rel=1e-12)
    assert ratio[-1].item() == pytest.approx(8.0, rel=1e-12)
    assert (ratio.diff() >= -1e-12).all()


def test_yarn_makes_scores_grow_by_the_square_of_its_amplitude():
    """0.1 ln 8 + 1 = 1.20794...; cosines and sines carry it, queries and keys both."""
    yarn = F.RopeScaling(kind="yarn", factor=8, original_context=128)
    cos, sin = F.rotary_table(5, 16, 10_000.0, yarn)
    assert yarn.amplitude == pytest.approx(1 + 0.1 * math.log(8), rel=1e-15)
    q, k = torch.randn(2, 16)
    turned = F.rotate_half_split(q, cos[3], sin[3]) @ F.rotate_half_split(k, cos[3], sin[3])
    assert turned.item() == pytest.approx((q @ k).item() * yarn.amplitude**2, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "turns"), [("linear", math.inf), ("ntk", math.inf), ("yarn", 32), ("llama3", 4)]
)
def test_pairs_are_kept_from_so_many_turns_on(kind, turns):
    """Of linear and ntk none is, however often it turns."""
    context = {} if turns == math.inf else {"original_context": 128}
    assert F.RopeScaling(kind=kind, factor=2, **context).turns == (1, turns)


def test_position_interpolation_puts_every_second_position_on_a_trained_one():
    plain, _ = F.rotary_table(8, 16)
    scaled, _ = F.rotary_table(16, 16, 10_000.0, F.RopeScaling(kind="linear", factor=2))
    torch.testing.assert_close(scaled[::2], plain, rtol=1e-12, atol=1e-14)


def test_the_dynamic_factor_is_1_up_to_the_trained_length():
    assert F.dynamic_factor(100, 128, 4.0) == F.dynamic_factor(128, 128, 4.0) == 1.0
    assert F.dynamic_factor(1, 1) == 1.0
    assert F.dynamic_factor(256, 128) == 2.0
    assert F.dynamic_factor(256, 128, 4.0) == 5.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "linear", "factor": 0.5}, r"factor=0\.5 must be at least 1"),
        ({"kind": "linear", "factor": math.nan}, "factor=nan must be at least 1"),
        ({"kind": "ntk", "factor": math.inf}, "factor=inf must be at least 1 and finite"),
        ({"kind": "linear", "factor": 2, "original_context": 8}, "has no original_context=8"),
        ({"kind": "ntk", "factor": 2, "slow": 3}, "ntk scaling has no slow=3"),
        ({"kind": "linear", "factor": 2, "fast": 9}, "linear scaling has no fast=9"),
        ({"kind": "yarn", "factor": 2}, "yarn scaling needs .* original_context=None"),
        ({"kind": "llama3", "factor": 2, "original_context": 0}, "original_context=0 must be"),
        (
            {"kind": "yarn", "factor": 2, "original_context": 8, "slow": 4, "fast": 4},
            "slow=4 must be positive and less than fast=4",
        ),
        (
            {"kind": "llama3", "factor": 2, "original_context": 8, "slow": 0},
            "slow=0 must be positive",
        ),
        (
            {"kind": "yarn", "factor": 2, "original_context": 8, "fast": math.inf},
            "must be positive and less than fast=inf",
        ),
        ({"kind": "linear", "factor": 2, "attention_factor": 0}, "attention_factor=0 must be"),
        (
            {"kind": "linear", "factor": 2, "attention_factor": math.inf},
            "attention_factor=inf must be positive and finite",
        ),
    ],
)
def test_bad_scaling_parameters_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        F.RopeScaling(**fields)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"kind": "su", "factor": 2}, "kind='su' of rope scaling is not one of 'linear', "),
        ({"kind": "linear", "factor": "2"}, "factor='2' of rope scaling must be a number"),
        ({"kind": "linear", "factor": True}, "factor=True of rope scaling must be a number"),
        ({"kind": "yarn", "factor": 2, "original_context": 2.5}, r"=2\.5 must be an integer"),
    ],
)
def test_scaling_parameters_of_other_types_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        F.RopeScaling(**fields)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("name", ["attention_factor", "slow", "fast"])
def test_what_is_not_a_number_is_refused_by_its_name(name):
    with pytest.raises(ConfigError, match=f"^{name}='9' of rope scaling must be a number"):
        F.RopeScaling(kind="yarn", factor=2, original_context=8, **{name: "9"})


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: F.rotary_frequencies(7), "width 7 must be even"),
        (lambda: F.rotary_frequencies(0), "width 0 must be even"),
        (lambda: F.rotary_frequencies(8, 0.0), r"base=0\.0 .* must be positive"),
        (lambda: F.rotary_frequencies(8, math.nan), "base=nan"),
        (lambda: F.rotary_frequencies(8, math.inf), "base=inf"),
        (lambda: F.rotary_table(-1, 8), "length=-1 must not be negative"),
        (lambda: F.dynamic_factor(0, 128), "length=0 and original_context=128"),
        (lambda: F.dynamic_factor(10, 128, 0.5), r"factor=0\.5 must be at least 1"),
        (
            lambda: F.dynamic_factor(10, 128, math.inf),
            "factor=inf must be at least 1 and finite",
        ),
        (
            lambda: F.scaled_frequencies(
                8, 1.0, F.RopeScaling(kind="yarn", factor=2, original_context=128)
            ),
            r"base=1\.0 <= 1",
        ),
        (
            lambda: F.scaled_frequencies(2, 1e4, F.RopeScaling(kind="ntk", factor=2)),
            "one pair of d_head=2",
        ),
        (
            lambda: F.scaled_frequencies(4, 1e300, F.RopeScaling(kind="ntk", factor=1e300)),
            r"base=1e\+300 by factor=1e\+300 overflows",
        ),
        (
            lambda: F.scaled_frequencies(
                64, 1e4, F.RopeScaling(kind="yarn", factor=2, original_context=4)
            ),
            "yarn finds no ramp: of 32 pairs .* original_context=4",
        ),
    ],
)
def test_frequencies_that_do_not_exist_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
