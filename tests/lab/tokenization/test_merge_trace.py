import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.tokenization.merge_trace import reachable_tokens, trace_merges
from mathlm.errors import InputError, InputTypeError
from mathlm.text.tokenizers.bpe import learn_merges_naive, token_bytes

SENNRICH = {"low ": 5, "lower ": 2, "newest ": 6, "widest ": 3}


def names(steps):
    return ["".join(step.pair) for step in steps]


def test_the_example_of_sennrich_without_ties_is_merged_as_published():
    """Their dictionary, with a space for the end of a word: es and est win in the paper too."""
    steps = trace_merges(SENNRICH, 3, first_seen=True)
    assert names(steps) == ["es", "est", "est "]
    assert [step.counts[step.pair] for step in steps] == [9, 9, 9]


def test_counts_and_ties_of_the_first_step_are_those_of_a_hand_count():
    step = trace_merges({"aab": 2, "ab": 1}, 1)[0]
    assert step.counts == {("a", "b"): 3, ("a", "a"): 2}
    assert step.tied == (("a", "b"),)
    assert step.words == {("a", "ab"): 2, ("ab",): 1}


def test_of_tied_pairs_the_first_in_bytes_or_the_first_seen_is_merged():
    words = {"ba": 2, "ab": 2}
    assert names(trace_merges(words, 1)) == ["ab"]
    assert names(trace_merges(words, 1, first_seen=True)) == ["ba"]


def test_a_pair_is_joined_from_the_left_without_overlap():
    assert list(trace_merges({"aaaaa": 1}, 1)[0].words) == [("aa", "aa", "a")]


corpora = st.dictionaries(st.text("abc", min_size=1, max_size=6), st.integers(1, 3), min_size=1)


@given(corpora)
def test_the_traced_merges_are_those_of_the_trainer(words):
    merges = learn_merges_naive({w.encode(): n for w, n in words.items()}, 6)
    expected = [token.decode() for token in token_bytes(merges)[256:]]
    assert names(trace_merges(words, 6)) == expected


@given(corpora)
def test_both_ways_to_break_ties_stay_within_what_is_reachable(words):
    for first_seen in (False, True):
        made = names(trace_merges(words, 3, first_seen=first_seen, least=1))
        assert set(made) <= reachable_tokens(words, 3, least=1)


@given(corpora)
def test_a_merge_shortens_the_text_by_its_joins(words):
    """The number of joins is at most the count, and smaller only for a pair of equal tokens."""
    length = sum(len(word) * n for word, n in words.items())
    for step in trace_merges(words, 8):
        now = sum(len(word) * n for word, n in step.words.items())
        joins, count = length - now, step.counts[step.pair]
        assert joins == count or (0 < joins < count and step.pair[0] == step.pair[1])
        length = now


@given(corpora)
def test_changed_words_hold_no_more_symbols_than_the_bound_of_the_fast_trainer(words):
    """A word of n symbols changes at most n - 1 times, and has at most n symbols then."""
    before, read = [tuple(word) for word in words], 0
    for step in trace_merges(words, 20, least=1):
        after = list(step.words)
        read += sum(len(a) for a, b in zip(before, after, strict=True) if a != b)
        before = after
    assert read <= sum(len(word) * (len(word) - 1) for word in words)


def test_every_pair_of_a_tie_is_reachable():
    """ab and bc tie, then one merge is left: abc."""
    assert reachable_tokens({"abc": 1}, 3, least=1) == {"ab", "bc", "abc"}


@pytest.mark.parametrize(
    ("words", "n", "least", "message"),
    [
        ({}, 1, 1, "expected words"),
        ({"": 1}, 1, 1, "expected words"),
        ({"a": 0}, 1, 1, "expected words"),
        ({"a": 1}, -1, 1, "n_merges=-1"),
        ({"a": 1}, 1, 0, "least=0"),
    ],
)
def test_what_holds_nothing_to_merge_is_refused(words, n, least, message):
    for function in (trace_merges, reachable_tokens):
        with pytest.raises(InputError, match=message):
            function(words, n, least=least)


BAD_TRACES = [
    (["ab"], 1, "words must map words to counts"),
    ({"ab": float("nan")}, 1, "expected words, each with a count"),
    ({"ab": 2.5}, 1, "expected words, each with a count"),
    ({"ab": 2}, float("nan"), "n_merges=nan must be an integer"),
    ({"a\ud800": 2}, 1, "a lone surrogate"),
]


@pytest.mark.parametrize(("words", "n_merges", "message"), BAD_TRACES)
@pytest.mark.parametrize("trace", [trace_merges, reachable_tokens])
@pytest.mark.usefixtures("unchecked")
def test_counts_that_are_no_integers_are_refused(trace, words, n_merges, message):
    """A count or a limit of NaN would end the merges at once, without a word."""
    with pytest.raises((InputError, InputTypeError), match=message):
        trace(words, n_merges)
