"""Best sizes read from curves, against planted optima."""

import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.scaling import (
    ChinchillaLaw,
    envelope,
    fit_power_law,
    isoflop_optimum,
    isoflop_points,
    optimal_allocation,
)

BUDGETS = np.array([1e15, 1e16, 1e17])
SIZES = np.geomspace(1e6, 1e8, 9)
EVEN = ChinchillaLaw(A=400, B=900, E=1.7, alpha=0.3, beta=0.3)


def planted(best):
    """A parabola at each budget, with its lowest point at ``best``: 3, 2.5 and 2."""
    c, n = (a.ravel() for a in np.meshgrid(BUDGETS, SIZES, indexing="ij"))
    lows = {budget: 3.0 - i / 2 for i, budget in enumerate(BUDGETS)}
    tops = dict(zip(BUDGETS, best, strict=True))
    loss = [lows[a] + 0.1 * np.log(b / tops[a]) ** 2 for a, b in zip(c, n, strict=True)]
    return c, n, np.array(loss)


def test_planted_parabolas_are_found():
    found = isoflop_optimum(*planted([3e6, 1e7, 5e7]))
    assert found.n == pytest.approx([3e6, 1e7, 5e7], rel=1e-9)
    assert found.loss == pytest.approx([3.0, 2.5, 2.0], rel=1e-9)
    assert found.bend == pytest.approx([0.1] * 3, rel=1e-9)
    assert 6 * found.n * found.d == pytest.approx(BUDGETS, rel=1e-12)


def test_the_parabola_is_that_of_least_squares():
    """At log N = -1, 0, 1, 2 a loss of 3 1 1 4: bend 5/4, slope -9/20 less 5/4 at the middle.

    The normal equations in t = log N - 1/2 give b = 5/4, s = 3/10 and level 2.25 - 5/4 * 5/4.
    """
    n = np.exp([-1.0, 0.0, 1.0, 2.0])
    found = isoflop_optimum(np.full(4, 6.0), n, [3.0, 1.0, 1.0, 4.0])
    assert found.bend[0] == pytest.approx(1.25)
    assert np.log(found.n[0]) == pytest.approx(0.5 - 0.3 / 2.5)
    assert found.loss[0] == pytest.approx(2.25 - 1.25**2 - 0.3**2 / 5)


def test_three_sizes_determine_a_parabola():
    """1 + (log N)², at log N = -1, 0 and 2."""
    found = isoflop_optimum([6.0] * 3, np.exp([-1.0, 0.0, 2.0]), [2.0, 1.0, 5.0])
    assert np.ravel(found) == pytest.approx([6, 1, 1, 1, 1], rel=1e-9)


def around(law, compute, reach=30.0):
    """Sizes on both sides of the best one, and the loss along the budget."""
    n = optimal_allocation(compute, law)[0] * np.geomspace(1 / reach, reach, 9)
    return np.full(9, compute), n, law.loss(n, compute / 6 / n)


def test_a_law_with_equal_exponents_has_its_lowest_point_where_calculus_puts_it():
    """Along a budget it is then even in log N about the best size, as the parabola is."""
    table = np.hstack([around(EVEN, c) for c in BUDGETS])
    found = isoflop_optimum(*table)
    assert found.n == pytest.approx([optimal_allocation(c, EVEN)[0] for c in BUDGETS], rel=1e-9)
    assert fit_power_law(found.compute, found.n).exponent == pytest.approx(0.5, rel=1e-9)


def test_a_parabola_of_a_lopsided_law_is_off_by_a_factor_and_not_in_the_exponent():
    law = ChinchillaLaw(A=406.4, B=410.7, E=1.69, alpha=0.34, beta=0.28)
    table = np.hstack([around(law, c) for c in BUDGETS])
    found = isoflop_optimum(*table)
    best = np.array([optimal_allocation(c, law)[0] for c in BUDGETS])
    assert np.abs(np.log(found.n / best)).min() > 0.05
    exponent = fit_power_law(found.compute, found.n).exponent
    assert exponent == pytest.approx(0.28 / 0.62, rel=1e-6)


def test_the_envelope_by_hand():
    """Three sizes at two budgets; the best is the middle one, then the largest."""
    compute = [6e3] * 3 + [6e6] * 3
    found = envelope(compute, [1, 10, 100] * 2, [3.0, 2.5, 2.7, 2.6, 2.1, 1.9])
    assert found.n.tolist() == [10, 100]
    assert found.d.tolist() == [100, 10_000]
    assert found.loss.tolist() == [2.5, 1.9]
    assert found.inside.tolist() == [True, False]


def test_a_best_size_that_is_the_smallest_may_lie_below_it():
    assert envelope([1, 1, 1], [1, 10, 100], [1.0, 2.0, 3.0]).inside.tolist() == [False]


def curves(law, steps=60):
    """Training curves of the sizes, each read at many token counts."""
    tokens = np.geomspace(1e7, 1e12, steps)
    n, d = (a.ravel() for a in np.meshgrid(np.geomspace(1e5, 1e9, 41), tokens, indexing="ij"))
    return 6 * n * d, n, law.loss(n, d)


def test_both_approaches_find_the_exponent_of_curves():
    budgets = np.geomspace(1e17, 1e19, 9)
    points = isoflop_points(*curves(EVEN), budgets)
    best = envelope(*points)
    assert best.inside.all()
    assert fit_power_law(best.compute, best.n).exponent == pytest.approx(0.5, abs=0.02)
    near = points.loss < 1.05 * best.loss[np.searchsorted(budgets, points.compute)]
    found = isoflop_optimum(*(column[near] for column in points))
    assert fit_power_law(found.compute, found.n).exponent == pytest.approx(0.5, abs=0.02)


def test_between_two_points_a_curve_is_straight_in_logarithms():
    """Half-way from 1e6 to 1e8 and from a loss of 4 to one of 1: 1e7 and 2."""
    read = isoflop_points([1e6, 1e8], [5, 5], [4, 1], [1e7, 1e6, 1e8])
    assert read.compute.tolist() == [1e6, 1e7, 1e8]
    assert read.loss == pytest.approx([4, 2, 1], rel=1e-12)


def test_a_curve_is_not_read_beyond_its_ends():
    read = isoflop_points([1, 3, 2, 6], [5, 5, 7, 7], [4, 3, 4, 2], [2, 5])
    assert list(zip(read.compute.tolist(), read.n.tolist(), strict=True)) == [
        (2, 5), (2, 7), (5, 7),
    ]  # fmt: skip


def test_the_order_of_the_points_is_of_no_matter(rng):
    table = np.array(curves(EVEN, 12))
    there = isoflop_points(*table[:, rng.permutation(table.shape[1])], [1e17, 1e18])
    here = isoflop_points(*table, [1e17, 1e18])
    assert np.array_equal(here, there)


def test_a_lowest_point_outside_the_sizes_is_refused():
    with pytest.raises(
        InputError, match=r"at 1e\+16 FLOP would be n=3e\+08, outside the sizes"
    ):
        isoflop_optimum(*planted([3e6, 3e8, 5e7]))


def test_a_parabola_that_opens_downwards_is_refused():
    c, n, loss = planted([3e6, 1e7, 5e7])
    with pytest.raises(InputError, match=r"at 1e\+15 FLOP opens downwards \(bend -0.1\)"):
        isoflop_optimum(c, n, 9 - loss)


BAD = {
    "two sizes": (isoflop_optimum, ([1, 1, 1], [1, 2, 2], [3, 2, 2]), "2 sizes at 1 FLOP"),
    "lengths": (envelope, ([1, 1], [1, 2], [3]), "have 2, 2 and 1 numbers"),
    "none": (envelope, ([], [], []), "have 0, 0 and 0 numbers"),
    "zero": (isoflop_optimum, ([1], [0], [3]), r"n\[0\]=0.0 must be positive"),
    "no loss": (envelope, ([1], [1], [0]), r"^loss\[0\]=0.0 must be positive"),
    "no compute": (envelope, ([0], [1], [3]), r"^compute\[0\]=0.0 must be positive"),
    "no budget": (isoflop_points, ([1], [5], [3], [0]), r"^budgets\[0\]=0.0 must be"),
    "not reached": (isoflop_points, ([1, 2], [5, 5], [3, 2], [3]), "reaches the budget 3 FLOP"),
    "seeds": (isoflop_points, ([1, 1], [5, 5], [3, 2], [1]), "n=5 has two losses at the same"),
}


@pytest.mark.parametrize(("call", "args", "message"), BAD.values(), ids=BAD.keys())
def test_bad_points_are_refused(call, args, message):
    with pytest.raises(InputError, match=message):
        call(*args)
