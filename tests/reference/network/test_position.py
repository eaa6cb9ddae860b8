import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm import functional as F
from mathlm import reference as ref
from mathlm.errors import InputError, InputTypeError

TIGHT = {"rtol": 1e-12, "atol": 1e-12}
PAIRINGS = pytest.mark.parametrize("pairing", ["half-split", "interleaved"])
ROTATE = {"half-split": F.rotate_half_split, "interleaved": F.rotate_interleaved}
places = st.integers(0, 5000)


def inner(q, k, m, n, pairing):
    """⟨R_m q, R_n k⟩."""
    return ref.rotary(q, m, 100.0, pairing)[0] @ ref.rotary(k, n, 100.0, pairing)[0]


def test_sinusoids_of_two_pairs_at_the_first_positions():
    """d_model = 4: frequencies 1 and 1/100."""
    expected = [[0, 1, 0, 1], [math.sin(1), math.cos(1), math.sin(0.01), math.cos(0.01)]]
    np.testing.assert_allclose(ref.sinusoidal_table(2, 4), expected, rtol=1e-15)


def test_one_position_is_a_table_of_one_row():
    assert ref.sinusoidal_table(1, 4).tolist() == [[0, 1, 0, 1]]


def test_frequencies_rise_where_the_base_is_below_one():
    """ω₁ = base^(-2/4) = √4."""
    assert ref.rotary_frequencies(4, 0.25).tolist() == [1, 2]


@pytest.mark.parametrize("d_model", [2, 6, 64])
def test_sinusoids_are_those_of_the_torch_half(d_model):
    table = F.sinusoidal_table(300, d_model).numpy()
    np.testing.assert_allclose(ref.sinusoidal_table(300, d_model), table, **TIGHT)


@pytest.mark.parametrize("k", [0, 1, 7, -5])
def test_one_matrix_shifts_the_vector_of_every_position(k):
    table, M = ref.sinusoidal_table(60, 16), ref.sinusoidal_shift(k, 16)
    t = np.arange(10, 50)
    np.testing.assert_allclose(table[t] @ M.T, table[t + k], rtol=0, atol=1e-12)


def test_shifts_add_up_and_going_back_is_the_transpose():
    shift = ref.sinusoidal_shift
    np.testing.assert_allclose(shift(3, 8) @ shift(4, 8), shift(7, 8), **TIGHT)
    np.testing.assert_allclose(shift(-3, 8), shift(3, 8).T, **TIGHT)


@PAIRINGS
def test_rotation_is_multiplication_of_complex_numbers(rng, pairing):
    x, (T, K) = rng.standard_normal((2, 5, 6)), (5, 6)
    pairs = np.stack((x[..., :3], x[..., 3:]), -1) if pairing == "half-split" else None
    pairs = x.reshape(2, T, 3, 2) if pairs is None else pairs
    angles = np.arange(T)[:, None] * 100.0 ** (-np.arange(0, K, 2) / K)
    turned = (pairs[..., 0] + 1j * pairs[..., 1]) * np.exp(1j * angles)
    y, _ = ref.rotary(x, np.arange(T), 100.0, pairing)
    parts = np.stack((turned.real, turned.imag), 2 if pairing == "half-split" else -1)
    np.testing.assert_allclose(y, parts.reshape(2, T, K), **TIGHT)


@PAIRINGS
@pytest.mark.parametrize("base", [10.0, 10_000.0, 500_000.0])
def test_rotation_is_that_of_the_torch_half(rng, pairing, base):
    x = rng.standard_normal((2, 3, 200, 8))
    cos, sin = F.rotary_table(200, 8, base)
    expected = ROTATE[pairing](torch.from_numpy(x), cos, sin).numpy()
    np.testing.assert_allclose(ref.rotary(x, range(200), base, pairing)[0], expected, **TIGHT)


@PAIRINGS
def test_backward_is_the_vector_jacobian_product(rng, pairing):
    positions = np.array([0, 1, 5, 300])
    for batch in ((), (2,), (2, 3)):
        x, dy = rng.standard_normal((2, *batch, 4, 6))
        dx = ref.rotary_backward(dy, ref.rotary(x, positions, 50.0, pairing)[1])
        numerical = ref.numerical_vjp(
            lambda x: ref.rotary(x, positions, 50.0, pairing)[0], x, dy
        )
        np.testing.assert_allclose(dx, numerical, rtol=1e-6, atol=1e-8)


@PAIRINGS
def test_backward_undoes_the_rotation(rng, pairing):
    """A rotation is orthogonal: its transpose is the rotation by the negative angle."""
    x = rng.standard_normal((7, 8))
    y, cache = ref.rotary(x, np.arange(7), pairing=pairing)
    np.testing.assert_allclose(ref.rotary_backward(y, cache), x, **TIGHT)


@PAIRINGS
@given(places, places, places, st.integers(0, 2**32 - 1))
@settings(deadline=None, derandomize=True, max_examples=60)
def test_scores_depend_on_the_distance_only(pairing, m, n, shift, seed):
    q, k = np.random.default_rng(seed).standard_normal((2, 8))
    moved = inner(q, k, m + shift, n + shift, pairing)
    assert abs(inner(q, k, m, n, pairing) - moved) <= 1e-10


@PAIRINGS
def test_scores_do_depend_on_the_distance(rng, pairing):
    q, k = rng.standard_normal((2, 8))
    scores = [inner(q, k, 10, n, pairing) for n in range(10)]
    assert np.abs(np.diff(scores)).min() > 1e-3


def test_the_permutation_turns_one_pairing_into_the_other(rng):
    x, order = rng.standard_normal((5, 8)), ref.half_split_order(8)
    assert order.tolist() == [0, 2, 4, 6, 1, 3, 5, 7]
    interleaved, _ = ref.rotary(x, np.arange(5), pairing="interleaved")
    half_split, _ = ref.rotary(x[:, order], np.arange(5))
    np.testing.assert_array_equal(interleaved[:, order], half_split)
    np.testing.assert_array_equal(order, F.half_split_order(8).numpy())


def test_the_slow_pair_of_four_features_turns_by_one_radian_in_a_hundred_tokens():
    """ω₁ = 10000^(-2/4) = 1/100."""
    y, _ = ref.rotary(np.array([[0.0, 1.0, 0.0, 0.0]]), [100])
    np.testing.assert_allclose(y, [[0, math.cos(1), 0, math.sin(1)]], **TIGHT)


def test_positions_of_a_batch_are_not_read_as_those_of_its_heads(rng):
    """(B, T) for (B, H, T, K): with B = H they would fit the last axes, and be wrong."""
    x, positions = rng.standard_normal((2, 2, 3, 4)), np.array([[0, 1, 2], [5, 6, 7]])
    with pytest.raises(InputError, match=r"\(2, 3\), but x \(2, 2, 3, 4\) .* for heads"):
        ref.rotary(x, positions)
    per_head = np.broadcast_to(positions[:, None], x.shape[:-1])
    y, _ = ref.rotary(x, per_head)
    np.testing.assert_array_equal(y[1, 0], ref.rotary(x[1, 0], positions[1])[0])


def test_every_vector_may_have_a_position_of_its_own(rng):
    x, positions = rng.standard_normal((2, 3, 4)), np.array([[0, 1, 2], [5, 6, 7]])
    y, _ = ref.rotary(x, positions)
    np.testing.assert_array_equal(y[1], ref.rotary(x[1], positions[1])[0])


@pytest.mark.parametrize("call", [
    lambda: ref.sinusoidal_table(4, 5), lambda: ref.sinusoidal_shift(1, 5),
    lambda: ref.rotary_frequencies(5), lambda: ref.half_split_order(5),
    lambda: ref.rotary(np.ones((2, 5)), [0, 1]),
])  # fmt: skip
def test_odd_widths_are_refused(call):
    with pytest.raises(InputError, match="width 5 must be even and positive"):
        call()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda x: ref.rotary(x, [0, 1, -2]), InputError, r"position -2 at \[2\] is outside"),
        (lambda x: ref.rotary(x, [0, 1.5, 2]), InputTypeError, "positions must be integers"),
        (lambda x: ref.rotary(x, [0, 1]), InputError, r"shape \(2,\), but x \(3, 4\)"),
        (lambda x: ref.rotary(x, [[0, 1, 2]]), InputError, r"shape \(1, 3\), but x \(3, 4\)"),
        (lambda x: ref.rotary(x, []), InputError, "there is no position"),
        (lambda x: ref.rotary(x, [0, 1, 2], -1.0), InputError, r"base=-1\.0 .* positive"),
        (lambda x: ref.rotary(x, [0, 1, 2], 0.0), InputError, r"base=0\.0 .* positive"),
        (lambda x: ref.rotary(x, [0, 1, 2], math.inf), InputError, "base=inf .* finite"),
        (lambda x: ref.rotary(x, [0, 1, 2], pairing="neox"), InputError, "pairing='neox'"),
        (lambda x: ref.rotary(x * math.nan, [0, 1, 2]), InputError, "x holds 12 NaN"),
        (lambda x: ref.rotary(np.float64(1), 0), InputError, r"x \(\) has vectors"),
        (lambda x: ref.sinusoidal_table(0, 4), InputError, "length=0 must be at least 1"),
        (
            lambda x: ref.rotary_backward(x[:2], ref.rotary(x, [0, 1, 2])[1]),
            InputError,
            r"dy has shape \(2, 4\), but y has \(3, 4\)",
        ),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_arguments_that_do_not_fit_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(np.ones((3, 4)))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("k", [math.nan, math.inf, -math.inf])
def test_shifts_that_are_not_finite_are_refused(k):
    with pytest.raises(InputError, match=f"shift k={k} must be a finite number"):
        ref.sinusoidal_shift(k, 4)
