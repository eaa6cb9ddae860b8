import numpy as np
import pytest

from lab.transformer_backward import symmetry
from mathlm import reference as ref
from mathlm.errors import InputError

LAWS = {
    "key shift": "decoder.0.cross_attention.W_k.bias",
    "value shift": "encoder.0.attention.W_v.bias",
    "centered outputs": "decoder.0.attention.W_o.weight",
    "query and key": "decoder.0.cross_attention.W_k.weight",
    "value and output": "decoder.0.attention.W_v.weight",
    "in and out": "encoder.0.feed_forward.W_in.weight",
}


def certified(rng, **changes):
    """Weights and gradients of a random encoder-decoder with padding on both sides."""
    sizes = {"vocab_size": 9, "context": 6, "d_model": 8, "n_layers": 1, "n_heads": 2}
    model = ref.Transformer(ref.TransformerConfig(**(sizes | changes)), rng)
    model.weights = {n: w + 0.1 * rng.normal(size=w.shape) for n, w in model.weights.items()}
    source, target = rng.integers(3, 9, (2, 4)), rng.integers(3, 9, (2, 5))
    real = np.array([[True] * 4, [True, True, True, False]])
    written = np.array([[True] * 5, [True, True, True, False, False]])
    _, cache = model.loss(source, target, real, written, label_smoothing=0.1)
    return model.weights, model.backward(cache)


@pytest.mark.parametrize("tie", ["none", "target", "all"])
def test_the_gradients_of_the_reference_obey_every_law(rng, tie):
    found = symmetry.gradient_laws(*certified(rng, tie_embeddings=tie), 2)
    assert found.keys() == LAWS.keys()
    assert max(found.values()) < 1e-11


@pytest.mark.parametrize("law", LAWS)
def test_a_gradient_that_is_off_by_one_percent_breaks_its_law(rng, law):
    weights, gradients = certified(rng)
    noise = 0.01 * np.abs(gradients[LAWS[law]]).max() + 1e-4
    gradients[LAWS[law]] = gradients[LAWS[law]] + noise * rng.normal(
        size=gradients[LAWS[law]].shape
    )
    assert symmetry.gradient_laws(weights, gradients, 2)[law] > 1e-4


def test_without_a_relu_in_and_out_are_not_balanced(rng):
    found = symmetry.gradient_laws(*certified(rng, activation="gelu"), 2)
    assert found.pop("in and out") > 1e-3
    assert max(found.values()) < 1e-11


def test_the_law_of_queries_and_keys_is_one_of_each_head(rng):
    """Heads rescaled against each other keep the total and break the parts."""
    weights, gradients = certified(rng)
    name = "encoder.0.attention.W_q.weight"
    rows = (weights[name] * gradients[name]).sum(1).reshape(2, 4).sum(1)
    gradients[name][:4] *= 1 + 0.1 / rows[0]
    gradients[name][4:] *= 1 - 0.1 / rows[1]
    assert symmetry.gradient_laws(weights, gradients, 2)["query and key"] > 1e-3


def test_names_that_do_not_fit_are_refused():
    with pytest.raises(InputError, match="have different names"):
        symmetry.gradient_laws({"a": np.ones(2)}, {"b": np.ones(2)}, 1)
    with pytest.raises(InputError, match=r"no attention .* in \['a'\]"):
        symmetry.gradient_laws({"a": np.ones(2)}, {"a": np.ones(2)}, 1)
