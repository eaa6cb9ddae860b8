import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from mathlm import models
from mathlm.errors import InputError, InputTypeError
from mathlm.reference import Transformer, TransformerConfig

SIZES = {"vocab_size": 40, "context": 4, "d_model": 24, "n_layers": 2, "n_heads": 3}


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("tie", ["none", "target", "all"])
@pytest.mark.parametrize("activation", ["relu", "swiglu"])
def test_names_order_and_shapes_are_those_of_the_torch_half(tie, bias, activation, rng):
    choices = SIZES | {"tie_embeddings": tie, "bias": bias, "activation": activation}
    ours = Transformer(TransformerConfig(**choices), rng).weights
    theirs = models.Transformer(models.TransformerConfig(**choices)).named_parameters()
    assert [(n, w.shape) for n, w in ours.items()] == [(n, tuple(w.shape)) for n, w in theirs]


def test_first_weights_have_the_spread_that_the_equations_ask_for(rng):
    """Var of U(-a, a) is a² / 3 with a² = 6 / (n_in + n_out); tables have 1 / D.

    The mean of the 40 · 24 numbers of a table has a standard deviation of 0.0066.
    """
    weights = Transformer(TransformerConfig(**SIZES), rng).weights
    W = weights["encoder.0.feed_forward.W_in.weight"]
    assert_allclose(W.var(), 2 / (24 + 96), rtol=0.1)
    assert np.abs(W).max() <= np.sqrt(6 / (24 + 96))
    assert_allclose(weights["source_embedding.weight"].var(), 1 / 24, rtol=0.15)
    assert abs(weights["source_embedding.weight"].mean()) < 0.03
    assert_array_equal(weights["decoder.1.cross_attention_norm.gamma"], 1)
    assert_array_equal(weights["decoder.1.cross_attention.W_q.bias"], 0)


def test_the_same_seed_draws_the_same_weights():
    one, two, other = (
        Transformer(TransformerConfig(**SIZES), np.random.default_rng(seed)).weights
        for seed in (1, 1, 2)
    )
    assert all((one[name] == two[name]).all() for name in one)
    assert (one["head.weight"] != other["head.weight"]).any()


def test_a_shared_table_is_there_once_under_its_first_name(rng):
    for tie, names in (("target", {"source", "target"}), ("all", {"source"})):
        model = Transformer(TransformerConfig(**SIZES, tie_embeddings=tie), rng)
        assert "head.weight" not in model.weights
        assert {n[:6] for n in model.weights if "embedding" in n} == names


def test_weights_of_another_kind_are_refused(rng):
    model, ids = Transformer(TransformerConfig(**SIZES), rng), np.array([[1, 2]])
    model.weights["head.weight"] = model.weights["head.weight"].astype(np.float32)
    with pytest.raises(InputTypeError, match=r"not: \{'head.weight': 'ndarray of float32'\}"):
        model.logits(ids, ids)
    model.weights = [1, 2]
    with pytest.raises(InputTypeError, match="weights is a list; give arrays by name"):
        model.logits(ids, ids)
    model.weights = {}
    with pytest.raises(InputError, match=r"missing \['source_embedding.weight', 'target_"):
        model.logits(ids, ids)


def test_a_weight_of_another_shape_is_refused(rng):
    model, ids = Transformer(TransformerConfig(**SIZES), rng), np.array([[1, 2]])
    model.weights["head.weight"] = model.weights["head.weight"].T
    message = r"missing \[\], unknown \[\], .* \{'head.weight': \(\(24, 40\), \(40, 24\)\)\}"
    with pytest.raises(InputError, match=message):
        model.logits(ids, ids)
