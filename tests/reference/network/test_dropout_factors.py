import numpy as np
import pytest

from mathlm.errors import ConfigError, InputError, InputTypeError
from mathlm.reference import Transformer, TransformerConfig, draw_dropout

CONFIG = TransformerConfig(
    vocab_size=5, context=30, d_model=4, n_layers=2, n_decoder_layers=1, n_heads=2, d_ff=3
)
PLACES = {"source_embedding", "target_embedding", "decoder.0.cross_attention"}
PLACES |= {f"{block}.attention" for block in ("encoder.0", "encoder.1", "decoder.0")}
PLACES |= {f"{block}.feed_forward" for block in ("encoder.0", "encoder.1", "decoder.0")}


def test_every_sum_and_every_sublayer_has_its_factors(rng):
    factors = draw_dropout(CONFIG, ((2, 3), (2, 5)), 0.5, rng)
    assert set(factors) == PLACES
    for place, factor in factors.items():
        is_source = place.startswith(("source", "encoder"))
        assert factor.shape == ((2, 3, 4) if is_source else (2, 5, 4))


def test_a_share_falls_out_and_the_rest_grows_so_that_the_mean_stays(rng):
    factors = draw_dropout(CONFIG, ((30, 30), (30, 30)), 0.2, rng)
    drawn = np.concatenate([f.ravel() for f in factors.values()])  # 32,400 of them
    assert set(drawn) == {0.0, 1.25}
    assert abs((drawn == 0).mean() - 0.2) < 4 * np.sqrt(0.16 / drawn.size)


def test_the_same_seed_draws_the_same_factors_and_places_differ():
    one, two = (
        draw_dropout(CONFIG, ((2, 3), (2, 3)), 0.5, np.random.default_rng(4)) for _ in "ab"
    )
    assert all((one[place] == two[place]).all() for place in PLACES)
    assert (one["encoder.0.attention"] != one["encoder.1.attention"]).any()


def test_every_place_matters_to_the_logits(rng):
    model, ids = Transformer(CONFIG, rng), np.array([[1, 2, 3]])
    before, _ = model.logits(ids, ids)
    for place, factor in draw_dropout(CONFIG, (ids.shape, ids.shape), 0.5, rng).items():
        after, _ = model.logits(ids, ids, dropout={place: factor})
        assert np.abs(after - before).max() > 1e-6, place


def test_a_rate_of_zero_changes_nothing(rng):
    model, ids = Transformer(CONFIG, rng), np.array([[1, 2, 3]])
    factors = draw_dropout(CONFIG, (ids.shape, ids.shape), 0, rng)
    assert (model.logits(ids, ids, dropout=factors)[0] == model.logits(ids, ids)[0]).all()


@pytest.mark.parametrize("rate", [-0.1, 1.0, 1.5, float("nan")])
def test_a_rate_that_is_no_share_is_refused(rate, rng):
    with pytest.raises(ConfigError, match=rf"rate={rate} must lie in \[0, 1\)"):
        draw_dropout(CONFIG, ((2, 3), (2, 3)), rate, rng)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("factors", "error", "message"),
    [
        ({"encoder.2.attention": np.ones((1, 3, 4))}, InputError, "unknown places .*encoder.2"),
        ({"head": np.ones((1, 3, 4))}, InputError, r"unknown places \['head'\]"),
        ({"source_embedding": np.ones((1, 2, 4))}, InputError, r"has shape \(1, 2, 4\)"),
        ({"decoder.0.attention": np.ones(4)}, InputError, r"expected \(1, 3, 4\): one factor"),
        ({"source_embedding": np.full((1, 3, 4), np.nan)}, InputError, "holds 12 NaN"),
        (0.1, InputTypeError, "dropout is a float; give factors by place"),
    ],
)
def test_factors_that_do_not_fit_are_refused(factors, error, message, rng):
    ids = np.array([[1, 2, 3]])
    with pytest.raises(error, match=message):
        Transformer(CONFIG, rng).logits(ids, ids, dropout=factors)
