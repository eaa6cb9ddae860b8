"""Each check lets its range pass and refuses the rest by name and value."""

import math
import subprocess
import sys

import numpy as np
import pytest
import torch

from mathlm.checks import (
    python_number,
    require_counts,
    require_integer,
    require_nonnegative,
    require_positive,
    require_share,
)
from mathlm.errors import InputError, InputTypeError


def test_what_lies_in_the_range_passes():
    require_integer(a=-1, b=np.int64(3))
    require_counts(2, a=2, b=10**30)
    require_positive(a=5e-324, b=1, c=np.float32(0.5))
    require_nonnegative(a=0, b=0.0, c=1e308)
    require_share(a=0, b=1.0, c=np.float64(0.5))


def test_numbers_of_numpy_and_torch_become_pythons():
    for value, expected in ((np.int32(3), int), (np.float32(0.5), float), (np.True_, bool)):
        assert type(python_number(value)) is expected
        assert python_number(value) == value
    assert python_number(torch.tensor([True, True]).sum()) == 2
    assert python_number("3") == "3"
    assert python_number([3]) == [3]


@pytest.mark.parametrize("value", [1.0, True, "1", None])
def test_what_is_no_integer_is_refused(value):
    with pytest.raises(InputTypeError, match=f"n={value!r} must be an integer$"):
        require_integer(m=1, n=value)


@pytest.mark.parametrize("value", [1, 2.0, True, "2", math.nan])
def test_a_count_below_the_least_is_refused(value):
    with pytest.raises(InputError, match=f"n={value!r} must be an integer of at least 2$"):
        require_counts(2, m=2, n=value)


@pytest.mark.parametrize("value", [0, -1, math.inf, math.nan, "1", True, None])
def test_what_is_not_positive_and_finite_is_refused(value):
    with pytest.raises(InputError, match=f"x={value!r} must be a positive, finite number$"):
        require_positive(y=1, x=value)


@pytest.mark.parametrize("value", [-1e-300, math.inf, math.nan, "1", True])
def test_what_is_negative_or_infinite_is_refused(value):
    with pytest.raises(InputError, match=f"x={value!r} must be at least 0 and finite$"):
        require_nonnegative(y=0, x=value)


@pytest.mark.parametrize("value", [-1e-300, 1.0000001, math.nan, "0", False])
def test_what_is_no_share_is_refused(value):
    with pytest.raises(InputError, match=rf"x={value!r} is outside 0\.\.1$"):
        require_share(y=1, x=value)


@pytest.mark.parametrize("require", [require_positive, require_nonnegative, require_share])
@pytest.mark.parametrize("power", [400, 10_000])
def test_an_integer_beyond_every_float_is_refused_by_its_size(require, power):
    """Of 10,000 digits Python writes none."""
    for value in (10**power, -(10**power)):
        with pytest.raises(InputError, match=rf"x is about 10\^{power}, and the largest float"):
            require(x=value)
    require_positive(x=10**308)


def test_a_check_may_be_asked_about_an_argument_called_least():
    with pytest.raises(InputError, match="least=0 must"):
        require_counts(1, least=0)


def test_checks_load_neither_torch_nor_numpy():
    code = "import sys, mathlm.checks; assert not {'torch', 'numpy'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
