"""Intervals by hand, against SciPy's and by exact sums over all counts."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from mathlm.errors import InputError
from mathlm.evaluation import compare_paired, questions_needed, wilson_interval


@pytest.mark.parametrize("n", [1, 7, 100])
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_the_interval_is_scipys(n, confidence):
    for k in {0, 1, n // 2, n}:
        theirs = stats.binomtest(k, n).proportion_ci(confidence, method="wilson")
        assert wilson_interval(k, n, confidence) == pytest.approx(tuple(theirs), abs=1e-12)


def test_its_ends_are_the_shares_that_the_score_test_just_allows():
    low, high = wilson_interval(30, 80)
    for p in (low, high):
        z = (30 / 80 - p) / math.sqrt(p * (1 - p) / 80)
        assert abs(z) == pytest.approx(1.959963985, abs=1e-8)


def test_counts_that_numpy_or_torch_summed_are_those_of_python():
    right = [True, True, False]
    expected = wilson_interval(2, 3)
    assert wilson_interval(np.array(right).sum(), len(right)) == expected
    assert wilson_interval(torch.tensor(right).sum(), np.int32(3)) == expected
    with pytest.raises(InputError, match=r"successes=2\.0 must be an integer"):
        wilson_interval(torch.tensor(2.0), 3)


def test_its_coverage_is_near_its_name_where_k_over_n_has_none():
    """Exact, by a sum over all counts; k/n ± z se has no width at k = 0."""
    n, p = 20, 0.05
    chance = stats.binom.pmf(np.arange(n + 1), n, p)
    inside = [low <= p <= high for low, high in (wilson_interval(k, n) for k in range(n + 1))]
    assert 0.92 < chance[inside].sum() < 0.99
    share = np.arange(n + 1) / n
    covered = abs(share - p) <= 1.96 * np.sqrt(share * (1 - share) / n)
    assert chance[covered].sum() < 0.7


def rows(both, first, second, neither):
    """Two rows of right and wrong with these counts."""
    a = [True] * (both + first) + [False] * (second + neither)
    b = [True] * both + [False] * first + [True] * second + [False] * neither
    return np.array(a), np.array(b)


def test_a_comparison_by_hand():
    """15 against 5 of 100: δ = 0.1, se² = (0.2 - 0.01)/100."""
    found = compare_paired(*rows(50, 15, 5, 30))
    assert found.difference == pytest.approx(0.1)
    assert found.disagreement == pytest.approx(0.2)
    half = 1.959963985 * math.sqrt(0.0019)
    assert found.interval == pytest.approx((0.1 - half, 0.1 + half))
    assert found.p_value == pytest.approx(stats.binomtest(5, 20).pvalue, rel=1e-12)


def test_the_standard_error_is_that_of_the_differences():
    a, b = rows(31, 9, 17, 43)
    found = compare_paired(a, b)
    se = (a.astype(float) - b).std() / math.sqrt(len(a))
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(1.959963985 * se)


def test_equal_models_do_not_differ():
    a, _ = rows(3, 2, 1, 4)
    found = compare_paired(a, a)
    assert found == (0.0, (0.0, 0.0), 0.0, 1.0)
    assert compare_paired(*rows(0, 4, 4, 0)).p_value == 1.0


@pytest.mark.parametrize(("delta", "d"), [(0.05, 0.2), (-0.1, 0.3)])
def test_so_many_questions_show_the_difference_as_often_as_asked(delta, d):
    """The power of the test |b - c| > z sqrt(d n), by an exact sum over both counts."""
    n = questions_needed(delta, d)
    p1, p2 = (d + delta) / 2, (d - delta) / 2
    b, c = np.arange(n + 1)[:, None], np.arange(n + 1)
    chance = stats.binom.pmf(b, n, p1) * stats.binom.pmf(c, n - b, p2 / (1 - p1))
    seen = abs(b - c) > 1.959963985 * math.sqrt(d * n)
    assert chance[(b + c) <= n].sum() == pytest.approx(1)
    assert (chance * seen)[(b + c) <= n].sum() == pytest.approx(0.8, abs=0.02)


def test_one_percent_by_hand():
    """d = 0.2, δ = 0.01: (1.95996 √0.2 + 0.84162 √0.1999)² / 0.0001."""
    assert questions_needed(0.01, 0.2) == math.ceil(
        (1.959963985 * math.sqrt(0.2) + 0.841621234 * math.sqrt(0.1999)) ** 2 * 1e4
    )


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wilson_interval(3, 2), r"successes=3 of trials=2"),
        (lambda: wilson_interval(0, 0), r"trials=0 must be an integer of at least 1"),
        (lambda: wilson_interval(1, 2, 1.0), r"confidence=1\.0 must be between 0 and 1"),
        (lambda: compare_paired([1, 0], [0, 1]), r"first is int64 \(2,\) and second int64"),
        (lambda: compare_paired([True], [True, False]), r"\(1,\) and second bool \(2,\)"),
        (lambda: questions_needed(0.3, 0.2), r"difference=0\.3 of questions with disag"),
        (lambda: questions_needed(0.1, 0.2, power=0.01), r"power=0\.01 must be above 0\.025"),
    ],
)
def test_numbers_outside_their_range_are_refused(call, message):
    with pytest.raises(InputError, match=message):
        call()
