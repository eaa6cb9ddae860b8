import tracemalloc

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose, assert_array_equal

from mathlm.errors import InputError, InputTypeError
from mathlm.reference import (
    attention_tiles,
    dot_product_attention,
    dot_product_attention_backward,
    flash_attention,
    flash_attention_backward,
    numerical_vjp,
    online_softmax_sum,
    softmax,
)
from mathlm.reference.network import flash

K, V = 3, 2
SIZES = pytest.mark.parametrize(("T", "S"), [(6, 6), (3, 7), (7, 3)], ids=str)
BLOCKS = pytest.mark.parametrize("block", [1, 2, 3, 5, 64])


def causal(T, S):
    return np.tril(np.ones((T, S), dtype=bool), S - T)


def draw(rng, T, S, batch=(2,)):
    shapes = [(T, K), (S, K), (S, V), (T, V)]
    return [rng.normal(size=(*batch, *shape)) for shape in shapes]


def some(rng, T, S):
    """Half of the pairs; query 1 sees nothing, and nobody sees key 2."""
    mask = rng.random((2, T, S)) < 0.5
    mask[:, 1], mask[..., 2] = False, False
    return mask


MASKS = {
    "none": lambda rng, T, S: None,
    "padding": lambda rng, T, S: np.arange(S) < np.array([S, 2])[:, None, None],
    "some": some,
    "nothing": lambda rng, T, S: np.zeros((1, 1), dtype=bool),
}


def whole_mask(mask, is_causal, T, S):
    if not is_causal:
        return mask
    return causal(T, S) if mask is None else mask & causal(T, S)


@BLOCKS
@SIZES
@pytest.mark.parametrize("kind", list(MASKS))
@pytest.mark.parametrize("is_causal", [False, True])
def test_values_and_gradients_are_those_of_attention(block, T, S, kind, is_causal, rng):
    *qkv, dy = draw(rng, T, S)
    mask = MASKS[kind](rng, T, S)
    y, cache = flash_attention(*qkv, mask, block, causal=is_causal)
    expected, plain = dot_product_attention(*qkv, whole_mask(mask, is_causal, T, S))
    assert_allclose(y, expected, rtol=1e-12, atol=1e-14)
    ours, theirs = (
        flash_attention_backward(dy, cache),
        dot_product_attention_backward(dy, plain),
    )
    for mine, other in zip(ours, theirs, strict=True):
        assert_allclose(mine, other, rtol=1e-12, atol=1e-14)


def test_values_and_gradients_match_torch_over_many_tiles(rng):
    *qkv, dy = draw(rng, 150, 150, (2, 2))
    y, cache = flash_attention(*qkv, block=64, causal=True)
    leaves = [torch.tensor(a, requires_grad=True) for a in qkv]
    theirs = torch.nn.functional.scaled_dot_product_attention(*leaves, is_causal=True)
    theirs.backward(torch.tensor(dy))
    assert_allclose(y, theirs.detach(), rtol=1e-12, atol=1e-14)
    for mine, leaf in zip(flash_attention_backward(dy, cache), leaves, strict=True):
        assert_allclose(mine, leaf.grad, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("is_causal", [False, True])
def test_backward_matches_central_differences(is_causal, rng):
    *qkv, dy = draw(rng, 4, 5, ())
    _, cache = flash_attention(*qkv, block=2, causal=is_causal)
    numeric = numerical_vjp(
        lambda *a: flash_attention(*a, block=2, causal=is_causal)[0], tuple(qkv), dy
    )
    for mine, theirs in zip(flash_attention_backward(dy, cache), numeric, strict=True):
        assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


def test_scores_far_apart_do_not_overflow(rng):
    """Scores of 10⁴: the powers are taken of differences from the running maximum only."""
    q, k, v, dy = draw(rng, 6, 6)
    y, cache = flash_attention(100 * q, 100 * k, v, block=2)
    expected, plain = dot_product_attention(100 * q, 100 * k, v)
    assert_allclose(y, expected, rtol=1e-10)
    theirs = dot_product_attention_backward(dy, plain)
    for mine, other in zip(flash_attention_backward(dy, cache), theirs, strict=True):
        assert_allclose(mine, other, rtol=1e-9, atol=1e-9)


def test_the_cache_ends_with_the_log_of_the_sum_of_powers(rng):
    q, k, v, _ = draw(rng, 6, 6)
    mask = some(rng, 6, 6)
    logsum = flash_attention(q, k, v, mask, block=4)[1][-1][..., 0]
    powers = np.where(mask, np.exp(q @ k.mT / np.sqrt(K)), 0.0)
    with np.errstate(divide="ignore"):
        expected = np.log(powers.sum(-1))
    seeing = mask.any(-1)
    assert_allclose(logsum[seeing], expected[seeing], rtol=1e-12, atol=1e-14)
    assert_array_equal(logsum[~seeing], np.inf)


def test_a_query_that_sees_nothing_gives_zero_and_gradient_zero(rng):
    q, k, v, dy = draw(rng, 6, 6)
    y, cache = flash_attention(q, k, v, some(rng, 6, 6), block=4)
    dq, dk, dv = flash_attention_backward(dy, cache)
    assert_array_equal(y[:, 1], 0)
    assert_array_equal(dq[:, 1], 0)
    assert_array_equal(dk[:, 2], 0)
    assert_array_equal(dv[:, 2], 0)


@pytest.mark.parametrize("poison", [1e6, np.nan, np.inf])
@pytest.mark.parametrize("block", [1, 4, 64])
def test_nothing_leaks_from_hidden_positions(poison, block, rng):
    (q, k, v, dy), mask, results = draw(rng, 6, 6), some(rng, 6, 6), []
    for value in (0.0, poison):
        q[:, 1], k[:, 2], v[:, 2] = value, value, -value
        y, cache = flash_attention(q, k, v, mask, block)
        results.append((y, *flash_attention_backward(dy, cache)))
    for clean, poisoned in zip(*results, strict=True):
        assert_array_equal(poisoned, clean)


def peak(T, is_causal, rng):
    """Largest memory that forward and backward take beyond their arguments [bytes]."""
    q, k, v, dy = draw(rng, T, T, ())
    tracemalloc.start()
    _, cache = flash_attention(q, k, v, causal=is_causal)
    flash_attention_backward(dy, cache)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def test_memory_is_far_below_one_matrix_of_scores(rng):
    """T = 2048: the scores would take T² · 8 bytes = 32 MiB."""
    assert peak(2048, True, rng) < 2048 * 2048 * 8 / 25


def test_memory_grows_with_length_and_not_with_its_square(rng):
    """Twice the length: less than twice the memory, against four times for the plain form."""
    sizes = [peak(T, False, rng) for T in (512, 1024)]
    assert sizes[1] < 2.1 * sizes[0]


def test_the_plain_form_would_fail_both_tests_of_memory(rng):
    q, k, v, _ = draw(rng, 512, 512, ())
    tracemalloc.start()
    dot_product_attention(q, k, v)
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert size > 512 * 512 * 8


@pytest.mark.parametrize(
    ("T", "S", "block", "tiles", "kept"),
    [(8, 8, 2, 16, 10), (8, 8, 3, 9, 6), (4, 8, 2, 8, 7), (8, 4, 2, 8, 3), (1, 5, 2, 3, 3)],
)
def test_tiles_that_causal_order_hides_are_left_out(T, S, block, tiles, kept):
    """By hand: 4·5/2 of 16, 3·4/2 of 9; shifted by S - T = 4 keys: 3 + 4; by -4: 1 + 2."""
    assert len(attention_tiles(T, S, block)) == tiles
    assert len(attention_tiles(T, S, block, causal=True)) == kept


@SIZES
@BLOCKS
def test_the_tiles_cover_every_visible_pair_once_and_each_has_one(T, S, block):
    count = np.zeros((T, S), dtype=int)
    for rows, columns in attention_tiles(T, S, block, causal=True):
        count[rows, columns] += 1
        assert causal(T, S)[rows, columns].any()
    assert (count <= 1).all()
    assert (count[causal(T, S)] == 1).all()


def test_forward_and_backward_compute_the_scores_of_the_listed_tiles_only(monkeypatch, rng):
    seen, tile_scores = [], flash.tile_scores
    monkeypatch.setattr(
        flash, "tile_scores", lambda *a: (seen.append(a[3]), tile_scores(*a))[1]
    )
    q, k, v, dy = draw(rng, 8, 8)
    _, cache = flash_attention(q, k, v, block=2, causal=True)
    assert seen == attention_tiles(8, 8, 2, causal=True)
    flash_attention_backward(dy, cache)
    assert len(seen) == 20


@pytest.mark.parametrize("block", [1, 2, 3, 7, 100])
def test_the_online_sum_is_the_softmax_weighted_sum(block, rng):
    scores, values = 5 * rng.normal(size=(3, 7)), rng.normal(size=(3, 7, 2))
    expected = (softmax(scores)[:, None] @ values)[:, 0]
    y, maxima, sums = online_softmax_sum(scores, values, block)
    assert_allclose(y, expected, rtol=1e-12)
    assert_array_equal(maxima[:, -1], scores.max(-1))
    assert_allclose(sums[:, -1], np.exp(scores - scores.max(-1, keepdims=True)).sum(-1))


def test_the_running_maximum_and_sum_by_hand():
    """Scores log 1, log 4, log 2 in turn: λ is 1, then 1/4 + 1, then 5/4 + 2/4."""
    scores, values = np.log([1.0, 4.0, 2.0]), np.array([[7.0], [0.0], [14.0]])
    y, maxima, sums = online_softmax_sum(scores, values)
    assert_allclose(maxima, np.log([1.0, 4.0, 4.0]), atol=1e-15)
    assert_allclose(sums, [1.0, 1.25, 1.75], rtol=1e-14)
    assert_allclose(y, [5.0], rtol=1e-14)


def test_hidden_scores_come_first_last_or_everywhere_without_nan():
    hidden = -np.inf
    scores = np.array([[hidden, 0.0, hidden], [hidden, hidden, hidden]])
    y, maxima, sums = online_softmax_sum(scores, np.array([[[np.nan], [3.0], [np.inf]]] * 2))
    assert_array_equal(y, [[3.0], [0.0]])
    assert_array_equal(maxima, [[hidden, 0, 0], [hidden] * 3])
    assert_array_equal(sums, [[0, 1, 1], [0, 0, 0]])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("scores", "values", "block", "message"),
    [
        (np.ones(3), np.ones((2, 1)), 1, r"scores has shape \(3,\) and values has \(2, 1\)"),
        (np.ones(0), np.ones((0, 1)), 1, "S at least 1"),
        (np.ones(3), np.ones((3, 1)), 0, "block=0 must be a whole number of at least 1"),
        (np.array([np.nan]), np.ones((1, 1)), 1, "scores holds 1 NaN"),
        (np.array([np.inf]), np.ones((1, 1)), 1, "scores holds 1 NaN or infinite"),
        (np.ones(1), np.full((1, 1), np.nan), 1, "values holds 1 NaN"),
    ],
)
def test_the_online_sum_refuses_what_does_not_fit(scores, values, block, message):
    with pytest.raises(InputError, match=message):
        online_softmax_sum(scores, values, block)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"block": 0}, InputError, "block=0 must be a whole number of at least 1"),
        ({"block": 2.0}, InputError, r"block=2.0 must be a whole number"),
        ({"mask": np.ones((4, 4))}, InputTypeError, "mask has dtype float64; give booleans"),
        ({"mask": np.ones((4, 5), bool)}, InputError, r"mask has shape \(4, 5\)"),
        ({"k": np.ones((4, K + 1))}, InputError, "width 3 and k has width 4"),
        ({"k": np.ones((5, K))}, InputError, "5 positions and v has 4"),
        ({"q": np.full((4, K), np.nan)}, InputError, "q holds 12 NaN"),
        ({"k": np.full((4, K), np.inf)}, InputError, "k holds 12 NaN"),
        ({"v": np.full((4, V), np.nan)}, InputError, r"v holds 8 NaN .* first at \(0, 0\)"),
        (
            {"q": np.full((4, K), 1e308)},
            InputError,
            r"scores of queries 0..3, keys from 0 holds",
        ),
    ],
)
def test_flash_attention_refuses_what_does_not_fit(options, error, message):
    arguments = {"q": np.ones((4, K)), "k": np.full((4, K), 9.0), "v": np.ones((4, V))}
    with pytest.raises(error, match=message):
        flash_attention(**(arguments | options))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("T", "S", "message"),
    [
        (0, 5, "T=0 queries and S=5 keys"),
        (4.0, 5, "T=4.0 and S=5 must be whole numbers"),
        (4, 5.0, "T=4 and S=5.0 must be whole numbers"),
    ],
)
def test_sizes_that_are_not_whole_numbers_of_at_least_one_have_no_tiles(T, S, message):
    with pytest.raises(InputError, match=message):
        attention_tiles(T, S, 2)


@pytest.mark.parametrize(
    ("dy", "message"),
    [
        (np.ones((4, 3)), r"dy has shape \(4, 3\), but y has \(4, 2\)"),
        (np.nan, "dy holds 1 NaN"),
    ],
)
def test_a_gradient_that_does_not_fit_is_refused(dy, message, rng):
    q, k, v, _ = draw(rng, 4, 4, ())
    with pytest.raises(InputError, match=message):
        flash_attention_backward(dy, flash_attention(q, k, v)[1])


def test_a_running_sum_that_overflows_is_refused():
    huge = np.full((3, 1), 1e308)
    with pytest.raises(InputError, match="sum of the weighted values"):
        online_softmax_sum(np.zeros(3), huge)
    with pytest.raises(InputError, match="sum of the weighted values"):
        flash_attention(np.ones((1, 2)), np.ones((3, 2)), huge)
