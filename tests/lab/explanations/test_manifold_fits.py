"""Learners from neighbours: exact cases, and the error that distances foretell."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.explanations.manifold import neighbour_distance
from lab.explanations.manifold_fits import measure, nearest, planes, wave_sum


def test_neighbours_are_those_of_all_distances(rng):
    known, asked = rng.normal(size=(50, 3)), rng.normal(size=(7, 3))
    found, square = nearest(known, asked, 4)
    every = ((asked[:, None] - known) ** 2).sum(-1)
    assert (found == np.argsort(every, axis=1)[:, :4]).all()
    assert_allclose(square, np.sort(every, axis=1)[:, :4], rtol=1e-9)


def test_a_plane_through_points_of_a_plane_is_exact(rng):
    axes, _ = np.linalg.qr(rng.normal(size=(6, 2)))
    flat, ask = rng.normal(size=(4, 9, 2)), rng.normal(size=(4, 2))
    values, truth = flat @ [2.0, -1.0] + 3, ask @ [2.0, -1.0] + 3
    assert_allclose(planes(flat @ axes.T, values, ask @ axes.T, 2), truth, rtol=1e-10)


def test_waves_have_variance_one_and_the_slope_they_say(rng):
    f, steepness = wave_sum(2, 0)
    at, h = rng.uniform(0, 2 * np.pi, (40_000, 2)), 1e-5
    slopes = [(f(at + h * e) - f(at - h * e)) / (2 * h) for e in np.eye(2)]
    assert f(at).var() == pytest.approx(1, rel=0.02)
    assert np.square(slopes).sum(0).mean() == pytest.approx(steepness, rel=0.02)


@pytest.mark.parametrize("d", [1, 2])
def test_the_nearest_point_errs_by_slope_times_distance(d):
    """E (∇f·h)² = E|∇f|² E h² / d for a direction that knows nothing of the slope."""
    found = measure(d, sizes=(1024, 2048, 4096))
    foretold = found["steepness"] * neighbour_distance(found["sizes"], d) / d
    assert_allclose(found["errors"]["nearest point"], foretold, rtol=0.25)


def test_the_exponents_of_a_surface_are_those_of_two_dimensions():
    found = measure(2, sizes=(256, 1024, 4096))
    assert found["exponents"]["nearest point"] == pytest.approx(1, abs=0.1)
    assert found["exponents"]["plane"] == pytest.approx(2, abs=0.25)
    assert found["estimate"] == pytest.approx(2, abs=0.15)
