import dataclasses

import pytest

from mathlm.errors import ConfigError
from mathlm.functional import RopeScaling
from mathlm.models import GPT, PRESETS, GPTConfig

LINEAR, NTK = (RopeScaling(kind=kind, factor=2.0) for kind in ("linear", "ntk"))
YARN = RopeScaling(kind="yarn", factor=2.0, original_context=64)


def test_defaults_are_filled_in_from_the_other_sizes():
    config = GPTConfig(d_model=48, n_heads=6)
    assert (config.kv_heads, config.head_width, config.ff_width) == (6, 8, 192)
    wider = dataclasses.replace(config, d_model=96)
    assert (wider.kv_heads, wider.head_width, wider.ff_width) == (6, 16, 384)


def test_swiglu_is_given_two_thirds_of_the_width():
    assert GPTConfig(d_model=48, n_heads=6, activation="swiglu").ff_width == 128


def test_a_config_is_frozen_and_keyword_only():
    with pytest.raises(dataclasses.FrozenInstanceError):
        GPTConfig().d_model = 3
    with pytest.raises(TypeError):
        GPTConfig(50)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [("gpt2", 124_439_808), ("gpt2-medium", 354_823_168), ("smollm2-135m", 134_515_008)],
)
def test_presets_have_the_published_numbers_of_parameters(name, parameters):
    """Of GPT-2 as released (openai-community/gpt2) and of SmolLM2-135M."""
    import torch

    with torch.device("meta"):
        model = GPT(PRESETS[name])
    assert sum(p.numel() for p in model.parameters()) == parameters


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"d_model": 30, "n_heads": 4}, "n_heads=4 must divide d_model=30"),
        ({"n_heads": 12, "n_kv_heads": 5}, "n_kv_heads=5 must divide n_heads=12"),
        ({"n_layers": 0}, "n_layers=0 must be at least 1"),
        ({"d_ff": 0}, "d_ff=0 must be at least 1, or None"),
        ({"window": -1}, "window=-1 must be at least 1, or None"),
        ({"dropout": 1.0}, r"dropout=1\.0 is outside"),
        ({"norm_eps": -1e-5}, "norm_eps=-1e-05 is outside"),
        ({"rope_base": 0.0}, r"rope_base=0\.0 must be positive"),
        ({"position": "rope", "d_head": 7}, "d_head=7 is odd"),
        ({"rope_scaling": LINEAR}, "rope_scaling needs position='rope', not 'learned'"),
        (
            {"position": "rope", "d_head": 2, "rope_scaling": NTK},
            "rope_scaling: .* one pair of d_head=2",
        ),
        (
            {"position": "rope", "rope_base": 0.5, "rope_scaling": YARN},
            r"rope_scaling: yarn needs .* base=0\.5 <= 1",
        ),
        ({"position": "sinusoidal", "d_model": 9, "n_heads": 3}, "d_model=9 is odd"),
    ],
)
def test_sizes_that_do_not_fit_are_refused(fields, message):
    with pytest.raises(ConfigError, match=message):
        GPTConfig(**fields)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("field", ["norm", "activation", "position", "bias"])
def test_choices_that_are_not_known_are_refused(field):
    with pytest.raises(ConfigError, match=f"{field}='other' is not one of"):
        GPTConfig(**{field: "other"})


@pytest.mark.usefixtures("unchecked")
def test_a_scaling_of_another_type_is_refused():
    with pytest.raises(ConfigError, match=r"rope_scaling=.* must be a RopeScaling"):
        GPTConfig(position="rope", rope_scaling={"factor": 2})


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("field", ["d_model", "d_ff", "window"])
def test_sizes_that_are_not_whole_are_refused(field):
    with pytest.raises(ConfigError, match=rf"{field}=64\.0 must be an integer"):
        GPTConfig(**{field: 64.0})


def test_true_is_not_a_size():
    with pytest.raises(ConfigError, match="n_layers=True must be an integer"):
        GPTConfig(n_layers=True)
