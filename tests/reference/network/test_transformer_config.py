from dataclasses import FrozenInstanceError, fields, replace

import pytest

from mathlm import models
from mathlm.errors import ConfigError
from mathlm.reference import TransformerConfig

SIZES = {"vocab_size": 8, "context": 4, "d_model": 12, "n_layers": 2, "n_heads": 3}
CONFIG = TransformerConfig(**SIZES)


def test_defaults_follow_from_the_sizes():
    assert (CONFIG.target_vocab, CONFIG.decoder_layers, CONFIG.ff_width) == (8, 2, 48)
    wide = replace(CONFIG, target_vocab_size=5, n_decoder_layers=1, d_ff=7)
    assert (wide.target_vocab, wide.decoder_layers, wide.ff_width) == (5, 1, 7)
    gated = replace(CONFIG, d_model=8, n_heads=2, activation="swiglu")
    assert gated.ff_width == 24  # 8/3 · 8 = 21.3


def test_the_smallest_sizes_and_choices_that_fit():
    ones = dict.fromkeys(("vocab_size", "context", "n_layers", "n_heads"), 1)
    config = TransformerConfig(**ones, d_model=2, tie_embeddings="all", target_vocab_size=1)
    assert (config.ff_width, config.norm_eps, config.dropout) == (8, 1e-5, 0)


@pytest.mark.parametrize("activation", ["relu", "gelu", "swiglu"])
def test_fields_and_defaults_are_those_of_the_torch_half(activation):
    theirs = models.TransformerConfig(**SIZES, activation=activation)
    ours = TransformerConfig(**SIZES, activation=activation)
    for field in fields(TransformerConfig):
        assert getattr(ours, field.name) == getattr(theirs, field.name)
    assert ours.ff_width == theirs.ff_width


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_heads": 5}, "n_heads=5 must divide d_model=12"),
        ({"d_model": 9}, "d_model=9 must be even"),
        ({"n_layers": 0}, "n_layers=0 must be at least 1"),
        ({"d_ff": 0}, "d_ff=0 must be at least 1"),
        ({"context": 2.0}, "context=2.0 must be an integer"),
        ({"vocab_size": None}, "vocab_size=None must be an integer"),
        ({"activation": "tanh"}, "activation='tanh' is not one of"),
        ({"tie_embeddings": True}, "tie_embeddings=True is not one of"),
        ({"bias": "qkv"}, "bias='qkv' must be True or False"),
        ({"dropout": 1.0}, "dropout=1.0 is outside"),
        ({"dropout": True}, "dropout=True is outside"),
        ({"dropout": -0.1}, "dropout=-0.1 is outside"),
        ({"dropout": "none"}, "dropout='none' is outside"),
        ({"n_layers": True}, "n_layers=True must be an integer"),
        ({"norm_eps": True}, "norm_eps=True must be a positive finite number"),
        ({"norm_eps": float("inf")}, "norm_eps=inf must be a positive finite number"),
        ({"norm_eps": 0.0}, "norm_eps=0.0 must be a positive finite number"),
        ({"norm_eps": float("nan")}, "norm_eps=nan must be a positive"),
        (
            {"tie_embeddings": "all", "target_vocab_size": 5},
            "needs one vocabulary, got vocab_size=8 and target_vocab_size=5",
        ),
    ],
)
def test_choices_that_do_not_fit_are_refused(change, message):
    with pytest.raises(ConfigError, match=message):
        TransformerConfig(**(SIZES | change))


def test_a_configuration_does_not_change():
    with pytest.raises(FrozenInstanceError):
        CONFIG.d_model = 8
