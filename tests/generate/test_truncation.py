import math
from fractions import Fraction
from itertools import product

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError
from mathlm.generate import keep_min_p, keep_top_k, keep_top_p, keep_typical
from mathlm.generate.truncation import FEW

PROPERTY = settings(deadline=None, derandomize=True, max_examples=50)
counts = st.lists(st.integers(0, 8), min_size=1, max_size=7).filter(any)
EIGHTHS = [n for n in product(range(9), repeat=4) if sum(n) == 8]  # ties and zeros among them


def distribution(numbers):
    return torch.tensor(numbers, dtype=torch.float64) / sum(numbers)


def kept(keep):
    return set(keep.nonzero().flatten().tolist())


def prefix(order, p, mass):
    """First tokens of an order until their probabilities reach a mass; at least one."""
    n, total = 1, p[order[0]]
    while total < mass and n < len(order):
        total += p[order[n]]
        n += 1
    return set(order[:n])


def test_top_p_of_all_eighths_and_masses_is_the_smallest_prefix():
    """Eighths and their sums have no rounding: every p and mass, ties included, is exact."""
    p = torch.tensor(EIGHTHS) / 8
    orders = [sorted(range(4), key=lambda i, n=n: (-n[i], i)) for n in EIGHTHS]
    for mass in (m / 16 for m in range(17)):
        rows = zip(keep_top_p(p, mass), orders, p.tolist(), strict=True)
        assert all(kept(keep) == prefix(order, q, mass) for keep, order, q in rows)


def test_no_smaller_set_than_that_of_top_p_reaches_the_mass():
    """By brute force over all subsets."""
    for numbers, found in zip(EIGHTHS, keep_top_p(torch.tensor(EIGHTHS) / 8, 0.6), strict=True):
        sizes = [sum(s) for s in product((0, 1), repeat=4) if reaches(numbers, s, 0.6)]
        assert int(found.sum()) == min(sizes)
        assert reaches(numbers, found.tolist(), 0.6)


def reaches(numbers, subset, mass):
    return sum(n for n, chosen in zip(numbers, subset, strict=True) if chosen) / 8 >= mass


@PROPERTY
@given(counts, st.integers(0, 20))
def test_min_p_keeps_what_is_likely_beside_the_likeliest(numbers, twentieths):
    expected = {
        i for i, n in enumerate(numbers) if Fraction(n, max(numbers)) * 20 >= twentieths
    }
    found = kept(keep_min_p(distribution(numbers), twentieths / 20))
    edge = {i for i, n in enumerate(numbers) if n * 20 == twentieths * max(numbers)}
    assert found - edge == expected - edge


def test_min_p_keeps_the_likeliest_and_its_equals_at_one():
    assert keep_min_p(distribution([1, 3, 3, 0]), 1.0).tolist() == [False, True, True, False]
    assert keep_min_p(distribution([1, 3, 3, 0]), 0.0).all()


@PROPERTY
@given(counts, st.floats(0, 1))
def test_typical_keeps_the_fewest_of_the_most_typical(numbers, mass):
    p = distribution(numbers).tolist()
    surprise = [-math.log(x) if x else math.inf for x in p]
    H = sum(x * s for x, s in zip(p, surprise, strict=True) if x)
    order = sorted(range(len(p)), key=lambda i: (round(abs(surprise[i] - H), 9), i))
    found = kept(keep_typical(distribution(numbers), mass))
    typical = {i for i in order if abs(surprise[i] - H) < 1e-9}
    if not len(typical) > 1:  # beside rounding of those that are exactly as typical
        assert found == prefix(order, p, mass)


def test_the_likeliest_token_may_be_the_least_typical():
    """By hand: 0.4 and 30 of 0.02, surprises a and b: H = 0.4 a + 0.6 b, so that the first is
    0.6 (b − a) from H, and the others are 0.4 (b − a); five of them reach 0.09."""
    p = torch.tensor([0.4, *[0.02] * 30])
    assert kept(keep_typical(p, 0.09)) == {1, 2, 3, 4, 5}
    assert kept(keep_typical(p, 0.7)) == {*range(31)}


def test_of_equally_typical_tokens_the_lowest_ids_are_kept():
    assert kept(keep_typical(distribution([1] * 8), 0.25)) == {0, 1}


@pytest.mark.parametrize("keep", [keep_top_p, keep_typical])
@pytest.mark.parametrize("mass", [0.0, 0.05, 0.5, 0.999, 1.0])
def test_large_vocabularies_keep_what_a_full_ranking_keeps(keep, mass, monkeypatch):
    """Ties across the first part that is ranked among them."""
    p = torch.randint(1, 6, (3, 4 * FEW)).double()
    p[1, : FEW - 5] = 1000.0  # nearly all the mass in the part that is ranked first
    p[2] = p[2].pow(9)
    p /= p.sum(-1, keepdim=True)
    fast = keep(p, mass)
    monkeypatch.setattr("mathlm.generate.truncation.FEW", 4 * FEW)
    assert torch.equal(fast, keep(p, mass))


@PROPERTY
@given(st.lists(st.sampled_from([-math.inf, 0.0, 1.0, 2.0]), min_size=1), st.integers(1, 9))
def test_top_k_takes_the_lowest_of_equal_ids(logits, k):
    order = sorted(range(len(logits)), key=lambda i: (-logits[i], i))
    assert kept(keep_top_k(torch.tensor(logits), k)) == set(order[:k])


@pytest.mark.parametrize("keep", [keep_top_p, keep_min_p, keep_typical])
def test_each_row_is_ranked_for_itself(keep):
    p = torch.rand(3, 2, 9).softmax(-1)
    whole = keep(p, 0.7)
    rows = [keep(row, 0.7) for row in p.flatten(0, 1)]
    assert torch.equal(whole, torch.stack(rows).view(3, 2, 9))


@pytest.mark.parametrize("keep", [keep_top_p, keep_min_p, keep_typical])
@pytest.mark.parametrize("share", [-0.1, 1.1, math.nan])
def test_shares_outside_zero_and_one_are_refused(keep, share):
    with pytest.raises(InputError, match=rf"={share} is outside 0\.\.1"):
        keep(torch.tensor([0.5, 0.5]), share)


@pytest.mark.parametrize("keep", [keep_top_p, keep_min_p, keep_typical])
@pytest.mark.parametrize(
    ("p", "message"),
    [
        ([[0.5, 0.5], [0.5, 0.6]], "probabilities of row 1 sum to 1.1, not 1"),
        ([[1.0, 2.0]], "probabilities of row 0 sum to 3, not 1"),
        ([[0.5, math.nan]], "row 0 sum to nan"),
        ([[1.5, -0.5]], "a probability is -0.5, less than 0"),
    ],
)
def test_what_is_no_distribution_is_refused(keep, p, message):
    with pytest.raises(InputError, match=message):
        keep(torch.tensor(p), 0.5)


def test_logits_that_are_nan_have_no_order():
    with pytest.raises(InputError, match="1 of 3 logits are NaN"):
        keep_top_k(torch.tensor([math.nan, 1.0, 2.0]), 2)


def test_no_token_at_all_is_refused():
    with pytest.raises(InputError, match="top_k=0 must be at least 1"):
        keep_top_k(torch.zeros(3), 0)


def test_of_no_rows_nothing_is_kept():
    assert keep_top_k(torch.zeros(0, 5), 2).shape == (0, 5)
