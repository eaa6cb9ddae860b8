import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.optimization import descent_rates
from mathlm import reference as ref
from mathlm.errors import InputError, NonFiniteLossError


def test_factors_are_those_of_the_walk(rng):
    lam, start = np.array([0.5, 3.0, 8.0]), rng.normal(size=3)
    walk = ref.descend(lambda t: lam * t, start, ref.sgd_step, 7, lr=0.2)
    assert_allclose(walk[-1], descent_rates.descent_factors(lam, 0.2) ** 7 * start, rtol=1e-12)


def test_best_descent_makes_both_ends_shrink_alike():
    """λ = 1, 3: η = 2/4, factors 1 - ½ and 1 - 3/2."""
    assert descent_rates.best_descent(1.0, 3.0) == (0.5, 0.5)
    assert_allclose(descent_rates.descent_factors([1.0, 3.0], 0.5), [0.5, -0.5])


@pytest.mark.parametrize("kappa", [2.0, 10.0, 300.0])
def test_no_other_step_size_is_better(kappa):
    _, best = descent_rates.best_descent(1.0, kappa)
    rates = np.linspace(0.01, 2, 400) / kappa * 1.2
    worst = [np.abs(descent_rates.descent_factors([1.0, kappa], lr)).max() for lr in rates]
    assert min(worst) >= best - 1e-12
    assert min(worst) < best + 0.01


def companion(lam, lr, beta):
    """One step of heavy ball as a matrix on (θ_t, θ_{t-1})."""
    return np.array([[1 + beta - lr * lam, -beta], [1, 0]])


@pytest.mark.parametrize("lam", [0.1, 1.0, 7.0, 39.0])
def test_momentum_factor_is_the_spectral_radius_of_the_step(lam):
    found = descent_rates.momentum_factors([lam], 0.05, 0.9)[0]
    assert_allclose(found, np.abs(np.linalg.eigvals(companion(lam, 0.05, 0.9))).max())


def test_momentum_zero_is_plain_descent():
    lam = [0.3, 2.0, 5.0]
    assert_allclose(
        descent_rates.momentum_factors(lam, 0.1, 0.0),
        np.abs(descent_rates.descent_factors(lam, 0.1)),
    )


def test_best_momentum_gives_every_curvature_the_same_factor():
    """κ = 9: (3 - 1)/(3 + 1) = ½."""
    lr, beta, factor = descent_rates.best_momentum(1.0, 9.0)
    assert_allclose((lr, beta, factor), (0.25, 0.25, 0.5))
    assert_allclose(
        descent_rates.momentum_factors(np.linspace(1, 9, 9), lr, beta), 0.5, atol=1e-7
    )


@pytest.mark.parametrize("kappa", [4.0, 100.0])
def test_no_other_momentum_is_better(kappa):
    factor = descent_rates.best_momentum(1.0, kappa)[2]
    grid = [
        (lr, b) for lr in np.linspace(0.02, 4, 80) / kappa for b in np.linspace(0, 0.99, 67)
    ]
    worst = [descent_rates.momentum_factors([1.0, kappa], lr, b).max() for lr, b in grid]
    assert min(worst) >= factor - 1e-9


@pytest.mark.parametrize("function", [descent_rates.best_descent, descent_rates.best_momentum])
@pytest.mark.parametrize("ends", [(0.0, 1.0), (2.0, 1.0), (1.0, np.inf), (-1.0, 1.0)])
def test_an_interval_that_is_none_is_refused(function, ends):
    with pytest.raises(InputError, match=f"low={ends[0]}, high={ends[1]}"):
        function(*ends)


def test_momentum_outside_its_range_is_refused():
    with pytest.raises(InputError, match="beta=1"):
        descent_rates.momentum_factors([1.0], 0.1, 1.0)


def test_noisy_descent_is_the_mean_over_all_noise_paths():
    """Noise ±s with probability ½: enumerate the 2⁴ paths of four steps."""
    lam, s, lrs = 3.0, 0.7, [0.3, 0.1, 0.5, 0.2]
    losses = np.zeros(5)
    for bits in range(16):
        theta, path = 2.0, [2.0]
        for t, lr in enumerate(lrs):
            theta -= lr * (lam * theta + (s if bits >> t & 1 else -s))
            path.append(theta)
        losses += 0.5 * lam * np.square(path) / 16
    assert_allclose(descent_rates.noisy_descent([lam], [2.0], [s**2], lrs), losses, rtol=1e-12)


def test_noise_of_another_length_or_negative_is_refused():
    with pytest.raises(InputError, match=r"shapes \(1,\), \(1,\) and \(2,\)"):
        descent_rates.noisy_descent([1.0], [1.0], [1.0, 1.0], [0.1])
    with pytest.raises(InputError, match=r"smallest variance -1\.0"):
        descent_rates.noisy_descent([1.0], [1.0], [-1.0], [0.1])


def test_numbers_that_are_not_finite_are_refused():
    with pytest.raises(InputError, match="curvatures holds 1 NaN"):
        descent_rates.descent_factors([np.nan], 0.1)
    with pytest.raises(InputError, match="lr=nan"):
        descent_rates.momentum_factors([1.0], np.nan, 0.9)
    with pytest.raises(InputError, match=r"lrs must be a list of numbers, got shape \(1, 1\)"):
        descent_rates.noisy_descent([1.0], [1.0], [1.0], [[0.1]])


def test_a_huge_curvature_has_its_own_size_as_factor():
    """For ηλ = 10²⁰⁰ the roots of r² + 10²⁰⁰ r + β have sizes 10²⁰⁰ and about 0."""
    assert_allclose(descent_rates.momentum_factors([1e200], 1, 0.9), 1e200)


def test_an_expected_loss_that_overflows_is_refused():
    with pytest.raises(NonFiniteLossError, match=r"of 9: largest η λ = 1e\+90"):
        descent_rates.noisy_descent([1e90], [1.0], [1.0], np.ones(9))
