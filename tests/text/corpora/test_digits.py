import subprocess
import sys

import numpy as np
import pytest

from mathlm.errors import DataNotFoundError
from mathlm.text import digits


def test_the_digits_are_those_of_scikit_learn():
    from sklearn.datasets import load_digits

    for ours, theirs in zip(digits.load(), load_digits(return_X_y=True), strict=True):
        np.testing.assert_array_equal(ours, theirs)
        assert ours.dtype == theirs.dtype


def test_scikit_learn_itself_is_not_imported():
    code = "import sys; from mathlm.text import digits; digits.load(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert not {b"sklearn", b"scipy"} & set(done.stdout.split())


def test_a_missing_package_is_an_error_that_names_the_command(monkeypatch):
    monkeypatch.setattr("mathlm.text.corpora.installed.find_spec", lambda package: None)
    with pytest.raises(DataNotFoundError, match="'sklearn' is not installed: pip install"):
        digits.load()
