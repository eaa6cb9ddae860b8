import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.text.ngrams import KneserNey


def loop_probability(order, data, history, w):
    """The definition, by dictionaries and exact fractions."""
    sets = [{data[i : i + order] for i in range(len(data) - order + 1)}]
    counts = [Counter(data[i : i + order] for i in range(len(data) - order + 1))]
    for _ in range(order - 1):
        counts.append(Counter(gram[1:] for gram in sets[-1]))
        sets.append(set(counts[-1]))

    def p(level, h):
        if level == len(counts):
            return Fraction(1, 256)
        count = counts[level]
        lower = p(level + 1, h[1:])
        followers = {g: c for g, c in count.items() if g[:-1] == h}
        if not followers:
            return lower
        ones, twos = (sum(c == k for c in count.values()) for k in (1, 2))
        D = Fraction(ones, ones + 2 * twos) if ones else Fraction(1, 2)
        total = sum(followers.values())
        own = max(Fraction(followers.get(h + bytes([w]), 0)) - D, Fraction(0))
        return (own + D * len(followers) * lower) / total

    start = max(0, len(history) - order + 1)
    h = history[start:]
    return p(order - 1 - len(h), h)


texts = st.text("abc", min_size=4, max_size=30).map(str.encode)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(texts, st.text("abcd", max_size=4).map(str.encode), st.integers(1, 4))
def test_probabilities_equal_the_definition(data, history, order):
    ours = KneserNey(order, data).distribution(history)
    for w in b"abcd":
        expected = loop_probability(order, data, history, w)
        np.testing.assert_allclose(ours[w], float(expected), rtol=1e-12)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(texts, st.binary(max_size=6), st.integers(1, 4))
def test_probabilities_sum_to_one_after_every_history(data, history, order):
    assert math.isclose(KneserNey(order, data).distribution(history).sum(), 1, rel_tol=1e-12)


def test_scores_of_a_text_are_its_conditional_probabilities():
    model, text = KneserNey(3, b"the cat sat on the mat"), b"a hat"
    one_by_one = [np.log(model.distribution(text[:t])[text[t]]) for t in range(len(text))]
    np.testing.assert_allclose(model.log_probabilities(text), one_by_one, rtol=1e-12)


def test_few_contexts_make_a_frequent_byte_an_unlikely_guess():
    """F follows only S, as Francisco follows only San; g, as frequent, follows many letters.

    After a history never seen, the continuation count must rank g above F.
    """
    data = b"SF" * 6 + b"agbgcgdgegfg"
    after_unseen = KneserNey(2, data).distribution(b"#")
    assert Counter(data)[ord("F")] == Counter(data)[ord("g")]
    assert after_unseen[ord("g")] > 2 * after_unseen[ord("F")]


def test_words_rank_glasses_above_francisco():
    """Francisco occurs three times, after San only; glasses twice, after two words."""
    text = [*["San", "Francisco", ","] * 3, "my", "glasses", ",", "your", "glasses", "."]
    words = sorted(set(text))
    ids = np.array([words.index(w) for w in text])
    p = KneserNey(2, ids, len(words)).distribution(np.array([words.index(".")]))
    assert text.count("Francisco") > text.count("glasses")
    assert p[words.index("glasses")] > p[words.index("Francisco")]


@pytest.mark.parametrize("order", [0, 8])
def test_order_out_of_range_is_an_error(order):
    with pytest.raises(ValueError, match=f"order={order} must be between 1 and 7"):
        KneserNey(order, b"text")


def test_text_shorter_than_the_order_is_an_error():
    with pytest.raises(ValueError, match="a text of 2 bytes holds no n-gram of order 3"):
        KneserNey(3, b"ab")
