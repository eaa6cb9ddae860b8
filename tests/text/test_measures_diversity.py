import math
import zlib

import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.text import compression_ratio, distinct_share, repeated_share, self_bleu

HAMLET = ["to", "be", "or", "not", "to", "be"]


def test_distinct_words_in_numbers_done_by_hand():
    """to, be, or, not among 6 words; to be, be or, or not, not to among 5 pairs."""
    assert distinct_share([HAMLET], 1) == pytest.approx(4 / 6)
    assert distinct_share([HAMLET], 2) == pytest.approx(4 / 5)


def test_distinct_counts_texts_together():
    """Twice the same text: as many different pairs, of twice as many."""
    assert distinct_share([HAMLET, HAMLET], 2) == pytest.approx(4 / 10)


def test_repeated_counts_each_text_by_itself():
    assert repeated_share([HAMLET, HAMLET], 2) == pytest.approx(2 / 10)
    assert repeated_share([HAMLET, ["to", "be"]], 2) == pytest.approx(1 / 6)
    assert repeated_share([HAMLET], 4) == 0.0


def test_one_letter_again_and_again_repeats_all_but_the_first():
    assert repeated_share(["a" * 10], 4) == pytest.approx(6 / 7)


def test_texts_shorter_than_the_grams_do_not_count():
    assert repeated_share([HAMLET, ["x"]], 2) == repeated_share([HAMLET], 2)
    assert distinct_share([HAMLET, ["x"]], 2) == distinct_share([HAMLET], 2)


def test_equal_texts_have_self_bleu_one_and_disjoint_ones_zero():
    assert self_bleu([HAMLET] * 3) == pytest.approx(1.0)
    assert self_bleu(["abcde", "fghij"]) == 0.0


def test_self_bleu_in_numbers_done_by_hand():
    """abab against abcd and back. Letters: a and b match once each of aabb, and a, b of abcd:
    4 of 8. Pairs: ab of ab, ba, ab once, and ab of ab, bc, cd: 2 of 6. No brevity.
    """
    assert self_bleu(["abab", "abcd"], 1) == pytest.approx(1 / 2)
    assert self_bleu(["abab", "abcd"], 2) == pytest.approx(math.sqrt(1 / 2 * 1 / 3))


def test_a_gram_matches_as_often_as_in_the_text_that_has_it_most_often():
    """aa: both letters in aab; a third a is in no other text, so that 7 of 8 letters match, and
    8 letters stand against references of 3 + 3 + 3.
    """
    assert self_bleu(["aa", "ab", "aab"], 1) == pytest.approx(1.0)
    assert self_bleu(["aaa", "ab", "aab"], 1) == pytest.approx(7 / 8 * math.exp(1 - 9 / 8))


def test_short_texts_pay_for_their_brevity():
    """ab and abcd: all of ab matches and half of abcd, 4 of 6; 6 letters against 4 + 2, so that
    nothing is paid. With two of ab and one of abcd: the closest of ab is ab.
    """
    assert self_bleu(["ab", "abcd"], 1) == pytest.approx(4 / 6)
    assert self_bleu(["ab", "ab", "abcd"], 1) == pytest.approx(6 / 8)
    assert self_bleu(["abcd", "abcd", "ab"], 1) == pytest.approx(math.exp(1 - 12 / 10))


def test_the_order_of_the_texts_does_not_matter():
    texts = ["abcab", "bcabc", "cabbb", "aaccb"]
    assert self_bleu(texts, 3) == pytest.approx(self_bleu(texts[::-1], 3))


def test_a_sentence_said_again_and_again_compresses_far():
    text = " ".join(HAMLET)
    assert compression_ratio([text] * 100) > 10 * compression_ratio([text])


def test_the_compression_ratio_is_what_zlib_says():
    """Two texts are one, with a line break between them."""
    data = b"what is\nin a name"
    expected = len(data) / len(zlib.compress(data, 9))
    assert compression_ratio(["what is", "in a name"]) == pytest.approx(expected)


@pytest.mark.parametrize("measure", [distinct_share, repeated_share, self_bleu])
@pytest.mark.parametrize(
    ("texts", "n", "message"),
    [
        ([HAMLET, HAMLET], 0, "n=0 must be at least 1"),
        ([], 2, "0 texts of at most 0 tokens hold no 2-gram"),
        ([HAMLET, HAMLET], 7, "2 texts of at most 6 tokens hold no 7-gram"),
    ],
)
def test_texts_without_a_gram_are_refused(measure, texts, n, message):
    with pytest.raises(InputError, match=message):
        measure(texts, n)


def test_a_text_alone_has_no_self_bleu_and_an_empty_one_no_ratio():
    with pytest.raises(InputError, match="1 text: there is no other"):
        self_bleu([HAMLET], 2)
    with pytest.raises(InputError, match="2 texts with nothing in them"):
        compression_ratio(["", " "])
    with pytest.raises(InputError, match="position 3 of the text holds"):
        compression_ratio(["a", "b\ud83d"])


def test_a_string_in_place_of_a_list_is_refused(unchecked):
    with pytest.raises(InputTypeError, match="give a list of strings"):
        compression_ratio("to be")
