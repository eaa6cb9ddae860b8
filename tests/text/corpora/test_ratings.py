"""Conversations with ratings, and pairs of a better and a worse one."""

from collections import Counter

import numpy as np
import pytest

from mathlm.errors import DataError, DataNotFoundError, HashMismatchError, InputError
from mathlm.text import Message, ratings
from mathlm.text.corpora.instructions import DIALOGS
from mathlm.text.corpora.ratings import Rated, rated_pairs, read_dialog, split_rated


def rated(*totals):
    """Conversations with these totals, a third of it each."""
    return [Rated(f"topic {i}", ("hello",), (t // 3,) * 3) for i, t in enumerate(totals)]


@pytest.fixture(scope="module")
def chitchat():
    return ratings.load()


def test_every_rated_conversation_is_there(chitchat):
    """The number that the data set's own description has: 5,988 of 7,168."""
    assert len(chitchat) == 5988
    assert all(1 <= r <= 10 for conversation in chitchat for r in conversation.ratings)
    assert all(conversation.turns for conversation in chitchat)


def test_the_first_one_is_as_its_file_says(chitchat):
    first = chitchat[0]
    assert first.topic == "What's one thing your best friend doesn't know about you?"
    assert first.turns[0] == "Hello\nHow are you doing today?"
    assert (first.ratings, first.total) == ((10, 10, 10), 30)
    assert first.messages[1] == Message("assistant", first.turns[1])


def test_ratings_are_in_the_order_of_their_names():
    dialog = {"ratings": {"witty": 1, "upbeat": 2, "interesting": 3}, "messages": []}
    assert read_dialog(dialog).ratings == (3, 2, 1)


@pytest.mark.parametrize("bad", [0, 11, 5.5, None, True])
def test_a_rating_out_of_range_is_refused(bad):
    dialog = {"ratings": {"witty": 5, "upbeat": bad, "interesting": 5}, "messages": []}
    with pytest.raises(DataError, match="must be 1 to 10"):
        read_dialog(dialog)


def test_words_and_text_are_those_of_all_turns():
    one = Rated("", ("hi  there\nyou", "", "well"), (5, 5, 5))
    assert one.words == 4
    assert one.text == "- hi  there\nyou\n- \n- well"


def test_the_first_of_each_pair_was_rated_higher():
    conversations = rated(3, 15, 15, 30, 6)
    pairs = rated_pairs(conversations, 500, least=6)
    totals = np.array([c.total for c in conversations])
    assert (totals[pairs[:, 0]] - totals[pairs[:, 1]] >= 6).all()
    assert pairs.shape == (500, 2)


def test_all_fitting_pairs_are_drawn_alike():
    """Of four totals, of which two are equal, five ordered pairs differ."""
    pairs = rated_pairs(rated(3, 6, 6, 9), 20_000, least=3)
    seen = Counter(map(tuple, pairs.tolist()))
    assert set(seen) == {(1, 0), (2, 0), (3, 0), (3, 1), (3, 2)}
    assert all(abs(n / 20_000 - 0.2) < 0.015 for n in seen.values())


def test_pairs_are_a_function_of_the_seed():
    again = [rated_pairs(rated(3, 6, 9), 40, seed) for seed in (1, 1, 2)]
    assert np.array_equal(again[0], again[1])
    assert not np.array_equal(again[0], again[2])


def test_a_split_shares_no_conversation_and_loses_none():
    conversations = rated(*range(3, 31, 3))
    training, held_out = split_rated(conversations, 0.3, seed=2)
    assert len(held_out) == 3
    assert sorted(c.topic for c in training + held_out) == sorted(
        c.topic for c in conversations
    )
    assert split_rated(conversations, 0.3, seed=2)[1] == held_out


def test_what_cannot_be_paired_or_split_is_refused():
    with pytest.raises(InputError, match="no two of the 3 conversations"):
        rated_pairs(rated(6, 6, 6), 4)
    with pytest.raises(InputError, match="no two of the 0"):
        rated_pairs([], 4)
    with pytest.raises(InputError, match="must be positive"):
        rated_pairs(rated(3, 6), 0)
    with pytest.raises(InputError, match="leaves one side empty"):
        split_rated(rated(3, 6), 0.1)


def test_a_missing_package_is_named_with_its_command(monkeypatch):
    ratings._rated.cache_clear()
    monkeypatch.setattr("mathlm.text.corpora.installed.find_spec", lambda name: None)
    with pytest.raises(DataNotFoundError, match=r"pip install .*chitchat-dataset==0.9.0"):
        ratings.load()


def test_other_bytes_are_refused(monkeypatch):
    ratings._rated.cache_clear()
    monkeypatch.setitem(vars(DIALOGS["chitchat"]), "sha256", "0" * 64)
    with pytest.raises(HashMismatchError, match="expected 0000"):
        ratings.load()
