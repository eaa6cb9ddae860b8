import numpy as np
import pytest
import torch
import torch.nn.functional as F
from numpy.testing import assert_allclose

from lab.embeddings import association
from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError

SHAPES = pytest.mark.parametrize("batch", [(), (3,), (2, 3)])


def assert_certified(found, expected):
    """Equal up to the error of a central difference, relative to the largest entry."""
    for a, b in zip(found, expected, strict=True):
        assert_allclose(a, b, rtol=1e-6, atol=1e-7 * max(1.0, np.abs(b).max()))


def draws(rng, batch, k=4, d=5):
    """Center, positive and negative vectors."""
    shapes = ((*batch, d), (*batch, d), (*batch, k, d))
    return tuple(rng.normal(size=shape) for shape in shapes)


@SHAPES
def test_gradient_of_the_softmax_loss_is_certified(rng, batch):
    w, C, target = (
        rng.normal(size=(*batch, 5)),
        rng.normal(size=(7, 5)),
        rng.integers(7, size=batch),
    )
    loss, cache = ref.skip_gram_softmax(w, C, target)
    dy = rng.normal(size=batch)
    numerical = ref.numerical_vjp(
        lambda w, C: ref.skip_gram_softmax(w, C, target)[0], (w, C), dy
    )
    assert loss.shape == batch
    assert_certified(ref.skip_gram_softmax_backward(dy, cache), numerical)


def test_softmax_loss_is_the_cross_entropy_of_torch(rng):
    w, C = (torch.tensor(rng.normal(size=s), requires_grad=True) for s in ((4, 5), (7, 5)))
    target, dy = rng.integers(7, size=4), rng.normal(size=4)
    expected = F.cross_entropy(w @ C.T, torch.tensor(target), reduction="none")
    expected.backward(torch.tensor(dy))
    loss, cache = ref.skip_gram_softmax(w.detach().numpy(), C.detach().numpy(), target)
    assert_allclose(loss, expected.detach().numpy(), rtol=1e-12)
    dw, dC = ref.skip_gram_softmax_backward(dy, cache)
    assert_allclose(dw, w.grad.numpy(), rtol=1e-12, atol=1e-14)
    assert_allclose(dC, C.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_softmax_moves_every_row_of_the_table_and_the_moves_cancel(rng):
    """Σ_j dC_j = Σ_j (p_j - [j = o]) w = 0: what one row gains the others lose."""
    w, C = rng.normal(size=(3, 5)), rng.normal(size=(7, 5))
    _, cache = ref.skip_gram_softmax(w, C, [0, 2, 2])
    _, dC = ref.skip_gram_softmax_backward(np.ones(3), cache)
    assert np.all(np.abs(dC).max(axis=1) > 0)
    assert_allclose(dC.sum(axis=0), 0, atol=1e-14)


@SHAPES
def test_gradients_of_negative_sampling_are_certified(rng, batch):
    args, dy = draws(rng, batch), rng.normal(size=batch)
    loss, cache = ref.negative_sampling(*args)
    numerical = ref.numerical_vjp(lambda *a: ref.negative_sampling(*a)[0], args, dy)
    assert loss.shape == batch
    assert_certified(ref.negative_sampling_backward(dy, cache), numerical)


def test_negative_sampling_is_the_binary_cross_entropy_of_torch(rng):
    """k + 1 questions with the answers yes, no, ..., no."""
    args = tuple(torch.tensor(a, requires_grad=True) for a in draws(rng, (6,)))
    w, c_positive, c_negative = args
    scores = torch.cat([c_positive[:, None], c_negative], 1) @ w[:, :, None]
    answers = torch.zeros(6, 5).index_fill(1, torch.tensor([0]), 1.0)
    entropy = F.binary_cross_entropy_with_logits
    expected = entropy(scores[..., 0], answers, reduction="none").sum(1)
    dy = rng.normal(size=6)
    expected.backward(torch.tensor(dy))
    loss, cache = ref.negative_sampling(*(a.detach().numpy() for a in args))
    assert_allclose(loss, expected.detach().numpy(), rtol=1e-12)
    for found, a in zip(ref.negative_sampling_backward(dy, cache), args, strict=True):
        assert_allclose(found, a.grad.numpy(), rtol=1e-12, atol=1e-14)


def test_negative_sampling_of_zero_vectors_costs_log_2_a_question():
    """σ(0) = 1/2: six undecided answers cost 6 log 2 = 4.159."""
    loss, _ = ref.negative_sampling(np.zeros(3), np.zeros(3), np.zeros((5, 3)))
    assert_allclose(loss, 6 * np.log(2), rtol=1e-15)


def test_negative_sampling_does_not_overflow():
    """σ(-1000) is 0 in float64, but -log σ(-1000) = 1000."""
    w = np.array([1000.0])
    loss, cache = ref.negative_sampling(w, -np.ones(1), np.ones((1, 1)))
    dw, _, _ = ref.negative_sampling_backward(np.ones(()), cache)
    assert_allclose(loss, 2000.0)
    assert_allclose(dw, [2.0])


@SHAPES
def test_gradient_of_the_cbow_context_is_certified(rng, batch):
    vectors, dy = rng.normal(size=(*batch, 4, 5)), rng.normal(size=(*batch, 5))
    h, cache = ref.cbow_context(vectors)
    numerical = ref.numerical_vjp(lambda v: ref.cbow_context(v)[0], (vectors,), dy)
    assert_allclose(h, vectors.sum(-2) / 4, rtol=1e-15)
    assert_certified((ref.cbow_context_backward(dy, cache),), numerical)


@pytest.mark.parametrize("noise", [[0.3, 0.7], [1.0, 0.0], None])
def test_expected_loss_is_the_mean_of_the_loss_over_all_pairs_and_draws(rng, noise):
    """Two words, k = 1: every pair and every draw listed, with its probability."""
    counts, w, c = np.array([[3, 1], [4, 2]]), rng.normal(size=(2, 3)), rng.normal(size=(2, 3))
    q = noise or [0.7, 0.3]  # 3 + 4 and 1 + 2 of the 10 pairs
    terms = [
        counts[i, j] / 10 * q[n] * ref.negative_sampling(w[i], c[j], c[[n]])[0]
        for i in range(2)
        for j in range(2)
        for n in range(2)
    ]
    loss, _ = ref.expected_negative_sampling(w @ c.T, counts, 1, noise)
    assert_allclose(loss, sum(terms), rtol=1e-14)


def test_gradient_of_the_expected_loss_is_certified(rng):
    x, counts = rng.normal(size=(4, 4)), rng.integers(0, 9, size=(4, 4))
    _, cache = ref.expected_negative_sampling(x, counts, 5)
    numerical = ref.numerical_vjp(
        lambda x: ref.expected_negative_sampling(x, counts, 5)[0], (x,), np.array(1.7)
    )
    assert_certified((ref.expected_negative_sampling_backward(1.7, cache),), numerical)


@pytest.mark.parametrize("noise", [None, np.array([0.5, 0.3, 0.2])])
def test_gradient_of_the_expected_loss_vanishes_at_shifted_pmi(rng, noise, unchecked):
    """Levy and Goldberg (2014): the optimum of each score is PMI - log k."""
    counts = rng.integers(1, 30, size=(3, 3))
    x = association.shifted_pmi(counts, 5, noise)
    loss, cache = ref.expected_negative_sampling(x, counts, 5, noise)
    assert_allclose(ref.expected_negative_sampling_backward(1.0, cache), 0, atol=1e-15)
    with pytest.raises(InputError, match=r"dy has shape \(3,\), but y has \(\)"):
        ref.expected_negative_sampling_backward(np.ones(3), cache)
    moved = x + rng.normal(size=x.shape)
    assert loss < ref.expected_negative_sampling(moved, counts, 5, noise)[0]


def test_gradient_descent_on_vectors_of_full_width_reaches_pmi_minus_log_k(rng):
    """With d = V the products w_i·c_j are free, and descent finds the optimum of each."""
    counts, k = np.array([[8, 4, 3], [4, 6, 5], [3, 5, 9]]), 2
    W, C = rng.normal(size=(2, 3, 3)) / 2
    for _ in range(4000):
        _, cache = ref.expected_negative_sampling(W @ C.T, counts, k)
        dx = ref.expected_negative_sampling_backward(1.0, cache)
        W, C = W - 2 * dx @ C, C - 2 * dx.T @ W
    assert_allclose(W @ C.T, association.pmi(counts) - np.log(k), atol=1e-9)


def test_a_pair_that_was_never_seen_has_no_optimum(rng):
    """Its term k n_i q_j log(1 + eˣ) only falls as x falls: the optimum is minus infinity."""
    counts = np.array([[2, 1], [1, 0]])
    _, cache = ref.expected_negative_sampling(rng.normal(size=(2, 2)), counts, 1)
    assert ref.expected_negative_sampling_backward(1.0, cache)[1, 1] > 0
    assert association.shifted_pmi(counts, 1)[1, 1] == -np.inf


BAD = [
    (ref.negative_sampling, (np.ones(3), np.ones(3), np.ones((0, 3))), "c_negative is empty"),
    (
        ref.negative_sampling,
        (np.ones(3), np.ones(2), np.ones((1, 3))),
        r"w \(3,\) and c_positi",
    ),
    (ref.negative_sampling, (np.ones(3), np.ones(3), np.ones((1, 4))), r"c_negative \(1, 4\)"),
    (ref.negative_sampling, (np.ones(3), np.ones(3), np.ones(3)), r"c_negative \(3,\) must be"),
    (ref.negative_sampling, ([np.nan], [1.0], [[1.0]]), "w holds 1 NaN"),
    (ref.skip_gram_softmax, (np.ones(3), np.ones((4, 3)), 4), "target 4 at .* outside 0..3"),
    (ref.skip_gram_softmax, (np.ones(3), np.ones((4, 3)), -1), "target -1 at .* outside 0..3"),
    (ref.skip_gram_softmax, (np.ones(3), np.ones((4, 2)), 0), "do not fit"),
    (
        ref.skip_gram_softmax,
        (np.ones((2, 3)), np.ones((4, 3)), [0]),
        r"target has shape \(1,\)",
    ),
    (ref.cbow_context, (np.ones(3),), r"shape \(3,\), expected"),
    (ref.cbow_context, (np.ones((0, 3)),), "vectors is empty"),
    (ref.expected_negative_sampling, (np.ones((2, 2)), np.eye(3), 1), r"x has shape \(2, 2\)"),
    (ref.expected_negative_sampling, (np.eye(2), np.eye(2), 0), "k=0 negative samples"),
    (ref.expected_negative_sampling, (np.eye(2), np.eye(2), np.inf), "k=inf negative samples"),
    (
        ref.expected_negative_sampling,
        (np.eye(2), [[0, 1], [0.5, -1]], 1),
        r"count -1.0 at \[1, 1\]",
    ),
    (ref.expected_negative_sampling, (np.eye(2), np.zeros((2, 2)), 1), "all counts"),
    (ref.expected_negative_sampling, (np.eye(2), np.eye(2), 1, [0.5, 0.6]), "sum 1.1"),
    (ref.expected_negative_sampling, (np.eye(2), np.eye(2), 1, [1.5, -0.5]), "minimum -0.5"),
]


@pytest.mark.parametrize(("f", "args", "message"), BAD)
def test_bad_input_is_refused(f, args, message):
    with pytest.raises(InputError, match=message):
        f(*args)


def test_targets_are_integers():
    with pytest.raises(InputTypeError, match="targets must be integers, got float64"):
        ref.skip_gram_softmax(np.ones(3), np.ones((4, 3)), 1.0)


@pytest.mark.parametrize("shape", [(3,), ()])
def test_backward_refuses_a_gradient_of_another_shape(rng, shape):
    _, cache = ref.negative_sampling(*draws(rng, (2,)))
    with pytest.raises(InputError, match="but y has"):
        ref.negative_sampling_backward(np.ones(shape), cache)


def test_a_single_target_outside_the_table_is_refused():
    with pytest.raises(InputError, match=r"target 4 at \[\] is outside 0\.\.3"):
        ref.skip_gram_softmax(np.ones(3), np.ones((4, 3)), 4)


def test_products_that_overflow_are_refused():
    """1e400 - 1e400 would be NaN, and a loss of -1e400 alone would be 0."""
    w = np.array([1e200, 1e200])
    with pytest.raises(InputError, match="c_o·w holds 1 NaN or infinite"):
        ref.negative_sampling(w, w * [1, -1], np.ones((1, 2)))
    with pytest.raises(InputError, match="c_i·w holds 1 NaN or infinite"):
        ref.negative_sampling(w, np.ones(2), -w[None])


def test_the_mean_of_a_window_does_not_overflow():
    h, _ = ref.cbow_context(np.full((4, 2), 1.5e308))
    assert_allclose(h, 1.5e308)


def test_counts_may_sum_to_the_largest_number():
    """All four scores are 0, so that each pair and its k = 1 draw cost log 2."""
    counts = np.full((2, 2), np.finfo(np.float64).max / 4)
    loss, _ = ref.expected_negative_sampling(np.zeros((2, 2)), counts, 1)
    assert_allclose(loss, 2 * np.log(2), rtol=1e-15)
    with pytest.raises(InputError, match="may have an infinite sum"):
        ref.expected_negative_sampling(np.zeros((2, 2)), 1.5 * counts, 1)


def test_gradients_that_are_not_finite_are_refused():
    _, cache = ref.skip_gram_softmax(np.ones(3), np.ones((4, 3)), 1)
    with pytest.raises(InputError, match="dy holds 1 NaN"):
        ref.skip_gram_softmax_backward(np.nan, cache)
