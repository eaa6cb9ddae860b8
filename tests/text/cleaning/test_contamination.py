"""Test passages in the training text: found, with their place."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text import contamination, corpus

WORDS = st.lists(st.sampled_from(["a", "b", "c"]), max_size=12).map(" ".join)


def test_the_passage_is_the_one_that_both_have():
    test = ["Nothing here.", "He said: To BE, or not to be; and left."]
    found = contamination(["...to be or not to be!"], test, n=4)
    assert found.documents == [1]
    (overlap,) = found.overlaps
    assert test[1][overlap.start : overlap.end] == "To BE, or not to be"


def test_the_share_is_of_the_runs():
    """Eight words have 5 runs of 4; "to be or not to be" holds 3 of them."""
    found = contamination(["to be or not to be"], ["to be or not to be i say"], n=4)
    assert found.shares.tolist() == [3 / 5]


@settings(max_examples=60, deadline=None)
@given(train=st.lists(WORDS, max_size=4), test=st.lists(WORDS, min_size=1, max_size=4))
def test_shares_are_those_of_a_search_for_each_run(train, test):
    def grams(text, n=3):
        words = text.split()
        return [tuple(words[i : i + n]) for i in range(len(words) - n + 1)]

    seen = {gram for text in train for gram in grams(text)}
    hits = [[gram in seen for gram in grams(text)] for text in test]
    expected = [sum(hit) / len(hit) if hit else 0.0 for hit in hits]
    assert contamination(train, test, n=3).shares.tolist() == expected


def test_runs_do_not_reach_over_two_training_documents():
    assert contamination(["a b", "c d"], ["a b c d"], n=3).documents == []


def test_passages_apart_are_two_and_those_that_touch_are_one():
    words = [f"w{i}" for i in range(20)]
    train = [" ".join(words[0:3]), " ".join(words[3:6]), " ".join(words[10:13])]
    test = " ".join(words)
    found = contamination(train, [test], n=3).overlaps
    texts = [test[o.start : o.end] for o in found]
    assert texts == [" ".join(words[0:6]), " ".join(words[10:13])]


def test_bytes_count_capitals_and_signs():
    test = ["é: to be", "É: To be"]
    found = contamination(["xé: to bex"], test, n=6, unit="bytes")
    assert found.documents == [0]
    assert (found.overlaps[0].start, found.overlaps[0].end) == (0, len("é: to be".encode()))


def test_a_document_shorter_than_a_run_is_never_found():
    assert contamination(["to be"], ["to be", "to be"], n=13).shares.tolist() == [0.0, 0.0]


def test_no_play_repeats_13_words_of_a_held_out_play_but_scenes_do_4():
    play, other = (text[:40_000] for text in corpus.documents("shakespeare")[:2])
    assert contamination([other], [play]).documents == []
    assert contamination([other], [play], n=4).documents == [0]


def test_training_documents_may_be_a_stream():
    found = contamination((text for text in ["a b c", "x"]), ["a b c"], n=3)
    assert found.documents == [0]


def test_bad_arguments_are_named(unchecked):
    with pytest.raises(InputError, match="no test documents"):
        contamination(["a"], [])
    with pytest.raises(InputError, match="n=0"):
        contamination(["a"], ["a"], n=0)
    with pytest.raises(InputError, match="unit='letters'"):
        contamination(["a"], ["a"], unit="letters")
    with pytest.raises(InputTypeError, match="test is one text"):
        contamination(["a"], "a")
    with pytest.raises(InputTypeError, match="got int"):
        contamination([7], ["a"])
