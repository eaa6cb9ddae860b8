import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.embeddings import association, parallelogram
from mathlm.errors import InputError


def test_log_ratios_by_hand():
    """P(c | a) = (6/8, 2/8) and P(c | b) = (1/4, 3/4): ratios 3 and 1/3."""
    assert_allclose(parallelogram.log_ratio([6, 2], [1, 3]), [np.log(3), -np.log(3)])


def test_a_difference_of_pmi_rows_is_the_log_ratio(rng):
    counts = rng.integers(1, 30, size=(4, 6))
    pmi = association.pmi(counts)
    assert_allclose(parallelogram.log_ratio(counts[2], counts[0]), pmi[2] - pmi[0], rtol=1e-12)


def test_contexts_left_out_still_count_in_the_sums():
    """Of 8 and 4 contexts in all, 6 and 1 are the first."""
    found = parallelogram.log_ratio([6, 2], [1, 3], np.array([True, False]))
    assert_allclose(found, [np.log((6 / 8) / (1 / 4))])


def test_the_gap_is_what_the_scores_demand(rng):
    """Four vectors fitted to scores of which the last is ε off a parallelogram."""
    C, (man, woman, king) = rng.normal(size=(9, 4)), rng.normal(size=(3, 4))
    epsilon = C @ rng.normal(size=4)  # in reach
    queen = np.linalg.lstsq(C, C @ (king - man + woman) - epsilon, rcond=None)[0]
    delta, _ = parallelogram.parallelogram_gap(C, epsilon)
    assert_allclose(delta, king - man - queen + woman, rtol=1e-9)
    assert_allclose(C @ delta, epsilon, rtol=1e-9)


def test_equal_ratios_close_the_parallelogram(rng):
    delta, bound = parallelogram.parallelogram_gap(rng.normal(size=(9, 4)), np.zeros(9))
    assert not delta.any()
    assert bound == 0


def test_the_bound_is_met_along_the_weakest_direction():
    """C = diag(3, 1/2): ε along the second axis is stretched by 2, along the first by 1/3."""
    C = np.diag([3.0, 0.5])
    delta, bound = parallelogram.parallelogram_gap(C, [0.0, 1.0])
    assert_allclose([np.linalg.norm(delta), bound], [2, 2])
    delta, bound = parallelogram.parallelogram_gap(C, [1.0, 0.0])
    assert_allclose([np.linalg.norm(delta), bound], [1 / 3, 2])


def test_a_context_that_one_word_lacks_has_no_ratio():
    with pytest.raises(InputError, match="context 1 has counts 2 and 0"):
        parallelogram.log_ratio([6, 2], [1, 0])
    assert_allclose(
        parallelogram.log_ratio([6, 2], [1, 0], np.array([True, False])), [np.log(0.75)]
    )


@pytest.mark.parametrize(
    ("a", "b", "keep"),
    [([1, 2], [1, 2, 3], None), ([1, 2], [1, 2], np.array([1, 0])), ([[1]], [[1]], None)],
)
def test_counts_that_do_not_fit_are_refused(a, b, keep):
    with pytest.raises(InputError):
        parallelogram.log_ratio(a, b, keep)


def test_contexts_that_leave_a_direction_open_are_refused():
    with pytest.raises(InputError, match="do not span 2 dimensions"):
        parallelogram.parallelogram_gap(np.array([[1.0, 2], [2, 4], [3, 6]]), [1.0, 0, 0])
    with pytest.raises(InputError, match="1 context vectors"):
        parallelogram.parallelogram_gap(np.array([[1.0, 2]]), [1.0])
    with pytest.raises(InputError, match=r"expected \(V, D\) and \(V,\)"):
        parallelogram.parallelogram_gap(np.eye(2), [1.0])


def test_negative_and_overflowing_counts_are_refused_even_where_they_are_not_wanted():
    with pytest.raises(InputError, match="a holds counts from -2 to 1"):
        parallelogram.log_ratio([1, -2], [1, 2], np.array([True, False]))
    with pytest.raises(InputError, match=r"b holds counts from 1 to 1e\+308"):
        parallelogram.log_ratio([1, 2], [1, 1e308])


def test_the_bound_of_a_huge_gap_is_finite():
    """Both entries of ε are 1e200: its length is √2 1e200, though its square overflows."""
    _, bound = parallelogram.parallelogram_gap(1e200 * np.eye(2), [1e200, 1e200])
    assert_allclose(bound, np.sqrt(2))
