import numpy as np
import pytest
import torch

from mathlm import functional as F
from mathlm.errors import InputError
from mathlm.reference import (
    balance_loss,
    balance_loss_backward,
    expert_groups,
    mixture_of_experts,
    mixture_of_experts_backward,
    numerical_vjp,
    sigmoid_top_k,
    sigmoid_top_k_backward,
    top_k_softmax,
    top_k_softmax_backward,
)

N, D, WIDTH, E = 6, 4, 3, 5
SHAPES = {
    "W_router.weight": (E, D), "W_in": (E, WIDTH, D), "W_gate": (E, WIDTH, D),
    "W_out": (E, D, WIDTH),
}  # fmt: skip


def drawn(rng):
    return {name: rng.normal(size=shape) for name, shape in SHAPES.items()}


@pytest.mark.parametrize("k", [1, 2, E])
@pytest.mark.parametrize(
    ("route", "backward"),
    [(top_k_softmax, top_k_softmax_backward), (sigmoid_top_k, sigmoid_top_k_backward)],
)
@pytest.mark.parametrize("batch", [(), (3,), (2, 3)])
def test_the_gradient_of_a_router_is_the_numerical_one(rng, route, backward, k, batch):
    z = rng.normal(size=(*batch, E))
    g, cache = route(z, k)
    dg = rng.normal(size=g.shape)
    (numeric,) = numerical_vjp(lambda z: route(z, k)[0], (z,), dg)
    np.testing.assert_allclose(backward(dg, cache), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("ours", "theirs"), [(top_k_softmax, F.top_k_softmax), (sigmoid_top_k, F.sigmoid_top_k)]
)
def test_gates_are_those_of_the_torch_half(rng, ours, theirs):
    z = rng.normal(size=(2, N, E))
    gates, chosen = theirs(torch.tensor(z), 3)
    right = torch.zeros(2, N, E).scatter(-1, chosen, gates)
    np.testing.assert_allclose(ours(z, 3)[0], right, rtol=1e-12)


def test_scores_so_large_that_a_thousand_less_is_the_same_share_alike():
    np.testing.assert_array_equal(top_k_softmax(np.full(3, 1e20), 2)[0], [0.5, 0.5, 0])


def test_a_single_expert_has_the_gate_one():
    np.testing.assert_array_equal(sigmoid_top_k(np.zeros((2, 1)), 1)[0], [[1], [1]])


def test_gates_of_scores_whose_sigmoids_are_below_float64():
    """σ(z) is e^z there, so that the ratio is e^1 : 1; and 1 - σ(40) is e^-40."""
    g, cache = sigmoid_top_k(np.array([-800.0, -801.0, -900.0]), 2)
    np.testing.assert_allclose(g, [np.e / (1 + np.e), 1 / (1 + np.e), 0], rtol=1e-12)
    dz = sigmoid_top_k_backward([1.0, 0.0, 0.0], cache)  # σ' / σ is 1: the rule of a softmax
    np.testing.assert_allclose(dz, g[0] * g[1] * np.array([1, -1, 0]), rtol=1e-12)
    dz = sigmoid_top_k_backward([1.0, 0.0], sigmoid_top_k(np.full(2, 40.0), 2)[1])
    np.testing.assert_allclose(dz, np.exp(-40) / 4 * np.array([1, -1]), rtol=1e-12)


def test_of_many_equal_scores_the_first_are_chosen():
    """More than the few that NumPy sorts by insertion."""
    scores = np.tile([1.0, 2.0], 100)
    assert np.flatnonzero(top_k_softmax(scores, 3)[0]).tolist() == [1, 3, 5]


def test_a_bias_takes_part_in_the_choice_only():
    g, _ = sigmoid_top_k(np.zeros((1, 3)), 2, bias=[-1.0, 0.0, 1.0])
    np.testing.assert_allclose(g, [[0, 0.5, 0.5]])


@pytest.mark.parametrize(("n_groups", "top_groups"), [(1, 1), (2, 1), (3, 2), (6, 4)])
def test_choices_within_groups_are_those_of_the_torch_half(rng, n_groups, top_groups):
    z, bias = rng.normal(size=(2, N, 12)), rng.normal(size=12) - 2  # most scores negative
    groups = {"n_groups": n_groups, "top_groups": top_groups}
    gates, chosen = F.sigmoid_top_k(torch.tensor(z), 3, torch.tensor(bias), **groups)
    right = torch.zeros(2, N, 12).scatter(-1, chosen, gates)
    np.testing.assert_allclose(sigmoid_top_k(z, 3, bias, **groups)[0], right, rtol=1e-12)


def test_groups_by_hand():
    """Sums of pairs 1.0, 1.1 and 0.9: the group of the largest score, 0.9, comes second."""
    scores = np.array([[0.9, 0.1, 0.6, 0.5, 0.8, 0.1]])
    assert expert_groups(scores, 3, 1).tolist() == [[False, False, True, True, False, False]]
    assert expert_groups(scores, 3, 2).tolist() == [[True, True, True, True, False, False]]
    three = np.array([[5.0, -9, 5, 1, 2, 2]])  # sums of two 10 and 4, of three 1 and 5
    assert expert_groups(three, 2, 1).tolist() == [[True] * 3 + [False] * 3]
    assert expert_groups(scores, 3, 3).all()
    equal = expert_groups(np.zeros((1, 6)), 3, 1)  # the first of equals
    assert equal.tolist() == [[True, True] + [False] * 4]


def test_all_experts_of_one_group_by_hand():
    """Sigmoids 0.75, 0.5 | 0.9, 0.6 | 0.5, 0.5: the second pair has the largest sum, 1.5."""
    s = np.array([0.75, 0.5, 0.9, 0.6, 0.5, 0.5])
    g, _ = sigmoid_top_k(np.log(s / (1 - s)), 2, n_groups=3, top_groups=1)
    np.testing.assert_allclose(g, [0, 0, 0.6, 0.4, 0, 0], rtol=1e-14)


def test_the_gradient_within_groups_is_the_numerical_one(rng):
    z, dg = rng.normal(size=(7, 8)), rng.normal(size=(7, 8))
    groups = {"n_groups": 4, "top_groups": 2}
    g, cache = sigmoid_top_k(z, 3, **groups)
    assert not np.array_equal(g > 0, sigmoid_top_k(z, 3)[0] > 0)
    (numeric,) = numerical_vjp(lambda z: sigmoid_top_k(z, 3, **groups)[0], (z,), dg)
    np.testing.assert_allclose(sigmoid_top_k_backward(dg, cache), numeric, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("k", [1, 2, E])
def test_a_token_gets_the_sum_of_its_experts_times_their_gates(rng, k):
    """Every expert on every token, most of them with gate 0."""
    x, weights = rng.normal(size=(N, D)), drawn(rng)
    gates = top_k_softmax(x @ weights["W_router.weight"].T, k)[0]
    inner, gate = (np.einsum("efd,nd->nef", weights[f"W_{m}"], x) for m in ("in", "gate"))
    hidden = gate / (1 + np.exp(-gate)) * inner
    y = np.einsum("ne,edf,nef->nd", gates, weights["W_out"], hidden)
    np.testing.assert_allclose(mixture_of_experts(x, weights, k)[0], y, rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("k", [1, 2, E])
def test_the_gradient_of_the_layer_is_the_numerical_one(rng, k):
    x, weights = rng.normal(size=(N, D)), drawn(rng)
    y, cache = mixture_of_experts(x, weights, k)
    dy = rng.normal(size=y.shape)

    def forward(x, *W):
        return mixture_of_experts(x, dict(zip(weights, W, strict=True)), k)[0]

    dx, grads = mixture_of_experts_backward(dy, cache)
    numeric = numerical_vjp(forward, (x, *weights.values()), dy)
    for found, right in zip((dx, *grads.values()), numeric, strict=True):
        np.testing.assert_allclose(found, right, rtol=1e-6, atol=1e-7)


def test_the_gradient_of_a_score_compares_an_expert_with_the_mixture(rng):
    """dz_e = g_e dy · (f_e - y), so that it is 0 if all experts say the same."""
    x, weights = rng.normal(size=(N, D)), drawn(rng)
    for name in ("W_in", "W_gate", "W_out"):
        weights[name][:] = weights[name][:1]
    y, cache = mixture_of_experts(x, weights, 2)
    _, grads = mixture_of_experts_backward(rng.normal(size=y.shape), cache)
    assert abs(grads["W_router.weight"]).max() < 1e-12


@pytest.mark.parametrize("k", [1, 3])
def test_the_balance_loss_and_its_gradient_are_those_of_torch(rng, k, unchecked):
    z = rng.normal(size=(N, E))
    loss, cache = balance_loss(z, k)
    logits = torch.tensor(z, requires_grad=True)
    theirs = F.balance_loss(logits, F.top_k_softmax(logits, k)[1])
    theirs.backward()
    np.testing.assert_allclose(loss, theirs.item(), rtol=1e-12)
    dz = balance_loss_backward(2.0, cache)
    np.testing.assert_allclose(dz, 2 * logits.grad, rtol=1e-10, atol=1e-15)
    with pytest.raises(InputError, match=r"dloss has shape \(5,\), but y has \(\)"):
        balance_loss_backward(np.ones(E), cache)


@pytest.mark.parametrize("of", [top_k_softmax, sigmoid_top_k, balance_loss])
def test_scores_that_are_not_finite_are_refused(of):
    with pytest.raises(InputError, match="logits holds 1 NaN"):
        of(np.array([[0.0, np.nan]]), 1)


@pytest.mark.parametrize("k", [True, 2.0, 0])
def test_a_number_of_experts_is_a_whole_number_of_at_least_one(k, unchecked):
    with pytest.raises(InputError, match=f"k={k} must be an integer of 1 to n_experts=5"):
        top_k_softmax(np.zeros((2, E)), k)


@pytest.mark.usefixtures("unchecked")
def test_what_does_not_fit_is_refused(rng):
    for bias in (np.zeros((2, E)), np.zeros(1), 0.0):
        with pytest.raises(InputError, match=r"must be \(5,\): one number for each expert"):
            sigmoid_top_k(np.zeros(E), 1, bias)
    for shape in [(E,), (2, 3, E)]:
        with pytest.raises(InputError, match=r"must be \(N, E\)"):
            balance_loss(np.zeros(shape), 1)
    with pytest.raises(InputError, match="k=6 must be an integer of 1 to n_experts=5"):
        top_k_softmax(np.zeros((2, E)), 6)
    weights = drawn(rng) | {"W_out": np.ones((E, D + 1, WIDTH))}
    with pytest.raises(InputError, match="do not fit; expected"):
        mixture_of_experts(np.ones((N, D)), weights, 2)
    with pytest.raises(InputError, match=r"x \(4,\) and weights"):
        mixture_of_experts(np.ones(D), drawn(rng), 2)
    for groups in ((2, 1), (5, 1), (1, 2)):  # of 5 experts
        with pytest.raises(InputError, match=f"n_groups={groups[0]} must divide n_experts=5"):
            expert_groups(np.zeros((2, E)), *groups)
    with pytest.raises(InputError, match="n_groups=0 must be an integer of at least 1"):
        expert_groups(np.zeros((2, E)), 0, 1)
    with pytest.raises(InputError, match="top_groups=0 must be an integer of at least 1"):
        expert_groups(np.zeros((2, 6)), 3, 0)
    with pytest.raises(InputError, match="k=3 must be at most the 2 experts of top_groups=1"):
        sigmoid_top_k(np.zeros((2, 6)), 3, n_groups=3, top_groups=1)
