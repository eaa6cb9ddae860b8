import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import optimize, stats

from mathlm.errors import InputError
from mathlm.reference import (
    fit_normal,
    gaussian_kl,
    kl_divergence,
    log_softmax,
    normal_cdf,
    normal_log_density,
    numerical_gradient,
    softmax,
    standardize,
)

X = np.linspace(-20, 20, 961)


def mixture(weight, left, right):
    (m, s), (n, t) = left, right
    first = weight * np.exp(normal_log_density(X, m, s))
    p = first + (1 - weight) * np.exp(normal_log_density(X, n, t))
    return p / p.sum()


TWO = mixture(0.4, (-2.5, 0.7), (2.0, 1.0))


def test_density_and_distribution_function_match_scipy(rng):
    x = rng.normal(size=20) * 5
    assert_allclose(normal_log_density(x, 1.3, 0.4), stats.norm(1.3, 0.4).logpdf(x), rtol=1e-12)
    assert_allclose(normal_cdf(x, 1.3, 2.0), stats.norm(1.3, 2.0).cdf(x), rtol=1e-12)
    assert_allclose(normal_cdf(-30.0), stats.norm.cdf(-30.0), rtol=1e-10)
    assert_allclose(normal_log_density(x), stats.norm.logpdf(x), rtol=1e-12)
    assert normal_cdf(np.zeros(0)).shape == (0,)


def test_standardized_values_have_mean_zero_and_variance_one(rng):
    x = rng.normal(3.0, 5.0, size=1000)
    z = standardize(x, float(x.mean()), float(x.std()))
    assert_allclose([z.mean(), z.var()], [0, 1], atol=1e-12)


def test_values_of_a_narrow_kind_can_lie_below_their_mean():
    """(1 - 3) / 2, where -2 is no number without a sign."""
    assert standardize(np.array([1], dtype=np.uint8), 3, 2) == [-1]


def test_closed_form_of_kl_matches_the_sum_over_a_fine_grid():
    p = softmax(normal_log_density(X, 0.5, 0.8))
    q = softmax(normal_log_density(X, -0.3, 1.1))
    assert_allclose(gaussian_kl(0.5, 0.8, -0.3, 1.1), kl_divergence(p, q), rtol=1e-9)


def test_kl_to_the_standard_normal_is_the_term_of_the_variational_bound():
    """(μ² + σ² - 1 - ln σ²) / 2 at μ = 1, σ = 2: (1 + 4 - 1 - ln 4) / 2."""
    assert_allclose(gaussian_kl(1, 2, 0, 1), (4 - np.log(4)) / 2)
    assert gaussian_kl(3.0, 2.0, 3.0, 2.0) == 0


def test_forward_fit_matches_the_moments():
    mean, std, kl = fit_normal(X, TWO, "forward")
    expected = TWO @ X
    assert_allclose([mean, std], [expected, np.sqrt(TWO @ (X - expected) ** 2)], rtol=1e-9)
    assert_allclose(kl, kl_divergence(TWO, softmax(normal_log_density(X, mean, std))))


@pytest.mark.parametrize("start", [-3.0, 3.0])
@pytest.mark.parametrize("direction", ["forward", "reverse"])
def test_fit_matches_a_general_minimizer(direction, start):
    def loss(theta):
        q = np.exp(log_softmax(normal_log_density(X, float(theta[0]), float(np.exp(theta[1])))))
        q = np.maximum(q, 1e-300) / np.maximum(q, 1e-300).sum()
        return kl_divergence(TWO, q) if direction == "forward" else kl_divergence(q, TWO)

    best = optimize.minimize(
        loss, [start, 0.7 * (direction == "forward")], method="Nelder-Mead", tol=1e-12
    )
    mean, std, kl = fit_normal(X, TWO, direction, mean=start)
    assert_allclose([mean, np.log(std), kl], [*best.x, best.fun], atol=1e-6)


def test_reverse_fit_finds_the_mode_it_starts_near():
    """Far apart, q = one component costs exactly the logarithm of 1 / its weight."""
    p = mixture(0.25, (-6.0, 0.5), (6.0, 0.5))
    left, right = (fit_normal(X, p, "reverse", mean=m) for m in (-5.0, 5.0))
    assert_allclose(left, [-6.0, 0.5, np.log(4)], atol=1e-9)
    assert_allclose(right, [6.0, 0.5, np.log(4 / 3)], atol=1e-9)


def test_both_directions_recover_a_normal():
    p = softmax(normal_log_density(X, 1.0, 1.5))
    for direction in ("forward", "reverse"):
        assert_allclose(fit_normal(X, p, direction), [1.0, 1.5, 0.0], atol=1e-9)


@pytest.mark.parametrize("std", [0, -1.0, np.inf, np.nan])
def test_widths_must_be_positive(std):
    for f in (standardize, normal_log_density, normal_cdf):
        with pytest.raises(InputError, match=f"std={std} must be a positive"):
            f(1.0, 0.0, std)
    for widths in [(std, 1.0), (1.0, std)]:
        with pytest.raises(InputError, match=f"std={std} must be a positive"):
            gaussian_kl(0.0, widths[0], 0.0, widths[1])


def test_kl_beyond_the_largest_float_is_infinite():
    assert gaussian_kl(0, 1e300, 0, 1e-300) == np.inf
    assert gaussian_kl(1e200, 1, 0, 1) == np.inf
    assert normal_log_density(1e200) == -np.inf


def test_forward_fit_reaches_a_truth_hundreds_of_times_wider_than_its_start():
    x = np.linspace(-3000, 3000, 3001)
    p = softmax(normal_log_density(x, 10.0, 400.0))
    assert_allclose(fit_normal(x, p, "forward", std=2.0), [10.0, 400.0, 0.0], atol=1e-6)


def test_no_step_changes_the_width_by_more_than_a_factor_e():
    """By formula log σ would grow by 0.3 (40² - 1) / 2, and shrink by about 0.3 · 10²."""
    x = np.linspace(-20, 20, 4001)
    wide = softmax(normal_log_density(x, 0.0, 4.0))
    assert_allclose(fit_normal(x, wide, "forward", std=0.1, steps=1)[1], 0.1 * np.e)
    narrow = softmax(normal_log_density(x[1600:2401], 0.0, 0.2))
    assert_allclose(fit_normal(x[1600:2401], narrow, "reverse", std=2, steps=1)[1], 2 / np.e)


def test_one_step_of_each_direction_is_a_gradient_over_the_fisher_information():
    """The gradients in μ and log σ by central differences; the information is (1/σ², 2)."""

    def loss(theta, direction):
        q = softmax(normal_log_density(X, float(theta[0]), float(np.exp(theta[1]))))
        return float(kl_divergence(TWO, q) if direction == "forward" else kl_divergence(q, TWO))

    for direction in ("forward", "reverse"):
        start = np.array([0.0, 0.0])
        slope = numerical_gradient(lambda t, d=direction: loss(t, d), start, 1e-5)
        mean, std, _ = fit_normal(X, TWO, direction, steps=1)
        step = -0.3 * slope / np.array([1, 2])
        assert_allclose([mean, np.log(std)], start + step, rtol=1e-7)


@pytest.mark.parametrize("end", [0, -1])
def test_the_mean_may_be_an_end_of_the_grid(end):
    x = np.linspace(0, 5, 51)
    p = np.exp(log_softmax(normal_log_density(x, float(x[end]), 1.0)))
    assert fit_normal(x, p, "forward", mean=float(x[end]), rate=1.0) == (x[end], 1, 0)


def test_two_points_are_a_grid():
    """Equal weights at 0 and 1 are those of every normal shape with the mean 1/2."""
    found = fit_normal(np.array([0.0, 1.0]), np.array([0.5, 0.5]), "forward", mean=0.5)
    assert_allclose(found, [0.5, 1.0, 0.0], atol=1e-15)


def test_values_must_be_finite():
    with pytest.raises(InputError, match="not finite"):
        standardize(np.inf, 0.0, 1.0)
    with pytest.raises(InputError, match="mean=inf is not finite"):
        standardize(np.inf, np.inf, 1.0)
    with pytest.raises(InputError, match="too far apart"):
        standardize(1e308, -1e308, 1.0)
    with pytest.raises(InputError, match="mean=nan is not finite"):
        gaussian_kl(1.0, 1.0, np.nan, 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"p": np.full(961, 1.0)}, "p sums to 961"),
        ({"p": np.r_[1.0, np.zeros(960)]}, "smallest entry 0"),
        ({"x": X[1:]}, r"x has shape \(960,\), p \(961,\)"),
        ({"rate": 0.0}, "rate=0.0"),
        ({"rate": 1.5}, "rate=1.5"),
        ({"std": 0.0}, "std=0.0"),
        ({"std": np.inf}, "std=inf: the mean must lie on the grid"),
        ({"std": 0.04}, "std=0.04: .* at least its step, 0.0416667"),
        ({"mean": 1e6}, r"mean=1000000.0, .* lie on the grid, -20 to 20"),
        ({"steps": 0}, "steps=0"),
        ({"x": np.sort(X**3)}, "evenly spaced"),
        ({"x": 1e-4 * np.array([0, 2, 3]), "p": np.full(3, 1 / 3)}, "evenly spaced"),
        ({"x": np.ones(2), "p": np.full(2, 0.5)}, "evenly spaced rising"),
        ({"x": np.zeros(1), "p": np.ones(1)}, r"shape \(1,\), must be an evenly spaced"),
        ({"x": X[None], "p": TWO[None]}, r"shape \(1, 961\), must be an evenly spaced"),
        (
            {"x": np.array([[0.0, 1], [0, 1]]), "p": np.full((2, 2), 0.5)},
            r"shape \(2, 2\), must be an evenly spaced",
        ),
    ],
)
def test_fits_refuse_what_they_cannot_fit(change, message):
    with pytest.raises(InputError, match=message):
        fit_normal(**({"x": X, "p": TWO, "direction": "forward"} | change))
