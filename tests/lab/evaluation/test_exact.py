"""Sums over all counts, against SciPy and by enumeration of all draws."""

import itertools
import math

import pytest
from scipy import stats

from lab.evaluation import exact


@pytest.mark.parametrize(("n", "p"), [(1, 0.3), (40, 0.02), (300, 0.61), (5, 0.0), (5, 1.0)])
def test_chances_are_those_of_scipy(n, p):
    assert exact.binomial(n, p) == pytest.approx(stats.binom.pmf(range(n + 1), n, p), abs=1e-12)


def test_coverage_by_hand():
    """Of two trials, an interval that holds p only if one succeeds: 2 p (1 - p)."""
    ends = {0: (0.0, 0.1), 1: (0.2, 0.8), 2: (0.9, 1.0)}
    assert exact.coverage(lambda k, n: ends[k], 2, 0.3) == pytest.approx(0.42)


def test_expectations_by_enumeration_of_all_draws():
    n, p, k = 4, 0.3, 2
    plug_in = unbiased = 0.0
    for draw in itertools.product((0, 1), repeat=n):
        chance = math.prod(p if x else 1 - p for x in draw)
        pairs = [max(pair) for pair in itertools.combinations(draw, k)]
        unbiased += chance * sum(pairs) / len(pairs)
        plug_in += chance * (1 - (1 - sum(draw) / n) ** k)
    assert exact.expected_pass(n, p, k) == pytest.approx((unbiased, plug_in))
    assert unbiased == pytest.approx(1 - (1 - p) ** k)
