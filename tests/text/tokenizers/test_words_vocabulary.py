import random

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import (
    Vocabulary,
    keep_probability,
    negative_distribution,
    split_words,
)

TEXT = ["the", "cat", "sat", "on", "the", "mat", "and", "the", "dog", "sat"]


def test_words_are_runs_of_letters_in_lower_case():
    assert split_words("Œuvre No. 5: naïve_X") == ["œuvre", "no", "naïve", "x"]
    assert split_words(" 1,200 ") == []


def test_words_are_numbered_from_the_most_frequent_down():
    """the: 3, sat: 2, and five words once, which stand in the order of their letters."""
    vocabulary = Vocabulary.build(TEXT)
    assert vocabulary.words == ["the", "sat", "and", "cat", "dog", "mat", "on"]
    assert vocabulary.counts.tolist() == [3, 2, 1, 1, 1, 1, 1]


def test_vocabulary_does_not_depend_on_the_order_of_the_text():
    shuffled = random.Random(0).sample(TEXT, len(TEXT))
    assert Vocabulary.build(shuffled).words == Vocabulary.build(TEXT).words


def test_rare_words_are_left_out():
    vocabulary = Vocabulary.build(TEXT, min_count=2)
    assert vocabulary.words == ["the", "sat"]
    assert "cat" not in vocabulary
    assert len(vocabulary) == 2


def test_encode_gives_back_the_text():
    vocabulary = Vocabulary.build(TEXT)
    assert [vocabulary.words[i] for i in vocabulary.encode(TEXT)] == TEXT


def test_unknown_words_are_left_out_only_when_asked():
    vocabulary = Vocabulary.build(TEXT, min_count=2)
    assert vocabulary.encode(TEXT, drop_unknown=True).tolist() == [0, 1, 0, 0, 1]
    with pytest.raises(InputError, match="token 1 is 'cat', not one of the 2 words"):
        vocabulary.encode(TEXT)


def test_no_words_encode_to_no_numbers():
    assert Vocabulary.build(TEXT).encode([]).dtype == np.int64


@pytest.mark.parametrize(
    ("tokens", "min_count", "message"),
    [
        ([], 1, "no word occurs min_count=1 times among 0 tokens"),
        (TEXT, 4, "among 10 tokens; the most frequent one occurs 3 times"),
    ],
)
def test_a_vocabulary_without_words_is_refused(tokens, min_count, message):
    with pytest.raises(DataError, match=message):
        Vocabulary.build(tokens, min_count)


def test_min_count_is_at_least_one():
    with pytest.raises(InputError, match="min_count=0 must be at least 1"):
        Vocabulary.build(TEXT, 0)


def test_a_string_is_not_a_list_of_words():
    with pytest.raises(InputTypeError, match="one str, expected words"):
        Vocabulary.build("the cat")
    with pytest.raises(InputTypeError, match="one str, expected words"):
        Vocabulary.build(TEXT).encode("the")


def test_keep_probability_follows_equation_5():
    """f = 0.64 and t = 0.01: √(0.01 / 0.64) = 1/8; a word of frequency t is always read."""
    assert_allclose(keep_probability(np.array([64, 35, 1]), 0.01), [1 / 8, (1 / 35) ** 0.5, 1])


def test_a_word_rarer_than_t_is_always_read():
    assert keep_probability(np.array([5, 5, 0]), 0.5).tolist() == [1, 1, 1]


def test_negative_distribution_by_hand():
    """16^0.75 = 8 and 1^0.75 = 1: shares 8/10, 1/10, 1/10, and a word never seen has none."""
    assert_allclose(negative_distribution(np.array([16, 1, 1, 0])), [0.8, 0.1, 0.1, 0])


@pytest.mark.parametrize(("power", "expected"), [(1, [0.75, 0.25, 0]), (0, [0.5, 0.5, 0])])
def test_power_one_is_the_unigram_distribution_and_zero_the_uniform_one(power, expected):
    assert_allclose(negative_distribution(np.array([3, 1, 0]), power), expected)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ([], r"counts has shape \(0,\)"),
        ([1, -2], "count 1 is -2.0"),
        ([1, 2, np.nan], "count 2 is nan"),
        ([np.inf], "count 0 is inf"),
        ([0, 0], "all 2 counts are 0"),
    ],
)
@pytest.mark.parametrize("f", [keep_probability, negative_distribution])
def test_bad_counts_are_refused(f, counts, message):
    with pytest.raises(InputError, match=message):
        f(np.array(counts, dtype=float))


@pytest.mark.parametrize("t", [0, -1.0, np.nan, np.inf])
def test_threshold_is_positive_and_finite(t):
    with pytest.raises(InputError, match=f"t={t} must be a positive, finite number"):
        keep_probability(np.array([1]), t)


@pytest.mark.parametrize("power", [-0.1, 1.5, np.nan])
def test_power_is_between_zero_and_one(power):
    with pytest.raises(InputError, match=f"power={power} is outside 0..1"):
        negative_distribution(np.array([1]), power)


@pytest.mark.parametrize(("words", "n"), [([], 0), (["a"], 2)])
def test_a_vocabulary_has_one_count_for_each_word(words, n):
    with pytest.raises(InputError, match=f"{len(words)} words and counts of shape .{n},"):
        Vocabulary(words, np.ones(n, int))


def test_a_word_that_is_there_twice_is_refused():
    with pytest.raises(InputError, match="the word 'a' is there more than once"):
        Vocabulary(["a", "b", "a"], np.array([3, 2, 1]))


def test_an_iterator_is_encoded_like_a_list():
    vocabulary = Vocabulary.build(["a", "b", "a"])
    assert vocabulary.encode(iter(["b", "a"])).tolist() == [1, 0]


@pytest.mark.parametrize("tokens", [b"ab", None, [1, 2], ["a", b"b"]])
@pytest.mark.usefixtures("unchecked")
def test_what_is_no_list_of_words_is_refused(tokens):
    with pytest.raises(InputTypeError, match=r"expected (words|a str)"):
        Vocabulary.build(tokens)


def test_huge_counts_have_the_frequencies_of_small_ones():
    huge = keep_probability(np.array([1e308, 1e308]), 0.125)
    assert_allclose(huge, keep_probability(np.array([1, 1]), 0.125), rtol=1e-15)


@pytest.mark.usefixtures("unchecked")
def test_counts_in_text_are_refused():
    with pytest.raises(InputTypeError, match="counts has dtype <U1"):
        negative_distribution(["1", "2"])
