import itertools

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.generation.likeliest import likeliest_path
from mathlm.errors import InputError


def edges(P):
    source, target = np.nonzero(P)
    return source, target, np.log(P[source, target])


def walk(P, steps):
    source, target, logp = edges(P)
    taken, total = likeliest_path(source, target, logp, steps)
    assert (target[taken[:-1]] == source[taken[1:]]).all()
    assert_allclose(logp[taken].sum(), total)
    return [int(source[taken[0]]), *target[taken].tolist()], total


def test_the_walk_is_the_best_of_all(rng):
    P = rng.dirichlet(np.ones(3), size=3)
    every = {
        path: sum(np.log(P[a, b]) for a, b in itertools.pairwise(path))
        for path in itertools.product(range(3), repeat=6)
    }
    path, total = walk(P, 5)
    assert_allclose(total, max(every.values()))
    assert_allclose(every[tuple(path)], total)


def test_a_long_walk_goes_around_the_best_loop():
    """Loops: 0 alone 0.6; 1-2 the root of 0.9 · 0.5 = 0.67; 0-1-2 the third root of 0.4 · 0.9
    · 0.5 = 0.565. The second is the best."""
    P = np.array([[0.6, 0.4, 0.0], [0.1, 0.0, 0.9], [0.5, 0.5, 0.0]])
    path, total = walk(P, 200)
    assert set(path[20:180]) == {1, 2}
    assert_allclose(total / 200, np.log(0.45) / 2, atol=0.01)


def test_of_equal_edges_the_first_is_taken():
    taken, _ = likeliest_path(np.array([0, 0]), np.array([0, 0]), np.log([0.5, 0.5]), 3)
    assert taken.tolist() == [0, 0, 0]


def test_a_walk_that_must_end_and_bad_edges_are_named():
    one = np.array([0]), np.array([1]), np.array([0.0])
    assert likeliest_path(*one, 1)[1] == 0
    with pytest.raises(InputError, match="has steps=2: every one ends before"):
        likeliest_path(*one, 2)
    with pytest.raises(InputError, match="1 sources, 1 targets and 2 log-probabilities"):
        likeliest_path(one[0], one[1], np.zeros(2), 2)
    with pytest.raises(InputError, match=r"log-probability 0\.5"):
        likeliest_path(one[0], one[1], np.array([0.5]), 2)
    with pytest.raises(InputError, match="number the states from 0"):
        likeliest_path(np.array([-1]), one[1], one[2], 2)
