import numpy as np
import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.reference.arrays import (
    finite_array,
    first_place,
    gradient_array,
    integer_array,
    require_gradient_shape,
    require_same_shape,
)


@pytest.mark.parametrize("dtype", [np.bool_, np.uint8, np.int64, np.float32, np.float64])
def test_real_numbers_of_every_kind_are_read_in_float64(dtype):
    found = finite_array(np.array([[0, 1]], dtype=dtype), "x")
    assert (found.dtype, found.tolist()) == (np.float64, [[0, 1]])


def test_an_array_of_float64_is_not_copied():
    x = np.array([1.0, 2.0])
    assert finite_array(x, "x") is x


@pytest.mark.parametrize("x", [np.array(["a"]), np.array([1j]), np.array([None])])
def test_what_is_no_real_number_is_refused(x):
    with pytest.raises(InputTypeError, match=f"x has dtype {x.dtype}, expected real numbers"):
        finite_array(x, "x")


def test_count_and_place_of_what_is_not_finite_are_named():
    with pytest.raises(InputError, match=r"x holds 2 NaN or infinite .* first at \(0, 1\)"):
        finite_array([[0.0, np.nan], [-np.inf, 1.0]], "x")
    with pytest.raises(InputError, match=r"x is empty, of shape \(2, 0\)"):
        finite_array(np.zeros((2, 0)), "x")


@pytest.mark.parametrize("dtype", [np.uint8, np.int64])
def test_numbers_of_rows_lie_below_the_number_of_rows(dtype):
    ids = np.array([0, 3], dtype=dtype)
    assert integer_array(ids, 4, "row").tolist() == [0, 3]
    with pytest.raises(InputError, match=r"row 3 at \[1\] is outside 0\.\.2"):
        integer_array(ids, 3, "row")
    with pytest.raises(InputError, match=r"row -1 at \[0, 1\] is outside 0\.\.2"):
        integer_array([[0, -1], [3, 0]], 3, "row")


@pytest.mark.parametrize("ids", [np.array([0.0]), np.array([True]), np.array(["0"])])
def test_what_is_no_integer_numbers_no_row(ids):
    with pytest.raises(InputTypeError, match=f"rows must be integers, got {ids.dtype}"):
        integer_array(ids, 3, "row")


def test_no_numbers_of_rows_are_refused_whatever_their_kind():
    with pytest.raises(InputError, match=r"there is no row: .* of shape \(0,\)"):
        integer_array([], 3, "row")


def test_shapes_that_numpy_would_broadcast_are_refused():
    assert gradient_array([1, 2], (2,)).dtype == np.float64
    with pytest.raises(InputError, match=r"dy has shape \(1,\), but y has \(2,\)"):
        gradient_array([1.0], (2,))
    with pytest.raises(InputError, match="dy holds 1 NaN"):
        gradient_array([np.nan, 1.0], (2,))
    with pytest.raises(InputError, match=r"dy has shape \(\), but y has \(2,\)"):
        require_gradient_shape(1.0, (2,))
    with pytest.raises(InputError, match=r"dh has shape \(1,\), but y has \(\)"):
        require_gradient_shape([1.0], (), "dh")
    with pytest.raises(InputError, match=r"a has shape \(2, 1\) and b has shape \(2,\)"):
        require_same_shape(np.ones((2, 1)), np.ones(2), ("a", "b"))


def test_the_first_place_of_one_value_has_no_axes():
    assert first_place(np.bool_(True)) == ()
    assert first_place(np.array([[False, False], [True, True]])) == (1, 0)
