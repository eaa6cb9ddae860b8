"""How many words can be read back from one vector of fixed width."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError


def recovered(
    ids: ndarray,
    table: ndarray,
    n: int,
    *,
    width: int = 50,
    windows: int = 2500,
    tests: int = 100,
) -> float:
    """Share of words that survive when n words are squeezed into one vector.

    A window of n words is a point with n D coordinates. It is projected on the ``width``
    principal components of the first ``windows`` windows, the linear summary of these with the
    least squared error, and mapped back; each word of ``tests`` further windows is then read as
    its nearest neighbor among the words that occur.

    Args:
        ids: Rows of ``table``, one for each word of the text, in order.
        table: One vector for each word (V, D).
        n: Words in a window.
        width: Numbers in the summary.
        windows: Windows from which the components are computed.
        tests: Windows that are read back.

    Returns:
        Share of right words, between 0 and 1.

    Raises:
        InputError: If the text is too short, or the summary is wider than a window.
    """
    D, needed = table.shape[1], (windows + tests) * n
    if needed > len(ids) or not 1 <= width <= n * D:
        raise InputError(
            f"{windows} + {tests} windows of n={n} words need {needed} words, there are "
            f"{len(ids)}; width={width} must be between 1 and {n * D}"
        )
    rows = ids[:needed].reshape(-1, n)
    x = table[rows].reshape(len(rows), n * D)
    x = x - x[:windows].mean(0)
    basis = np.linalg.eigh(x[:windows].T @ x[:windows])[1][:, -width:]
    lost = x[windows:] - x[windows:] @ basis @ basis.T
    back = table[rows[windows:]].reshape(-1, D) - lost.reshape(-1, D)
    known = np.unique(ids)
    nearest = ((table[known] ** 2).sum(1) - 2 * back @ table[known].T).argmin(1)
    return float((known[nearest] == rows[windows:].ravel()).mean())
