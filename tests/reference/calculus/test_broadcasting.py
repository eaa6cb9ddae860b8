import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm.errors import InputError, InputTypeError
from mathlm.reference.calculus.broadcasting import (
    copied,
    put,
    real_array,
    require_finite,
    summed,
)

PAIRS = [
    ((3,), (2, 3)),
    ((1,), (2,)),
    ((2, 1), (2, 3)),
    ((), (4,)),
    ((1, 3), (5, 2, 3)),
    ((2, 3), (2, 3)),
]


@pytest.mark.parametrize(("small", "large"), PAIRS, ids=str)
def test_summing_is_the_transpose_of_copying(small, large, rng):
    """⟨copied(x), t⟩ = ⟨x, summed(t)⟩ for all x and t."""
    x, t = np.asarray(rng.normal(size=small)), rng.normal(size=large)
    assert_allclose((copied(x, large) * t).sum(), (x * summed(t, small)).sum(), rtol=1e-12)
    assert summed(t, small).shape == small


def test_a_copied_array_of_a_subclass_stays_one():
    class Counted(np.ndarray):
        pass

    assert type(copied(np.ones(1).view(Counted), (3,))) is Counted


def test_putting_is_the_transpose_of_picking(rng):
    x, index = rng.normal(size=(4, 2)), [3, 0, 3]
    t = rng.normal(size=(3, 2))
    assert_allclose((x[index] * t).sum(), (x * put(t, index, (4, 2))).sum(), rtol=1e-12)


def test_place_and_count_of_what_is_not_finite_are_named():
    with pytest.raises(InputError, match=r"f gave 2 entries .* first at \(0, 1\) of shape"):
        require_finite(np.array([[1, np.nan], [np.inf, 2]]), "f")


def test_only_real_numbers_pass():
    assert real_array([1, 2], "x").dtype == np.float64
    with pytest.raises(InputTypeError, match="x has dtype complex128"):
        real_array([1j], "x")
