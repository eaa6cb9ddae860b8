"""What repeated text is worth, by hand and against the published law."""

import math

import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.scaling import (
    ChinchillaLaw,
    effective_parameters,
    effective_tokens,
    optimal_allocation,
    repeated_loss,
)

PAPER = ChinchillaLaw(
    A=math.exp(6.255414), B=math.exp(7.3049974), E=math.exp(0.6254804),
    alpha=0.3526596, beta=0.3526596,
)  # fmt: skip


def test_text_that_is_read_once_is_worth_itself():
    assert effective_tokens(7e6, [1])[0] == 7e6


def test_worth_by_hand():
    """R* = 1 and two repetitions: 100 + 100 (1 - e^-2)."""
    assert effective_tokens(100, [3], 1)[0] == pytest.approx(200 - 100 * math.exp(-2))


def test_no_number_of_readings_is_worth_more_than_r_fresh_ones():
    """U (1 + R*) = 16.4 U, as the paper says."""
    assert effective_tokens(10, [1e6])[0] == pytest.approx(164)


def test_after_r_repetitions_they_were_worth_a_share_of_1_less_1_over_e():
    worth = (effective_tokens(1, [1 + 15.4])[0] - 1) / 15.4
    assert worth == pytest.approx(1 - 1 / math.e)


@pytest.mark.parametrize(
    ("repeats", "share"), [(0, 1.0), (15.4 * math.log(2), 0.5), (15.4, 1 / math.e)]
)
def test_one_more_reading_is_worth_less_and_less(repeats, share):
    low, high = effective_tokens(1, [1 + repeats, 1 + repeats + 1e-6])
    assert (high - low) / 1e-6 == pytest.approx(share, rel=1e-6)


def test_the_exponential_stands_for_a_geometric_series():
    """Each reading takes 1/(1 + R*) of what is left: Σ (1 - δ)^k with R* = (1 - δ)/δ."""
    delta = 1 / 16.4
    series = np.cumsum((1 - delta) ** np.arange(40))
    assert effective_tokens(1, np.arange(1, 41)) == pytest.approx(series, rel=0.025)


def test_the_published_law_wants_0_051_parameters_for_a_token():
    """Muennighoff et al. (2023), appendix A: U_N = 0.051 U_D."""
    many = effective_parameters([1e30], 1e9, PAPER, 1.0)[0]
    assert many / 2 / 1e9 == pytest.approx(0.051, abs=5e-4)


@pytest.mark.parametrize("compute", [1e18, 1e22])
def test_up_to_the_compute_optimal_size_parameters_count_in_full(compute):
    law = ChinchillaLaw(A=406.4, B=410.7, E=1.69, alpha=0.34, beta=0.28)
    n, d = optimal_allocation(compute, law)
    sizes = np.array([0.1, 1 - 1e-9, 2]) * n
    found = effective_parameters(sizes, d, law)
    assert found[:2] == pytest.approx(sizes[:2], rel=1e-12)
    assert found[2] == pytest.approx(n + n * 5.3 * (1 - math.exp(-1 / 5.3)), rel=1e-6)


def test_four_epochs_cost_the_largest_published_model_less_than_one_percent():
    """8.7 billion parameters: 178 billion tokens, or 44 billion four times; measured 0.5 %."""
    once = repeated_loss([8.7e9], 178e9, [1], PAPER)[0]
    four = repeated_loss([8.7e9], 44e9, [178 / 44], PAPER)[0]
    assert 0.002 < four / once - 1 < 0.01


def test_one_epoch_of_a_small_model_is_the_law_itself():
    sizes = np.array([1e6, 1e7])
    assert repeated_loss(sizes, 1e9, [1], PAPER) == pytest.approx(PAPER.loss(sizes, [1e9]))


def test_what_repeats_is_never_better_than_fresh_text():
    epochs = np.array([1, 2, 4, 64])
    fresh = PAPER.loss([1e7], 1e9 * epochs)
    assert (repeated_loss([1e7], 1e9, epochs, PAPER) >= fresh).all()


def test_tokens_and_parameters_keep_by_their_own_constant():
    """U = U_N = 100; two repetitions with R* = 2, as much excess as U_N with R* = 1."""
    law = ChinchillaLaw(A=1, B=1, E=1, alpha=0.5, beta=0.5)
    tokens, size = 100 + 200 * (1 - 1 / math.e), 100 + 100 * (1 - 1 / math.e)
    found = repeated_loss([200], 100, [3], law, decays=(2, 1))
    assert found[0] == pytest.approx(1 + tokens**-0.5 + size**-0.5)


BAD = {
    "part": (lambda: effective_tokens(5, [0.5]), "epochs=0.5 must be at least 1"),
    "never": (lambda: effective_tokens(5, [1, 0]), r"^epochs\[1\]=0.0 must be positive"),
    "unique": (lambda: effective_tokens(0, [2]), "unique=0 must be a positive"),
    "decay": (lambda: effective_tokens(5, [2], decay=0), "decay=0 must be a positive"),
    "size": (lambda: effective_parameters([-1], 5, PAPER), r"n\[0\]=-1.0 must be positive"),
    "no text": (lambda: effective_parameters([1], 0, PAPER), "unique=0 must be a positive"),
    "keeps": (lambda: effective_parameters([1], 5, PAPER, 0), "decay=0 must be a positive"),
    "lengths": (lambda: repeated_loss([1, 2], 5, [1, 2, 3], PAPER), "n has 2 numbers and epo"),
}


@pytest.mark.parametrize(("call", "message"), BAD.values(), ids=BAD.keys())
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_a_matching_size_that_no_float_holds_is_said():
    law = ChinchillaLaw(A=1e9, B=1.0, E=1.0, alpha=1e-3, beta=0.3)
    with pytest.raises(InputError, match="compute-optimal is larger than any float"):
        effective_parameters([1e9], 1e9, law)
