import pytest

from mathlm.errors import ConfigError
from mathlm.models import TransformerConfig

SIZES = {"vocab_size": 50, "context": 24, "d_model": 24, "n_layers": 2, "n_heads": 4}


def make(**changes):
    return TransformerConfig(**SIZES | changes)


def test_what_is_not_said_is_filled_in():
    config = make()
    assert (config.target_vocab, config.decoder_layers) == (50, 2)
    assert (config.head_width, config.ff_width) == (6, 96)


def test_what_is_said_is_taken():
    config = make(target_vocab_size=7, n_decoder_layers=3, d_head=5, d_ff=40)
    assert (config.target_vocab, config.decoder_layers) == (7, 3)
    assert (config.head_width, config.ff_width) == (5, 40)


@pytest.mark.parametrize("activation", ["swiglu", "geglu_tanh"])
def test_a_gated_network_is_given_two_thirds_of_the_width(activation):
    assert make(d_model=48, activation=activation).ff_width == 128


def test_the_defaults_are_those_of_the_first_transformer():
    """Vaswani et al. (2017): post-norm, sinusoids, ReLU, embeddings times √D, scores / √d_k."""
    config = make()
    assert (config.norm, config.norm_first, config.activation) == ("layer", False, "relu")
    assert (config.position, config.bias) == ("sinusoidal", True)
    assert (config.scale_embeddings, config.attention_scale) == (True, True)
    assert (config.tie_embeddings, config.scale_head, config.dropout) == ("none", False, 0.0)


def test_a_configuration_is_frozen_and_named():
    with pytest.raises(AttributeError):
        make().d_model = 3
    with pytest.raises(TypeError, match="positional"):
        TransformerConfig(50)


@pytest.mark.parametrize("tie", ["inputs", "all"])
def test_two_vocabularies_cannot_share_one_table(tie):
    message = f"tie_embeddings='{tie}' needs one vocabulary: vocab_size=50, target_vocab_size=7"
    with pytest.raises(ConfigError, match=message):
        make(tie_embeddings=tie, target_vocab_size=7)
    assert make(tie_embeddings=tie, target_vocab_size=50).target_vocab == 50


SIZE_FIELDS = (*SIZES, "target_vocab_size", "n_decoder_layers", "d_head", "d_ff", "n_buckets")


@pytest.mark.parametrize("name", [*SIZE_FIELDS, "max_distance"])
@pytest.mark.parametrize(
    ("value", "message"),
    [(0, "=0 must be at least 1"), (True, "=True must be an int"), (2.0, r"=2\.0 must be an")],
)
def test_sizes_that_are_none_are_refused(name, value, message, unchecked):
    with pytest.raises(ConfigError, match=name + message):
        make(**{name: value})


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_heads": 5}, "n_heads=5 must divide d_model=24, or give d_head"),
        ({"norm": "batch"}, "norm='batch' is not one of 'layer', 'rms'"),
        ({"activation": "tanh"}, "activation='tanh' is not one of 'relu'"),
        ({"position": "rope"}, "position='rope' is not one of 'sinusoidal', 'learned'"),
        ({"tie_embeddings": True}, "tie_embeddings=True is not one of 'none', 'inputs'"),
        ({"norm_first": 1}, "norm_first=1 must be True or False"),
        ({"bias": "qkv"}, "bias='qkv' must be True or False"),
        ({"scale_embeddings": None}, "scale_embeddings=None must be True or False"),
        ({"attention_scale": 0.5}, r"attention_scale=0\.5 must be True or False"),
        ({"scale_head": 0}, "scale_head=0 must be True or False"),
        ({"dropout": 1.0}, r"dropout=1\.0 is outside"),
        ({"dropout": float("nan")}, "dropout=nan is outside"),
        ({"norm_eps": -1e-6}, "norm_eps=-1e-06 is outside"),
        ({"norm_eps": "0"}, "norm_eps='0' must be a number"),
        ({"d_model": 15, "n_heads": 3}, "sinusoidal positions come in pairs: d_model=15"),
        ({"position": "relative", "n_buckets": 7}, "n_buckets=7 must be even"),
        ({"position": "relative", "n_buckets": 2}, "n_buckets=2 must be even and at least 4"),
        ({"position": "relative", "max_distance": 16}, "max_distance=16 must be more than 16"),
    ],
)
def test_choices_that_are_none_are_refused(changes, message, unchecked):
    with pytest.raises(ConfigError, match=message):
        make(**changes)


def test_an_odd_width_is_fine_without_sinusoids():
    assert make(d_model=15, n_heads=3, position="none").d_model == 15
