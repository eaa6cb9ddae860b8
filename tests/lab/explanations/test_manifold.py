"""A torus in a larger space: lengths, distances to neighbours, dimension, exponents."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.manifold import (
    approximation_exponent,
    estimated_dimension,
    flat_torus,
    neighbour_distance,
)
from mathlm.errors import InputError


def test_four_over_d_for_linear_pieces_and_two_over_d_for_constant_ones():
    assert [approximation_exponent(d) for d in (1, 2, 4)] == [4, 2, 1]
    assert approximation_exponent(4, 1) == 0.5


def test_linear_interpolation_of_a_parabola_falls_by_the_exponent_of_a_line():
    """On [0, 1] in N pieces the squared error of x² is 1/(30 N⁴), integrated by hand."""
    x = np.linspace(0, 1, 200_001)
    errors = [
        np.mean((np.interp(x, k := np.linspace(0, 1, n + 1), k * k) - x * x) ** 2)
        for n in (4, 8)
    ]
    assert_allclose(errors, [1 / (30 * 4**4), 1 / (30 * 8**4)], rtol=1e-3)
    assert math.log2(errors[0] / errors[1]) == pytest.approx(
        approximation_exponent(1), abs=1e-3
    )


def test_a_small_step_along_the_torus_has_its_length_in_space(rng):
    at, step = rng.uniform(0, 6, (5, 3)), 1e-5 * rng.normal(size=(5, 3))
    x = flat_torus(np.concatenate([at, at + step]), 9, rng)
    assert_allclose(
        np.linalg.norm(x[5:] - x[:5], axis=1), np.linalg.norm(step, axis=1), rtol=1e-5
    )


def test_every_point_lies_on_a_sphere_of_radius_root_d(rng):
    x = flat_torus(rng.uniform(0, 6, (5, 3)), 9, rng)
    assert_allclose((x * x).sum(1), 3, rtol=1e-12)


def test_distances_on_a_circle_by_hand():
    """Gaps of n points to both sides are exponential with rate n/π: E h² = 2 (π/n)²."""
    assert_allclose(
        neighbour_distance([10, 20], 1), [2 * 0.01 * math.pi**2, 0.005 * math.pi**2]
    )


def test_distances_on_a_torus_are_those_of_drawn_points(rng):
    points = rng.uniform(0, 2 * np.pi, (1500, 2))
    gaps = np.abs(points[:, None] - points)
    square = (np.minimum(gaps, 2 * np.pi - gaps) ** 2).sum(-1) + 99 * np.eye(1500)
    assert square.min(1).mean() == pytest.approx(neighbour_distance([1499], 2)[0], rel=0.05)


def test_the_dimension_of_known_ratios_by_hand():
    """Three ratios of e^(1/2): (3 - 1) / (3/2)."""
    assert estimated_dimension([1, 2, 3], math.sqrt(math.e) * np.array([1, 2, 3])) == (
        pytest.approx(4 / 3)
    )


@pytest.mark.parametrize("d", [1, 2, 5])
def test_ratios_of_a_dimension_give_it_back(d, rng):
    ratios = rng.uniform(size=20_000) ** (-1 / d)
    assert estimated_dimension(np.ones(20_000), ratios) == pytest.approx(d, rel=0.03)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda r: approximation_exponent(0), "dimension=0"),
        (lambda r: approximation_exponent(2, math.inf), "smoothness=inf"),
        (lambda r: flat_torus(np.ones((2, 3)), 5, r), "at least 6"),
        (lambda r: neighbour_distance([0], 2), "points"),
        (lambda r: estimated_dimension([1, 2], [2, 1]), "none smaller"),
        (lambda r: estimated_dimension([1, 2], [1, 2]), "say nothing"),
    ],
    ids=["no dimension", "endless", "no room", "no points", "order", "equal"],
)
def test_careless_arguments_are_named(call, words, rng):
    with pytest.raises(InputError, match=words):
        call(rng)
