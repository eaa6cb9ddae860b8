"""Handwritten digits from scikit-learn's installed files: small, real data that is not text."""

import numpy as np
from numpy import ndarray

from ...shapes import Float, Int
from .installed import data_file

INSTALL = "pip install scikit-learn"
SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"


def load() -> tuple[Float[ndarray, "1797 64"], Int[ndarray, " 1797"]]:
    """All images, row by row, and which digit each shows.

    Returns:
        Pixels 0 ... 16 of 8 × 8 images, and labels 0 ... 9, in the order of the file.

    Raises:
        DataNotFoundError: If scikit-learn is not installed.
        HashMismatchError: If its file is another one.

    References:
        Alpaydin and Kaynak (1998), UCI Machine Learning Repository; CC BY 4.0.
    """
    path = data_file("sklearn", "datasets/data/digits.csv.gz", sha256=SHA256, install=INSTALL)
    table = np.loadtxt(path, delimiter=",")
    return table[:, :64], table[:, 64].astype(np.int64)


__all__ = ["load"]
