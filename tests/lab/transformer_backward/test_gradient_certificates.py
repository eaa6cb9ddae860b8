import numpy as np
import pytest

from lab.transformer_backward.gradient_certificates import probe_errors
from mathlm.errors import InputError
from mathlm.reference import Transformer, TransformerConfig

POINT = {"a": np.array([1.0, -2.0, 0.5]), "b": np.array([[2.0, 1.0]])}


def cubic(w):
    return float((w["a"] ** 3).sum() * w["b"].sum())


def gradients():
    return {"a": 9 * POINT["a"] ** 2, "b": np.full((1, 2), (POINT["a"] ** 3).sum())}


def test_a_right_gradient_leaves_the_error_of_the_differences(rng):
    """Along δ a cubic has the error h² Σ b Σ δ³, and in b, which is linear, none."""
    errors = probe_errors(cubic, POINT, gradients(), [1e-2, 1e-3], rng)
    assert errors["a"][0] / errors["a"][1] == pytest.approx(100, rel=1e-3)
    assert errors["b"].max() < 1e-12


def test_an_error_of_one_part_in_a_thousand_is_seen_in_its_own_array_alone(rng):
    wrong = gradients()
    wrong["b"] = wrong["b"] * 1.001
    errors = probe_errors(cubic, POINT, wrong, [1e-5], rng)
    assert errors["b"][0] > 1e-5
    assert errors["a"][0] < 1e-8


def test_a_gradient_with_a_part_missing_does_not_pass(rng):
    wrong = gradients()
    wrong["a"][1] = 0.0
    assert probe_errors(cubic, POINT, wrong, [1e-5], rng)["a"][0] > 0.1


def test_nothing_is_wrong_with_the_reference(rng):
    """Gradients of the shifts of keys, which are 0, have no relative error."""
    sizes = {"vocab_size": 12, "context": 8, "d_model": 8, "n_layers": 1, "n_heads": 2}
    model = Transformer(TransformerConfig(**sizes), rng)
    ids, weights = (rng.integers(3, 12, (2, 5)), rng.integers(3, 12, (2, 6))), model.weights
    gradients = model.backward(model.loss(*ids)[1])

    def loss(changed):
        model.weights = changed
        return model.loss(*ids)[0]

    probed = {n: g for n, g in gradients.items() if not n.endswith("W_k.bias")}
    errors = probe_errors(loss, weights, probed, [1e-5], rng)
    assert len(errors) > 40
    assert max(error[0] for error in errors.values()) < 1e-6


def test_the_weights_are_left_alone(rng):
    before = {name: w.copy() for name, w in POINT.items()}
    probe_errors(cubic, POINT, gradients(), [0.1], rng)
    assert all(np.array_equal(POINT[name], before[name]) for name in POINT)


def test_what_cannot_be_compared_is_refused(rng):
    with pytest.raises(InputError, match=r"gradient 'c' of shape .* belongs to no weight"):
        probe_errors(cubic, POINT, {"c": POINT["a"]}, [1e-5], rng)
    with pytest.raises(InputError, match=r"shape \(2,\) belongs to \(3,\)"):
        probe_errors(cubic, POINT, {"a": np.ones(2)}, [1e-5], rng)
    with pytest.raises(InputError, match="gradient 'b' is 0"):
        probe_errors(cubic, POINT, {"b": np.zeros((1, 2))}, [1e-5], rng)
