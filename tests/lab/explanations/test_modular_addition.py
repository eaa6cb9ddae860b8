"""Addition modulo p: by hand, by a network that is written down, and seen in frequencies."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.modular_addition import addition_table, fourier_adder, frequency_shares
from mathlm.errors import InputError


def logits(weights, pairs):
    u, v, w = weights
    return (u[pairs[:, 0]] + v[pairs[:, 1]]) ** 2 @ w


def test_the_table_modulo_three():
    pairs, sums = addition_table(3)
    assert sums.reshape(3, 3).tolist() == [[0, 1, 2], [1, 2, 0], [2, 0, 1]]
    assert pairs[5].tolist() == [1, 2]


@pytest.mark.parametrize("k", [1, 7, 26])
def test_nine_units_add_modulo_53(k):
    pairs, sums = addition_table(53)
    out = logits(fourier_adder(53, np.array([k])), pairs)
    assert (out.argmax(1) == sums).all()


def test_the_logits_are_a_cosine_of_the_mistake():
    pairs, sums = addition_table(7)
    out = logits(fourier_adder(7, np.array([2])), pairs)
    miss = sums[:, None] - np.arange(7)
    assert_allclose(out, 4.5 * np.cos(2 * np.pi * 2 * miss / 7), atol=1e-12)


def test_all_frequencies_leave_nothing_for_wrong_sums():
    """Σ_k cos(2πkm/p) over k = 1 ... (p-1)/2 is (p-1)/2 at m = 0 and -1/2 elsewhere."""
    pairs, sums = addition_table(11)
    out = logits(fourier_adder(11, np.arange(1, 6)), pairs)
    expected = 4.5 * np.where(sums[:, None] == np.arange(11), 5, -0.5)
    assert_allclose(out, expected, atol=1e-12)


def test_a_wave_has_one_frequency_and_a_shift_none():
    wave = 3 + np.cos(2 * np.pi * 4 * np.arange(13) / 13 + 0.3)
    shares = frequency_shares(wave[:, None])
    assert_allclose(shares[:, 0], np.arange(1, 7) == 4, atol=1e-12)


def test_two_waves_share_by_their_squares():
    turn = 2 * np.pi * np.arange(13) / 13
    shares = frequency_shares((2 * np.cos(turn) + np.sin(3 * turn))[:, None])
    assert_allclose(shares[[0, 2], 0], [0.8, 0.2], rtol=1e-12)


def test_random_columns_have_no_frequency_of_their_own(rng):
    shares = frequency_shares(rng.normal(size=(53, 4000)))
    assert_allclose(shares.sum(0), 1)
    assert_allclose(shares.mean(1), 1 / 26, rtol=0.1)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: addition_table(1), "modulus=1"),
        (lambda: fourier_adder(8, np.array([1])), "odd"),
        (lambda: fourier_adder(7, np.array([4])), "1 to 3"),
        (lambda: fourier_adder(7, np.array([1, 1])), "different"),
        (lambda: frequency_shares(np.ones((4, 2))), "4 rows"),
        (lambda: frequency_shares(np.ones((5, 2))), "does not vary"),
    ],
    ids=["modulus", "even", "range", "twice", "rows", "constant"],
)
def test_careless_arguments_are_named(call, words):
    with pytest.raises(InputError, match=words):
        call()
