import numpy as np
import pytest

from lab.transformer_backward.gradient_trace import gradient_trace
from lab.transformer_backward.sublayer_gains import sublayer_gains
from mathlm.reference import Transformer, TransformerConfig

SIZES = {"vocab_size": 20, "context": 12, "d_model": 16, "n_layers": 3, "n_heads": 2}


@pytest.fixture
def case():
    model = Transformer(TransformerConfig(**SIZES), np.random.default_rng(0))
    ids = np.random.default_rng(1).integers(3, 20, size=(2, 1, 9))
    return model, ids[0, :, :8], ids[1]


def test_the_sums_are_those_of_the_trace(case):
    model, source, target = case
    found = sublayer_gains(model, source, target)
    trace = gradient_trace(model, source[0], target[0])
    size = {stage: (g**2).sum() for stage, g in trace.items()}
    np.testing.assert_allclose(found["memory sum"], size["encoder 3"] / size["decoder 3"])
    np.testing.assert_allclose(found["encoder sum"] ** 3, size["encoder 0"] / size["encoder 3"])
    np.testing.assert_allclose(found["decoder sum"] ** 3, size["decoder 0"] / size["decoder 3"])


def test_a_silent_sublayer_neither_adds_nor_returns(case):
    model, source, target = case
    for name in model.weights:
        if name.startswith("decoder") and ".attention.W_o" in name:
            model.weights[name] *= 0
    found = sublayer_gains(model, source, target)
    assert found["decoder attention"] == (0.0, 0.0)
    assert min(found["encoder attention"]) > 0
    assert min(found["decoder memory"]) > 0
