import numpy as np
import pytest

from lab.objectives.topic_shortcut import (
    draw_pairs,
    overlap,
    passages,
    prepared,
    shortcut,
    weights,
)
from mathlm.errors import InputError

PLAYS = [
    f"{name} and {name} say {name} {name[::-1]} . " * 30 for name in "abcdefghijklmnopqrst"
]


@pytest.fixture(autouse=True)
def own_plays(monkeypatch):
    monkeypatch.setattr("mathlm.text.corpora.corpus.documents", lambda name: PLAYS)
    prepared.cache_clear()
    yield
    prepared.cache_clear()


def test_a_passage_has_its_words_without_case_and_marks():
    assert passages(5)[0][:2] == [["a", "and", "a", "say", "a"], ["a", "", "a", "and", "a"]]
    with pytest.raises(InputError, match="words=0"):
        passages(0)


def test_a_word_of_every_passage_weighs_nothing_and_a_rare_one_much():
    weight = weights(passages(10))
    assert weight["and"] == weight["say"] == 0
    assert weight["a"] == pytest.approx(np.log(20))


def test_half_of_the_pairs_follow_and_the_others_are_what_was_asked_for(rng):
    cut = passages(7)
    pairs, follows = draw_pairs(cut, "swapped", 400, rng)
    assert 0.4 < follows.mean() < 0.6
    assert all({*a} & {*b} - {"and", "say", ""} for a, b in pairs)  # always of one play
    pairs, follows = draw_pairs(cut, "elsewhere", 400, rng)
    strangers = [not {*a} & {*b} - {"and", "say", ""} for a, b in pairs]
    assert np.mean(np.array(strangers)[~follows]) > 0.9
    assert not np.array(strangers)[follows].any()


def test_the_overlap_knows_no_order():
    weight = {"x": 2.0, "y": 0.5, "z": 1.0}
    assert overlap([("xy", "yxz"), ("yxz", "xy"), ("x", "z")], weight).tolist() == [2.5, 2.5, 0]


def test_names_tell_plays_apart_and_say_nothing_about_order():
    """One name a play and two plays held out: wrong only where both are the same by chance."""
    assert shortcut("elsewhere", 10, 300) == pytest.approx(0.75, abs=0.1)
    assert shortcut("swapped", 10, 300) < 0.6
