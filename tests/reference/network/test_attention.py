import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal
from torch.nn.functional import scaled_dot_product_attention

from mathlm.errors import InputError
from mathlm.reference import (
    dot_product_attention,
    dot_product_attention_backward,
    numerical_vjp,
)

T, S, K, V = 4, 6, 5, 3
BATCHES = [(), (2,), (2, 3)]


def attend(q, k, v, mask=None):
    return dot_product_attention(q, k, v, mask)[0]


def gradients(q, k, v, dy, mask=None):
    return dot_product_attention_backward(dy, dot_product_attention(q, k, v, mask)[1])


def draw(rng, batch=()):
    shapes = [(T, K), (S, K), (S, V), (T, V)]
    return tuple(rng.normal(size=(*batch, *shape)) for shape in shapes)


@pytest.fixture(params=BATCHES, ids=str)
def problem(request, rng):
    """q, k, v and a random dy; the values are narrower than the keys."""
    *qkv, dy = draw(rng, request.param)
    return tuple(qkv), dy


@pytest.fixture
def mask(rng):
    """Half of the pairs; query 1 sees nothing and nobody sees key 2."""
    mask = rng.random((T, S)) < 0.5
    mask[1], mask[:, 2] = False, False
    mask[[0, 2, 3], [0, 1, 5]] = True
    return mask


def test_forward_matches_torch(problem):
    qkv, _ = problem
    theirs = scaled_dot_product_attention(*map(torch.tensor, qkv))
    assert_allclose(attend(*qkv), theirs, rtol=1e-12, atol=1e-14)


def test_masked_forward_matches_torch_where_a_query_sees_something(problem, mask):
    qkv, _ = problem
    theirs = scaled_dot_product_attention(*map(torch.tensor, qkv), attn_mask=torch.tensor(mask))
    rows = mask.any(-1)
    assert_allclose(attend(*qkv, mask)[..., rows, :], theirs[..., rows, :], rtol=1e-12)


@pytest.mark.parametrize("masked", [False, True])
def test_backward_matches_central_differences(problem, mask, masked):
    qkv, dy = problem
    mask = mask if masked else None
    numeric = numerical_vjp(lambda *a: attend(*a, mask), qkv, dy)
    for ours, theirs in zip(gradients(*qkv, dy, mask), numeric, strict=True):
        assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_backward_matches_torch(problem):
    qkv, dy = problem
    tensors = [torch.tensor(x, requires_grad=True) for x in qkv]
    scaled_dot_product_attention(*tensors).backward(torch.tensor(dy))
    for ours, tensor in zip(gradients(*qkv, dy), tensors, strict=True):
        assert_allclose(ours, tensor.grad, rtol=1e-12, atol=1e-14)


def test_three_keys_by_hand():
    """Scores (1, 1, 2)/√3; with e = exp(1/√3) the weights are (1, 1, e)/(2 + e)."""
    q, v = np.array([[1.0, 0, 1]]), np.array([[1.0, 2], [3, 4], [5, 6]])
    k = np.array([[1.0, 1, 0], [0, 1, 1], [1, 0, 1]])
    e = np.exp(1 / np.sqrt(3))
    y, cache = dot_product_attention(q, k, v)
    assert_allclose(cache[-1], np.array([[1, 1, e]]) / (2 + e), rtol=1e-14)
    assert_allclose(y, [[(4 + 5 * e) / (2 + e), (6 + 6 * e) / (2 + e)]], rtol=1e-14)


def test_order_of_keys_does_not_matter(problem, rng):
    (q, k, v), _ = problem
    order = rng.permutation(S)
    assert_allclose(attend(q, k[..., order, :], v[..., order, :]), attend(q, k, v), rtol=1e-12)


def test_order_of_queries_is_the_order_of_outputs(problem, rng):
    (q, k, v), _ = problem
    order = rng.permutation(T)
    assert_allclose(attend(q[..., order, :], k, v), attend(q, k, v)[..., order, :], rtol=1e-12)


def test_output_lies_between_the_extremes_of_the_values(problem):
    """An average with weights >= 0 that sum to 1 stays inside the hull, in every direction."""
    (q, k, v), dy = problem
    direction = dy[..., :1, :].mT
    seen, out = v @ direction, attend(q, k, v) @ direction
    assert (out <= seen.max(-2, keepdims=True) + 1e-12).all()
    assert (out >= seen.min(-2, keepdims=True) - 1e-12).all()


def test_weights_are_distributions_over_the_visible_keys(problem, mask):
    qkv, _ = problem
    weights = dot_product_attention(*qkv, mask)[1][-1]
    assert_allclose(weights.sum(-1), np.broadcast_to(mask.any(-1), weights.shape[:-1]))
    assert (weights[..., ~mask] == 0).all()


def test_equal_scores_give_the_mean(problem):
    (q, k, v), _ = problem
    y = attend(0 * q, k, v)
    assert_allclose(y, np.broadcast_to(v.mean(-2, keepdims=True), y.shape), rtol=1e-12)


def test_a_shift_along_all_keys_does_not_matter(problem, rng):
    """q·(k + c) = q·k + q·c adds one constant to each row of scores."""
    (q, k, v), _ = problem
    assert_allclose(attend(q, k + rng.normal(size=K), v), attend(q, k, v), rtol=1e-10)


def test_masking_a_key_is_leaving_it_out(problem):
    (q, k, v), _ = problem
    mask = np.ones((T, S), dtype=bool)
    mask[:, -1] = False
    expected = attend(q, k[..., :-1, :], v[..., :-1, :])
    assert_allclose(attend(q, k, v, mask), expected, rtol=1e-12)


def test_a_query_that_sees_nothing_gives_zero_and_gradient_zero(problem, mask):
    qkv, dy = problem
    dq, dk, dv = gradients(*qkv, dy, mask)
    assert_array_equal(attend(*qkv, mask)[..., 1, :], 0)
    assert_array_equal(dq[..., 1, :], 0)
    assert all(np.isfinite(g).all() for g in (dq, dk, dv))


def test_a_sequence_that_is_all_padding_leaves_the_others_alone(rng):
    q, k, v, dy = draw(rng, (2,))
    mask = np.ones((2, 1, S), dtype=bool)
    mask[0] = False
    assert_array_equal(attend(q, k, v, mask)[0], 0)
    assert_allclose(attend(q, k, v, mask)[1], attend(q[1], k[1], v[1]), rtol=1e-12)
    alone = gradients(q[1], k[1], v[1], dy[1])
    for both, one in zip(gradients(q, k, v, dy, mask), alone, strict=True):
        assert_array_equal(both[0], 0)
        assert_allclose(both[1], one, rtol=1e-12)


@pytest.mark.parametrize("poison", [1e6, np.nan, np.inf])
def test_nothing_leaks_from_masked_positions(problem, mask, poison):
    (q, k, v), dy = problem
    clean = (attend(q, k, v, mask), *gradients(q, k, v, dy, mask))
    q, k, v = q.copy(), k.copy(), v.copy()
    q[..., 1, :], k[..., 2, :], v[..., 2, :] = poison, poison, -poison
    poisoned = (attend(q, k, v, mask), *gradients(q, k, v, dy, mask))
    for ours, theirs in zip(poisoned, clean, strict=True):
        assert_array_equal(ours, theirs)


def test_a_large_number_ahead_does_not_leak_through_a_causal_mask(rng):
    q, k, v, dy = draw(rng)
    causal = np.tril(np.ones((T, S), dtype=bool))
    clean = attend(q, k, v, causal)[:2]
    k[2:], v[2:] = 1e6, 1e6
    assert_allclose(attend(q, k, v, causal)[:2], clean, rtol=1e-12)
    dy[2:] = 0
    assert_array_equal(gradients(q, k, v, dy, causal)[1][2:], 0)


@pytest.mark.parametrize("name", ["q", "k", "v"])
def test_visible_nan_is_an_error(rng, name):
    q, k, v, _ = draw(rng)
    {"q": q, "k": k, "v": v}[name][0, 1] = np.nan
    with pytest.raises(ValueError, match=rf"{name} holds 1 NaN .* first at \(0, 1\)"):
        attend(q, k, v)


def test_scores_that_overflow_are_refused_only_where_they_are_visible():
    """1e200 · 1e200 is infinite; behind the mask the scores are 0, and 0 beside 1e200."""
    q, k, v = np.array([[1e200], [1.0]]), np.array([[0.0], [1e200]]), np.array([[3.0], [7.0]])
    with pytest.raises(
        InputError, match=r"scores holds 1 NaN or infinite .* first at \(0, 1\)"
    ):
        attend(q, k, v)
    assert_array_equal(attend(q, k, v, np.array([[True, False], [True, True]])), v)


def test_a_score_of_terms_that_overflow_with_both_signs_is_refused():
    """Whether ∞ - ∞ comes of it depends on the order of the sum, and neither is a score."""
    q = np.full((1, 16), 1e200)
    with pytest.raises(InputError, match="scores holds 1 NaN or infinite"):
        attend(q, q * (-1.0) ** np.arange(16), np.ones((1, 1)))


def test_mask_of_numbers_is_refused(rng, unchecked):
    q, k, v, _ = draw(rng)
    with pytest.raises(TypeError, match="mask has dtype float64; give booleans"):
        dot_product_attention(q, k, v, np.zeros((T, S)))


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((T, K), (S, K + 1), (S, V)), "width 5 and k has width 6"),
        (((T, K), (S, K), (S - 1, V)), "6 positions and v has 5"),
        (((2, T, K), (S, K), (S, V)), r"batch shapes \(2,\), \(\), \(\)"),
        (((K,), (S, K), (S, V)), "at least two axes"),
        (((T, K), (K,), (S, V)), "at least two axes"),
        (((T, K), (S, K), (V,)), "at least two axes"),
        (((2, T, 0), (2, S, 0), (2, S, V)), "one common width of at least 1"),
        (((T, K), (0, K), (0, V)), "0 positions"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(shapes, message, unchecked):
    with pytest.raises(ValueError, match=message):
        dot_product_attention(*map(np.zeros, shapes))


def test_mask_of_another_shape_is_refused(rng):
    q, k, v, _ = draw(rng)
    with pytest.raises(ValueError, match=r"mask has shape \(4, 5\)"):
        attend(q, k, v, np.ones((T, S - 1), dtype=bool))


def test_backward_refuses_a_gradient_of_another_shape(rng):
    q, k, v = rng.normal(size=(3, 4, 5))
    _, cache = dot_product_attention(q, k, v)
    with pytest.raises(ValueError, match=r"dy has shape \(4, 4\), y has \(4, 5\)"):
        dot_product_attention_backward(np.ones((4, 4)), cache)


def test_rows_of_scores_near_zero_and_near_ten_thousand_live_together():
    """Scores ±5,000 √2 and ±√2/2: the second row is σ(√2), though its largest is far below."""
    q, k = np.array([[1e4, 0.0], [1.0, 0.0]]), np.array([[1.0, 0.0], [-1.0, 0.0]])
    y, _ = dot_product_attention(q, k, np.array([[1.0], [0.0]]))
    np.testing.assert_allclose(y[:, 0], [1, 1 / (1 + np.exp(-np.sqrt(2)))], rtol=1e-12)
