import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.tokenization.merge_scores import merge_gain, wordpiece_score
from mathlm.errors import InputError


def log_likelihood(tokens):
    return sum(n * math.log(n / len(tokens)) for n in Counter(tokens).values())


def merged(text, a, b):
    out, i = [], 0
    while i < len(text):
        step = 2 if text[i : i + 2] == a + b else 1
        out.append(text[i : i + step])
        i += step
    return out


@given(st.text("abc", min_size=2, max_size=40))
def test_the_gain_is_the_difference_of_two_likelihoods(text):
    pair = text.count("ab")
    if pair:
        gain = merge_gain(pair, text.count("a"), text.count("b"), len(text))
        direct = log_likelihood(merged(text, "a", "b")) - log_likelihood(list(text))
        assert math.isclose(gain, direct, rel_tol=1e-9, abs_tol=1e-9)


def test_four_letters_that_become_one_token_twice_gain_four_bits():
    """abab costs 4 log 2 nats letter by letter and nothing as two equal tokens."""
    assert math.isclose(merge_gain(2, 2, 2, 4), 4 * math.log(2), rel_tol=1e-12)


def test_two_tokens_that_meet_by_chance_lose_by_a_merge():
    """k n = l r: no mutual information, and the gain tends to -k."""
    assert math.isclose(merge_gain(100, 10_000, 10_000, 1_000_000), -100, rel_tol=0.05)


def test_the_gain_of_one_occurrence_tends_to_the_mutual_information_less_one():
    pair, left, right, total = 50, 10_000, 5_000, 10_000_000
    information = math.log(pair * total / (left * right))
    gain = merge_gain(pair, left, right, total) / pair
    assert math.isclose(gain, information - 1, abs_tol=0.01)


def test_the_score_is_count_over_the_product_of_counts():
    assert wordpiece_score(2, 4, 5) == 0.1


@pytest.mark.parametrize("counts", [(0, 1, 1, 2), (2, 1, 3, 9), (2, 3, 1, 9), (1, 3, 3, 5)])
def test_counts_that_cannot_occur_together_are_refused(counts):
    with pytest.raises(InputError, match=f"a pair counted {counts[0]} times"):
        merge_gain(*counts)
    if counts[3] > 5:
        with pytest.raises(InputError, match=f"a pair counted {counts[0]} times"):
            wordpiece_score(*counts[:3])


@pytest.mark.usefixtures("unchecked")
def test_an_infinite_corpus_is_refused():
    with pytest.raises(InputError, match="in inf: expected"):
        merge_gain(1, 2, 2, math.inf)
