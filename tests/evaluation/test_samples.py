"""pass@k by enumeration of all subsets and of all draws, and votes."""

import itertools

import numpy as np
import pytest
import torch
from scipy import stats

from mathlm.errors import InputError
from mathlm.evaluation import majority, pass_at_k


def test_it_is_the_share_of_subsets_with_a_right_answer():
    for n, c, k in itertools.product(range(1, 6), range(6), range(1, 6)):
        if c <= n and k <= n:
            subsets = list(itertools.combinations([True] * c + [False] * (n - c), k))
            assert pass_at_k(n, c, k) == pytest.approx(sum(map(any, subsets)) / len(subsets))


def test_numbers_of_numpy_and_torch_are_those_of_python():
    right = torch.tensor([True, False, False, False])
    assert pass_at_k(np.int32(4), right.sum(), k=2) == 0.5
    with pytest.raises(InputError, match=r"right=0\.25 must be an integer"):
        pass_at_k(4, right.double().mean(), k=2)


def test_it_is_unbiased_and_the_plug_in_is_too_small():
    """Exact, by a sum over the number of right answers among 10."""
    p, n, k = 0.2, 10, 4
    chance = stats.binom.pmf(range(n + 1), n, p)
    exact = 1 - (1 - p) ** k
    ours = sum(w * pass_at_k(n, c, k) for c, w in enumerate(chance))
    plug_in = sum(w * (1 - (1 - c / n) ** k) for c, w in enumerate(chance))
    assert ours == pytest.approx(exact, abs=1e-12)
    assert plug_in < exact - 0.02


def test_votes():
    assert majority([3, 1, 1, 2]) == 1
    assert majority([3, 5, 5, 3]) == 3
    assert majority(["b", "a", "a", "b"]) == "b"
    with pytest.raises(InputError, match="no answers"):
        majority([])


@pytest.mark.parametrize(
    ("n", "c", "k", "message"),
    [
        (4, 5, 1, "right=5 and k=1 of samples=4"),
        (4, 1, 5, "right=1 and k=5 of samples=4"),
        (4, 1, 0, "k=0 must be an integer of at least 1"),
        (4, -1, 1, "right=-1 must be an integer of at least 0"),
    ],
)
def test_numbers_that_do_not_fit_are_refused(n, c, k, message):
    with pytest.raises(InputError, match=message):
        pass_at_k(n, c, k)
