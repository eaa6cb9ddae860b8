"""The unigram model: against enumeration, and against the `tokenizers` package."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import models

from mathlm.errors import InputError, InputTypeError
from mathlm.text import em_step, expected_counts, log_marginal, sample_segmentation, viterbi

LOG_P = {"a": math.log(0.3), "b": math.log(0.3), "ab": math.log(0.4)}
PIECES = ["a", "b", "c", "ab", "bc", "abc", "ca", "aa", "bca", "cabc"]
SCORES = st.lists(st.floats(-30, 0), min_size=len(PIECES), max_size=len(PIECES))
TEXT = st.text("abc", max_size=10)


def every_cut(text, log_p):
    """Each way to cut a text, by trying all 2ⁿ⁻¹."""
    if not text:
        yield []
    for i in range(1, len(text) + 1):
        if text[:i] in log_p:
            yield from ([text[:i], *rest] for rest in every_cut(text[i:], log_p))


def score(pieces, log_p):
    return math.fsum(log_p[piece] for piece in pieces)


def log_likelihood(texts, log_p):
    return math.fsum(n * log_marginal(text, log_p) for text, n in texts.items())


@pytest.fixture
def log_p(rng):
    p = rng.dirichlet(np.ones(len(PIECES)))
    return dict(zip(PIECES, np.log(p).tolist(), strict=True))


@pytest.fixture
def words(rng):
    return Counter("".join(rng.choice([*"abc"], rng.integers(1, 9))) for _ in range(60))


def test_two_ways_to_cut_by_hand():
    """P(ab) = 0.4 + 0.3², and nothing crosses the middle of abab: P(abab) = 0.49²."""
    assert math.exp(log_marginal("ab", LOG_P)) == pytest.approx(0.49, rel=1e-14)
    assert math.exp(log_marginal("abab", LOG_P)) == pytest.approx(0.49**2, rel=1e-14)
    pieces, best = viterbi("abab", LOG_P)
    assert pieces == ["ab", "ab"]
    assert math.exp(best) == pytest.approx(0.16, rel=1e-14)


@given(text=TEXT, scores=SCORES)
def test_the_best_cut_is_the_best_of_all(text, scores):
    log_p = dict(zip(PIECES, scores, strict=True))
    pieces, best = viterbi(text, log_p)
    assert "".join(pieces) == text
    assert best == pytest.approx(score(pieces, log_p), rel=1e-12, abs=1e-12)
    assert best == pytest.approx(
        max(score(c, log_p) for c in every_cut(text, log_p)), rel=1e-12
    )


@given(text=TEXT, scores=SCORES)
def test_the_forward_sum_is_the_sum_over_all_cuts(text, scores):
    log_p = dict(zip(PIECES, scores, strict=True))
    expected = np.logaddexp.reduce([score(c, log_p) for c in every_cut(text, log_p)])
    assert log_marginal(text, log_p) == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(text=TEXT.filter(bool), n=st.integers(1, 5), scores=SCORES)
def test_expected_counts_average_over_all_cuts(text, n, scores):
    log_p = dict(zip(PIECES, scores, strict=True))
    log_x, expected = log_marginal(text, log_p), dict.fromkeys(PIECES, 0.0)
    for cut in every_cut(text, log_p):
        for piece in cut:
            expected[piece] += n * math.exp(score(cut, log_p) - log_x)
    counts, total = expected_counts({text: n}, log_p)
    assert counts == pytest.approx(expected, rel=1e-9, abs=1e-12)
    assert total == pytest.approx(n * log_x, rel=1e-12)


def test_expected_counts_cover_every_character(words, log_p):
    counts, _ = expected_counts(words, log_p)
    covered = sum(len(piece) * count for piece, count in counts.items())
    assert covered == pytest.approx(sum(len(w) * n for w, n in words.items()), rel=1e-12)


def test_expected_counts_are_the_gradient_of_the_log_likelihood(words, log_p):
    """Σ n d log P(x) / d log p(s) is the expected count of s; central difference."""
    counts, _ = expected_counts(words, log_p)
    for piece in ["a", "abc", "bca"]:
        up, down = log_p | {piece: log_p[piece] + 1e-5}, log_p | {piece: log_p[piece] - 1e-5}
        slope = (log_likelihood(words, up) - log_likelihood(words, down)) / 2e-5
        assert counts[piece] == pytest.approx(slope, rel=1e-6)


def test_the_likelihood_never_falls(words, log_p):
    history = []
    for _ in range(30):
        log_p, before = em_step(words, log_p)
        history.append(before)
    history.append(log_likelihood(words, log_p))
    assert (np.diff(history) >= -1e-9).all()
    assert history[-1] > history[0] + 1


def test_a_step_gives_probabilities_that_sum_to_one(words, log_p):
    new, before = em_step(words, log_p)
    assert math.fsum(map(math.exp, new.values())) == pytest.approx(1, rel=1e-12)
    assert before == pytest.approx(log_likelihood(words, log_p), rel=1e-12)


def test_a_step_where_only_one_cut_exists_gives_relative_frequencies():
    """Five a, three b, no pieces of two: p = 5/8 and 3/8 whatever it was."""
    new, _ = em_step({"aab": 2, "ba": 1}, {"a": -1.0, "b": -7.0})
    assert new == pytest.approx({"a": math.log(5 / 8), "b": math.log(3 / 8)}, rel=1e-12)


def test_a_piece_that_no_text_uses_leaves():
    new, _ = em_step({"aa": 1}, {"a": -1.0, "b": -1.0})
    assert new == {"a": 0.0}


@given(text=TEXT, scores=SCORES)
def test_the_same_cut_as_the_tokenizers_package(text, scores):
    vocabulary = [("<unk>", -99.0), *zip(PIECES, scores, strict=True)]
    theirs = [t.value for t in models.Unigram(vocabulary, unk_id=0).tokenize(text)]
    assert viterbi(text, dict(vocabulary))[0] == theirs


@given(text=TEXT)
def test_ties_go_the_way_of_the_tokenizers_package(text):
    vocabulary = [("<unk>", -99.0), *((piece, -float(len(piece))) for piece in PIECES)]
    theirs = [t.value for t in models.Unigram(vocabulary, unk_id=0).tokenize(text)]
    assert viterbi(text, dict(vocabulary))[0] == theirs


def test_of_equal_cuts_the_one_with_the_longest_last_piece_is_chosen():
    """a|bc and ab|c have the same probability."""
    log_p = {"a": -1.0, "c": -1.0, "ab": -2.0, "bc": -2.0}
    assert viterbi("abc", log_p)[0] == ["a", "bc"]


def test_drawn_cuts_have_their_posterior_probabilities(rng):
    """P(ab in one piece | x = ab) = 0.4 / 0.49; 4,000 draws, four standard deviations."""
    p, n = 0.4 / 0.49, 4000
    ones = sum(sample_segmentation("ab", LOG_P, rng) == ["ab"] for _ in range(n))
    assert abs(ones / n - p) < 4 * math.sqrt(p * (1 - p) / n)


@given(text=TEXT, seed=st.integers(0, 99))
def test_a_drawn_cut_is_the_text(text, seed):
    log_p = dict.fromkeys(PIECES, -2.0)
    pieces = sample_segmentation(text, log_p, np.random.default_rng(seed))
    assert "".join(pieces) == text
    assert set(pieces) <= set(PIECES)


def test_probabilities_far_below_the_smallest_float_do_not_vanish():
    """Each of 2,000 characters costs 30 nats or, two at a time, 60 too: 2 cuts of each pair."""
    log_p = {"a": -30.0, "aa": -60.0}
    # cuts of n characters into ones and twos: the Fibonacci number F(n + 1)
    a, b = 1, 1
    for _ in range(2000 - 1):
        a, b = b, a + b
    assert log_marginal("a" * 2000, log_p) == pytest.approx(-60_000 + math.log(b), rel=1e-12)
    counts, _ = expected_counts({"a" * 2000: 1}, log_p)
    assert counts["a"] + 2 * counts["aa"] == pytest.approx(2000, rel=1e-9)


def test_an_empty_text_has_one_cut_without_pieces():
    assert viterbi("", LOG_P) == ([], 0.0)
    assert log_marginal("", LOG_P) == 0.0
    assert sample_segmentation("", LOG_P, np.random.default_rng(0)) == []


CALLS = [
    viterbi,
    log_marginal,
    lambda text, log_p: expected_counts({text: 1}, log_p),
    lambda text, log_p: em_step({text: 1}, log_p),
    lambda text, log_p: sample_segmentation(text, log_p, np.random.default_rng(0)),
]


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize(
    ("text", "log_p", "says"),
    [
        ("abxa", LOG_P, "pieces reach character 2 of 4, 'x'"),
        ("ab", {}, "pieces reach character 0 of 2, 'a'"),
        ("ba", {"ba!": -1.0, "b": -1.0}, "pieces reach character 1 of 2, 'a'"),
        ("a\ud800", LOG_P, "position 1 .* lone surrogate"),
        ("a", {"a": 0.5}, "'a' has log probability 0.5"),
        ("a", {"a": math.nan}, "'a' has log probability nan"),
        ("a", {"a": -1.0, "b": -math.inf}, "'b' has log probability -inf"),
        ("a", {"a": -1.0, "": -1.0}, "'' has log probability -1.0: expected one character"),
    ],
)
def test_what_cannot_be_cut_is_refused(call, text, log_p, says):
    with pytest.raises(InputError, match=says):
        call(text, log_p)


@pytest.mark.parametrize("step", [expected_counts, em_step])
@pytest.mark.parametrize(
    ("texts", "says"),
    [({}, "texts is empty"), ({"a": 0}, "'a' has count 0"), ({"ab": -2}, "'ab' has count -2")],
)
def test_there_must_be_texts_with_counts(step, texts, says):
    with pytest.raises(InputError, match=says):
        step(texts, LOG_P)


def test_texts_without_characters_give_no_probabilities():
    with pytest.raises(InputError, match="none of the 1 texts has a character"):
        em_step({"": 3}, LOG_P)


@pytest.mark.usefixtures("unchecked")
def test_lists_are_no_maps():
    with pytest.raises(InputTypeError, match="log_p must map pieces to numbers, got list"):
        viterbi("a", ["a"])
    with pytest.raises(InputTypeError, match=r"got list; collections\.Counter\(words\)"):
        em_step(["ab", "ab"], LOG_P)


@pytest.mark.usefixtures("unchecked")
def test_counts_with_an_infinite_sum_are_refused():
    with pytest.raises(InputError, match="counts of 2 texts have an infinite sum"):
        expected_counts({"ab": 1e308, "a": 1e308}, {"a": -1.0, "b": -1.0})


@pytest.mark.usefixtures("unchecked")
def test_scores_are_added_in_double_precision():
    """A score may be a float32; a sum of seven in float32 is off by 1e-8 of it."""
    score = np.float32(-0.1)
    assert viterbi("a" * 7, {"a": score})[1] == pytest.approx(7 * float(score), rel=1e-15)
