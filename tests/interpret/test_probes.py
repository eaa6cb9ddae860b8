"""Linear probes against scikit-learn, an optimum by hand, and a witness by Newton steps."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from mathlm import interpret
from mathlm.errors import InputError, InputTypeError


def examples(rng, N=120, D=5, C=3):
    x = rng.normal(size=(N, D)) * rng.uniform(0.1, 10, D) + rng.normal(size=D)
    y = (x @ rng.normal(size=(D, C)) + 5 * rng.normal(size=(N, C))).argmax(1)
    return torch.from_numpy(x), ["abc"[i] for i in y]


@pytest.mark.parametrize("penalty", [0.1, 1.0, 30.0])
def test_a_probe_is_that_of_scikit_learn(rng, penalty):
    x, y = examples(rng)
    probe = interpret.linear_probe(x, y, penalty=penalty)
    theirs = LogisticRegression(C=1 / penalty, tol=1e-12, solver="newton-cg", max_iter=1000)
    theirs.fit(x.numpy(), y)
    assert probe.classes == tuple(theirs.classes_)
    np.testing.assert_allclose(probe.weight, theirs.coef_, atol=1e-6)
    ours = probe.logits(x).softmax(-1)
    np.testing.assert_allclose(ours, theirs.predict_proba(x.numpy()), atol=1e-6)


def test_the_gradient_of_the_loss_that_is_promised_vanishes(rng):
    x, y = examples(rng)
    probe = interpret.linear_probe(x, y, penalty=2.5)
    weight, bias = probe.weight.clone().requires_grad_(), probe.bias.clone().requires_grad_()
    logp = (x @ weight.mT + bias).log_softmax(-1)
    picked = logp[torch.arange(len(y)), torch.tensor(["abc".index(label) for label in y])]
    (-picked.sum() + 2.5 / 2 * weight.square().sum()).backward()
    assert max(weight.grad.abs().max(), bias.grad.abs().max()) < 1e-5


def test_states_that_say_nothing_leave_the_shares_of_the_classes():
    """With x = 0 the best biases give each class its share: 3/4 and 1/4."""
    probe = interpret.linear_probe(torch.zeros(4, 2), ["no", "no", "yes", "no"])
    np.testing.assert_allclose(probe.logits(torch.zeros(1, 2)).softmax(-1), [[0.75, 0.25]])
    assert not probe.weight.any()


def test_two_classes_on_a_line_by_hand():
    """x = ±1: the slope of 2 ln(1 + exp(-2w)) + w² vanishes at w = 2 / (1 + exp(2w))."""
    probe = interpret.linear_probe(torch.tensor([[-1.0], [1.0]]), ["l", "r"], penalty=1.0)
    low, high = 0.0, 2.0
    for _ in range(60):
        w = (low + high) / 2
        low, high = (w, high) if w < 2 / (1 + np.exp(2 * w)) else (low, w)
    np.testing.assert_allclose(probe.weight[:, 0], [-w, w], atol=1e-8)


def test_float32_states_are_fitted_in_float64(rng):
    x, y = examples(rng)
    exact, short = (
        interpret.linear_probe(v, y).weight for v in (x.float().double(), x.float())
    )
    assert short.dtype == torch.float64
    np.testing.assert_array_equal(exact, short)


def test_right_counts_what_is_predicted(rng):
    x, y = examples(rng)
    probe = interpret.linear_probe(x, y)
    assert probe.right(x, y).tolist() == [
        a == b for a, b in zip(probe.predict(x), y, strict=True)
    ]
    assert probe.right(x, y).double().mean() > 0.5


BAD = {
    "lengths": ({"y": ["a", "b"]}, r"x \(3, 2\) must have a row for each of the 2 labels"),
    "one class": ({"y": ["a"] * 3}, r"the classes are \['a'\]; expected two or more"),
    "empty class": ({"classes": ["a", "b", "c"]}, r"\['c'\] have no example among 3"),
    "no class": ({"classes": ["a", "c"]}, r"labels \['b'\] are none of the 2 classes"),
    "penalty": ({"penalty": 0}, "penalty=0 must be positive"),
    "tolerance": ({"tolerance": 1.5}, r"tolerance=1\.5 in \(0, 1\)"),
    "nan": ({"x": torch.full((3, 2), float("nan"))}, "x holds 6 NaN or infinite numbers"),
}


@pytest.mark.parametrize(("change", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_refused(change, message):
    with pytest.raises(InputError, match=message):
        interpret.linear_probe(**{"x": torch.eye(3, 2), "y": ["a", "b", "a"]} | change)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("y", [torch.tensor([0, 1]), "ab"], ids=["tensor", "text"])
def test_labels_that_are_no_list_are_refused(y):
    with pytest.raises(InputTypeError, match="give a list of labels"):
        interpret.linear_probe(torch.eye(2), y)


def test_a_probe_of_another_width_is_refused():
    probe = interpret.linear_probe(torch.eye(2), ["a", "b"])
    with pytest.raises(InputError, match="must have rows of 2 numbers"):
        probe.logits(torch.eye(3))


def test_a_fit_that_does_not_end_is_an_error(monkeypatch, rng):
    monkeypatch.setattr("mathlm.interpret.probes.EVALUATIONS", 3)
    with pytest.raises(InputError, match="after 3 evaluations the gradient is"):
        interpret.linear_probe(*examples(rng))


def test_states_without_numbers_have_no_likeliest_class():
    probe = interpret.linear_probe(torch.eye(2), ["a", "b"])
    with pytest.raises(InputError, match="x holds 2 NaN or infinite numbers"):
        probe.predict(torch.full((1, 2), torch.nan))


def test_states_that_track_gradients_give_the_same_probe_without_any(rng):
    x, y = examples(rng)
    probe = interpret.linear_probe(x.clone().requires_grad_(), y)
    assert torch.equal(probe.weight, interpret.linear_probe(x, y).weight)
    assert not probe.weight.requires_grad


@pytest.mark.usefixtures("unchecked")
def test_states_that_are_no_table_are_refused():
    with pytest.raises(InputTypeError, match="x is a ndarray; give a tensor"):
        interpret.linear_probe(np.eye(2), ["a", "b"])
    probe = interpret.linear_probe(torch.eye(2), ["a", "b"])
    with pytest.raises(InputError, match=r"x \(2,\) must have rows of 2 numbers"):
        probe.predict(torch.ones(2))
    with pytest.raises(InputTypeError, match="x is a list"):
        probe.predict([[1.0, 2.0]])


@pytest.mark.usefixtures("unchecked")
def test_labels_in_a_tensor_are_refused_though_each_could_be_called_wrong():
    probe = interpret.linear_probe(torch.eye(2), ["0", "1"])
    with pytest.raises(InputTypeError, match=r"y is a Tensor; give a list of labels: y.tolist"):
        probe.right(torch.eye(2), torch.tensor([0, 1]))


def test_no_rows_are_right_as_often_as_they_are():
    probe = interpret.linear_probe(torch.eye(2), ["a", "b"])
    assert probe.right(torch.zeros(0, 2), []).dtype == torch.bool


@pytest.mark.parametrize("penalty", [float("inf"), float("nan"), -1.0])
def test_penalties_that_are_no_positive_number_are_refused(penalty):
    with pytest.raises(InputError, match="must be positive and finite"):
        interpret.linear_probe(torch.eye(2), ["a", "b"], penalty=penalty)


def test_a_penalty_that_is_lost_in_rounding_is_refused():
    """Three equal columns: without a penalty no single weight is the best."""
    x = 1e9 * torch.arange(4.0)[:, None].expand(4, 3)
    with pytest.raises(
        InputError, match=r"penalty=1e-30 is lost in rounding beside states .* 3e"
    ):
        interpret.linear_probe(x, ["a", "b", "a", "b"], penalty=1e-30)
