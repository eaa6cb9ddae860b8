import itertools
import math
import tracemalloc

import hypothesis.extra.numpy as hnp
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from mathlm import functional
from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError

F = torch.nn.functional
SHAPES = pytest.mark.parametrize("shape", [(), (7,), (3, 5), (2, 3, 5)], ids=str)
V = 5
WEIGHT = np.array([0.5, 2.0, 0.0, 1.0, 3.0])
CASES = pytest.mark.parametrize(
    ("label_smoothing", "weight"), list(itertools.product([0.0, 0.1, 1.0], [None, WEIGHT]))
)
TIGHT = {"rtol": 1e-12, "atol": 1e-14}


def squares(shape, rng):
    return rng.normal(size=(2, *shape))


def chances(shape, rng):
    return rng.uniform(0.05, 0.95, size=(2, *shape))


def scores(shape, rng):
    return rng.normal(size=shape) * 5, rng.uniform(size=shape)


BINARY = {
    "squared_error": (squares, lambda p, y: F.mse_loss(p, y, reduction="none")),
    "half_squared_error": (squares, lambda p, y: F.mse_loss(p, y, reduction="none") / 2),
    "binary_cross_entropy": (
        chances,
        lambda p, y: F.binary_cross_entropy(p, y, reduction="none"),
    ),
    "binary_cross_entropy_with_logits": (
        scores,
        lambda z, y: F.binary_cross_entropy_with_logits(z, y, reduction="none"),
    ),
}
EVERY = pytest.mark.parametrize("name", BINARY)


def pair(name):
    return getattr(ref, name), getattr(ref, f"{name}_backward")


@EVERY
@SHAPES
def test_loss_and_gradient_are_those_of_torch(name, shape, rng):
    draw, theirs = BINARY[name]
    x, target = draw(shape, rng)
    dy, (f, backward) = rng.normal(size=shape), pair(name)
    leaf = torch.tensor(x, requires_grad=True)
    expected = theirs(leaf, torch.tensor(target))
    expected.backward(torch.tensor(dy))
    loss, cache = f(x, target)
    assert_allclose(loss, expected.detach(), **TIGHT)
    assert_allclose(backward(dy, cache), leaf.grad, rtol=1e-11, atol=1e-13)


@EVERY
@SHAPES
def test_gradient_is_the_one_of_finite_differences(name, shape, rng):
    x, target = map(np.asarray, BINARY[name][0](shape, rng))
    dy, (f, backward) = np.asarray(rng.normal(size=shape)), pair(name)
    numeric = ref.numerical_vjp(lambda x: np.asarray(f(x, target)[0]), x, dy)
    assert_allclose(backward(dy, f(x, target)[1]), numeric, rtol=1e-6, atol=1e-8)


def test_squared_errors_by_hand():
    """(0.8 - 1)² = 0.04, (0.3 - 0)² = 0.09, (0.9 - 1)² = 0.01; halves: mean 0.07 / 3."""
    prediction, target = np.array([0.8, 0.3, 0.9]), np.array([1.0, 0.0, 1.0])
    assert_allclose(ref.squared_error(prediction, target)[0], [0.04, 0.09, 0.01], rtol=1e-12)
    half, cache = ref.half_squared_error(prediction, target)
    assert_allclose(half.mean(), 0.07 / 3, rtol=1e-12)
    assert_allclose(ref.half_squared_error_backward(np.ones(3), cache), [-0.2, 0.3, -0.1])


@pytest.mark.parametrize(("prediction", "target"), [(1e200, 0.0), (1e308, -1e308)])
def test_a_square_beyond_float64_is_infinite(prediction, target):
    assert ref.squared_error([prediction], [target])[0][0] == math.inf


def test_the_gradient_of_a_square_is_infinite_beyond_float64():
    _, cache = ref.squared_error([1e200], [0.0])
    assert ref.squared_error_backward([1e200], cache)[0] == math.inf


@pytest.mark.parametrize("name", ["squared_error", "half_squared_error"])
def test_an_error_beyond_float64_that_does_not_count_has_gradient_zero(name):
    f, backward = pair(name)
    _, cache = f([1e308, 1e308], [-1e308, -1e308])
    assert backward([0.0, 1.0], cache).tolist() == [0, math.inf]


def test_binary_cross_entropy_by_hand():
    """-log 0.9, -log(1 - 0.2), -log 0.8: together -log(0.9 · 0.8 · 0.8) = -log 0.576."""
    loss, _ = ref.binary_cross_entropy([0.9, 0.2, 0.8], [1, 0, 1])
    assert_allclose(loss.sum(), -math.log(0.576), rtol=1e-12)


def test_certainty_costs_nothing_when_right_and_everything_when_wrong():
    loss, _ = ref.binary_cross_entropy([1.0, 0.0, 1.0, 0.0, 0.0], [1, 0, 0, 1, 0.5])
    assert_array_equal(loss, [0, 0, math.inf, math.inf, math.inf])
    assert not np.signbit(loss).any()


def test_gradient_at_certainty_is_one_sided_or_infinite():
    """y = 1: -1/p, at p = 1 it is -1 and at p = 0 -inf; y = 0: 1/(1 - p), so 1 and +inf."""
    _, cache = ref.binary_cross_entropy([1.0, 0.0, 0.0, 1.0], [1, 1, 0, 0])
    slope = ref.binary_cross_entropy_backward(np.ones(4), cache)
    assert_array_equal(slope, [-1, -math.inf, 1, math.inf])


def test_a_gradient_beyond_float64_is_infinite():
    """At p = 1e-310 the slope is -1/p = -1e310."""
    _, cache = ref.binary_cross_entropy([1e-310], [1])
    assert ref.binary_cross_entropy_backward([1.0], cache).tolist() == [-math.inf]


def test_a_share_of_zero_counts_nothing_whatever_was_in_memory():
    """NumPy leaves out entries by not writing them: here it would find NaN there."""
    p, y = np.full(4, 0.5), np.array([0.0, 1.0, 0.0, 1.0])
    stale = [np.full(4, np.nan) for _ in range(20)]
    del stale
    assert_allclose(ref.binary_cross_entropy(p, y)[0], math.log(2), rtol=1e-15)


def test_an_infinite_loss_that_does_not_count_has_gradient_zero():
    _, cache = ref.binary_cross_entropy([0.0, 1.0], [1, 0])
    assert_array_equal(ref.binary_cross_entropy_backward(np.zeros(2), cache), [0, 0])


def test_logits_far_out_cost_what_they_are_off():
    """log(1 + e^z) is z for z = 1000; a right answer costs e^-40 at z = 40, and 0 at 1000."""
    z, y = [1000.0, -1000.0, 1e308, 40.0, 1000.0, -1e4], [0, 1, 0, 1, 1, 0]
    loss, cache = ref.binary_cross_entropy_with_logits(z, y)
    assert_allclose(loss, [1000, 1000, 1e308, math.exp(-40), 0, 0], rtol=1e-12)
    slope = ref.binary_cross_entropy_with_logits_backward(np.ones(6), cache)
    assert_allclose(slope, [1, -1, 1, -math.exp(-40), 0, 0], rtol=1e-12)


def test_with_logits_is_sigmoid_then_cross_entropy_in_value_and_gradient(rng):
    z, y, dy = rng.normal(size=(3, 8))
    y = (y > 0).astype(float)
    p, p_cache = ref.sigmoid(z)
    loss, cache = ref.binary_cross_entropy(p, y)
    at_once, z_cache = ref.binary_cross_entropy_with_logits(z, y)
    assert_allclose(at_once, loss, rtol=1e-12)
    dz = ref.sigmoid_backward(ref.binary_cross_entropy_backward(dy, cache), p_cache)
    ours = ref.binary_cross_entropy_with_logits_backward(dy, z_cache)
    assert_allclose(ours, dz, rtol=1e-12)
    assert_allclose(ours, dy * (p - y), rtol=1e-12)


@EVERY
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_refused(name, bad):
    f, _ = pair(name)
    with pytest.raises(InputError, match="1 NaN or infinite entries"):
        f([0.5, bad], [0.0, 1.0])
    with pytest.raises(InputError, match="target holds 1 NaN or infinite entries"):
        f([0.5, 0.5], [0.0, bad])


@EVERY
def test_shapes_that_would_be_broadcast_are_refused(name):
    f, backward = pair(name)
    with pytest.raises(InputError, match=r"has shape \(3, 1\) and target has shape \(3,\)"):
        f(np.full((3, 1), 0.5), np.ones(3))
    with pytest.raises(InputError, match=r"dy has shape \(\), but y has \(3,\)"):
        backward(1.0, f(np.full(3, 0.5), np.ones(3))[1])
    with pytest.raises(InputError, match="is empty"):
        f([], [])


def test_probabilities_outside_0_to_1_are_refused():
    with pytest.raises(InputError, match=r"p has the entry 1\.5 at \(1,\)"):
        ref.binary_cross_entropy([0.5, 1.5], [0, 1])
    with pytest.raises(InputError, match=r"p has the entry -0\.1 at \(0,\)"):
        ref.binary_cross_entropy([-0.1], [0])
    for f in (ref.binary_cross_entropy, ref.binary_cross_entropy_with_logits):
        with pytest.raises(InputError, match=r"target has the entry 2\.0 at \(1,\)"):
            f([0.5, 0.5], [0, 2])


@pytest.fixture
def batch(rng):
    return rng.normal(size=(2, 3, V)) * 3, np.array([[1, -100, 4], [0, 3, -100]])


@CASES
def test_token_loss_and_gradient_are_those_of_the_torch_half(
    label_smoothing, weight, batch, rng
):
    logits, targets = batch
    dy, w = rng.normal(size=(2, 3)), None if weight is None else torch.tensor(weight)
    leaf = torch.tensor(logits, requires_grad=True)
    theirs = functional.token_cross_entropy(
        leaf, torch.tensor(targets), label_smoothing=label_smoothing, weight=w
    )
    theirs.backward(torch.tensor(dy))
    loss, cache = ref.token_cross_entropy(*batch, -100, label_smoothing, weight)
    assert_allclose(loss, theirs.detach(), **TIGHT)
    assert_allclose(ref.token_cross_entropy_backward(dy, cache), leaf.grad, **TIGHT)


@CASES
@pytest.mark.parametrize("shape", [(), (4,), (2, 3)], ids=str)
def test_token_gradient_is_the_one_of_finite_differences(label_smoothing, weight, shape, rng):
    logits, targets = rng.normal(size=(*shape, V)), rng.integers(V, size=shape)
    dy = np.asarray(rng.normal(size=shape))
    f = lambda z: ref.token_cross_entropy(z, targets, -100, label_smoothing, weight)  # noqa: E731
    numeric = ref.numerical_vjp(lambda z: np.asarray(f(z)[0]), logits, dy)
    ours = ref.token_cross_entropy_backward(dy, f(logits)[1])
    assert_allclose(ours, numeric, rtol=1e-6, atol=1e-8)


def test_token_gradient_is_probability_minus_one_hot(rng):
    logits = rng.normal(size=(4, V))
    _, cache = ref.token_cross_entropy(logits, [0, 1, 2, 4])
    expected = ref.softmax(logits) - np.eye(V)[[0, 1, 2, 4]]
    ours = ref.token_cross_entropy_backward(np.ones(4), cache)
    assert_allclose(ours, expected, **TIGHT)


def test_token_loss_by_hand():
    """Odds 1 : 3, so probabilities 1/4 and 3/4: losses log 4 and log(4/3)."""
    loss, _ = ref.token_cross_entropy([[0.0, math.log(3)]] * 2, [0, 1])
    assert_allclose(loss, [math.log(4), math.log(4 / 3)], rtol=1e-12)


def test_two_classes_are_the_binary_loss(rng):
    z, y = rng.normal(size=6) * 4, rng.integers(2, size=6)
    two, _ = ref.token_cross_entropy(np.stack([np.zeros(6), z], -1), y)
    assert_allclose(two, ref.binary_cross_entropy_with_logits(z, y)[0], rtol=1e-12)


def test_a_class_ruled_out_costs_everything_as_a_target_and_nothing_else():
    logits = [[0.0, 0.0, -math.inf]] * 2
    loss, cache = ref.token_cross_entropy(logits, [2, 0])
    assert_array_equal(loss, [math.inf, math.log(2)])
    slope = ref.token_cross_entropy_backward(np.ones(2), cache)
    assert_allclose(slope, [[0.5, 0.5, -1], [-0.5, 0.5, 0]])
    assert ref.token_cross_entropy(logits, [0, 1], label_smoothing=0.1)[0].min() == math.inf


def test_rows_near_zero_and_near_ten_thousand_live_together():
    """Row 0: log(1 + e^-1); row 1 is off by 1e4; row 2 is row 0 shifted by 1e4."""
    logits = [[1.0, 0.0], [1e4, 0.0], [1e4 + 1, 1e4]]
    loss, cache = ref.token_cross_entropy(logits, [0, 1, 0])
    near = math.log1p(math.exp(-1))
    assert_allclose(loss, [near, 1e4, near], rtol=1e-12)
    slope = ref.token_cross_entropy_backward(np.ones(3), cache)
    q = 1 / (1 + math.e)
    assert_allclose(slope, [[-q, q], [1, -1], [-q, q]], rtol=1e-12)


LOGITS = hnp.arrays(np.float64, (3, V), elements=st.floats(-50, 50))


@given(z=LOGITS, shift=st.floats(-1e3, 1e3), smoothing=st.floats(0, 1))
def test_a_common_shift_of_the_logits_changes_neither_loss_nor_gradient(z, shift, smoothing):
    (loss, cache), (moved, moved_cache) = (
        ref.token_cross_entropy(x, [0, 2, 4], label_smoothing=smoothing) for x in (z, z + shift)
    )
    assert_allclose(moved, loss, rtol=1e-10, atol=1e-10)
    dz = ref.token_cross_entropy_backward(np.ones(3), cache)
    assert_allclose(ref.token_cross_entropy_backward(np.ones(3), moved_cache), dz, atol=1e-10)


@given(z=LOGITS, smoothing=st.floats(0, 1))
def test_token_gradient_sums_to_zero_and_the_loss_is_not_negative(z, smoothing):
    loss, cache = ref.token_cross_entropy(z, [0, 2, 4], label_smoothing=smoothing)
    assert (loss >= 0).all()
    slope = ref.token_cross_entropy_backward(np.array([1.0, -2.0, 3.0]), cache)
    assert_allclose(slope.sum(-1), 0, atol=1e-12)


def test_a_large_vocabulary_needs_no_square_of_it():
    """A row of 50257 numbers has 0.4 MB, their square 20 GB."""
    tracemalloc.start()
    loss, _ = ref.token_cross_entropy(np.zeros((2, 50_257)), [0, 50_256])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert_allclose(loss, math.log(50_257), rtol=1e-12)
    assert peak < 20e6  # [bytes]


@pytest.mark.parametrize(
    ("targets", "options", "error", "message"),
    [
        ([1, 5], {}, InputError, r"target 5 at \[1\] is outside 0\.\.4"),
        ([-1, 2], {}, InputError, r"target -1 at \[0\] is outside 0\.\.4"),
        ([1.0, 2.0], {}, InputTypeError, "targets must be integers, got float64"),
        ([True, False], {}, InputTypeError, "targets must be integers, got bool"),
        ([1, 2, 3], {}, InputError, r"logits \(2, 5\) and targets \(3,\) do not fit"),
        ([1, 2], {"label_smoothing": 1.5}, InputError, "label_smoothing=1.5 is outside 0..1"),
        ([1, 2], {"label_smoothing": math.nan}, InputError, "label_smoothing=nan is outside"),
        ([1, 2], {"ignore_index": 0}, InputError, "ignore_index=0 is one of the 5 classes"),
        ([1, 2], {"weight": [1.0]}, InputError, r"weight has shape \(1,\), expected \(5,\)"),
        ([1, 2], {"weight": [1, 0, -1, 1, 1]}, InputError, r"the entry -1\.0 at \(2,\)"),
    ],
)
def test_targets_and_options_that_do_not_fit_are_refused(targets, options, error, message):
    with pytest.raises(error, match=message):
        ref.token_cross_entropy(np.zeros((2, V)), targets, **options)


@pytest.mark.parametrize("shape", [(4,), (2, 3)], ids=str)
def test_the_first_number_behind_the_classes_can_mark_what_does_not_count(shape):
    targets = np.full(shape, V)
    targets[0] = 1
    expected = np.zeros(shape)
    expected[0] = math.log(V)
    loss, _ = ref.token_cross_entropy(np.zeros((*shape, V)), targets, ignore_index=V)
    assert_allclose(loss, expected, rtol=1e-15)
    with pytest.raises(InputError, match="ignore_index=4 is one of the 5 classes"):
        ref.token_cross_entropy(np.zeros((*shape, V)), targets, ignore_index=V - 1)


def test_a_single_class_costs_nothing_whether_it_counts_or_not():
    loss, cache = ref.token_cross_entropy([[3.0], [4.0]], [0, -100])
    assert_array_equal(loss, [0, 0])
    assert_array_equal(ref.token_cross_entropy_backward(np.ones(2), cache), [[0], [0]])


def test_token_losses_of_nothing_and_logits_that_are_no_numbers_are_refused():
    with pytest.raises(InputError, match="there is no target"):
        ref.token_cross_entropy(np.zeros((0, V)), np.zeros(0, dtype=int))
    with pytest.raises(InputError, match=r"1 NaN or \+inf, the first at \(0, 1\)"):
        ref.token_cross_entropy([[0.0, math.nan]], [0])
    _, cache = ref.token_cross_entropy(np.zeros((2, V)), [0, 1])
    with pytest.raises(InputError, match=r"dy has shape \(\), but y has \(2,\)"):
        ref.token_cross_entropy_backward(1.0, cache)
