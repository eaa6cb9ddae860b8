import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose

from lab.transformer_backward.transformer_witness import float64, loss_and_gradients
from mathlm.reference import Transformer, TransformerConfig, draw_dropout

SIZES = {"vocab_size": 6, "context": 9, "d_model": 8, "n_layers": 1, "n_heads": 2}


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_the_witness_confirms_the_reference_with_dropout_at_every_place(rate, rng):
    model = Transformer(TransformerConfig(**SIZES, n_decoder_layers=2), rng)
    source, target = rng.integers(0, 6, (2, 3)), rng.integers(0, 6, (2, 5))
    sentences = (source, target, source > 0, np.ones((2, 5), dtype=bool))
    factors = draw_dropout(model.config, ((2, 3), (2, 4)), rate, rng)
    loss, cache = model.loss(*sentences, label_smoothing=0.2, dropout=factors)
    theirs, gradients = loss_and_gradients(
        SIZES | {"n_decoder_layers": 2}, model.weights, sentences, 0.2, factors
    )
    assert_allclose(theirs, loss, rtol=1e-12)
    for name, gradient in model.backward(cache).items():
        assert_allclose(gradients[name], gradient, rtol=1e-9, atol=1e-14)


def test_weights_of_another_model_are_refused(rng):
    weights = Transformer(TransformerConfig(**SIZES), rng).weights
    ids = np.ones((1, 2), dtype=int)
    del weights["head.weight"]
    with pytest.raises(ValueError, match="are not those of the model"):
        loss_and_gradients(SIZES, weights, (ids, ids, ids > 0, ids > 0))


def test_the_default_precision_comes_back():
    torch.set_default_dtype(torch.float32)
    with float64():
        assert torch.zeros(1).dtype == torch.float64
    assert torch.zeros(1).dtype == torch.float32
