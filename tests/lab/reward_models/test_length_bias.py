import json

import numpy as np
import pytest

from lab.reward_models import length_bias, length_features, length_learning, length_pairs
from mathlm.errors import InputError
from mathlm.text import ratings
from mathlm.text.corpora.ratings import Rated


def chat(*turns, total=15, topic="x"):
    low, rest = divmod(total, 3)
    return Rated(topic, turns, (low + (rest > 0), low + (rest > 1), low))


def test_shares_of_words_know_nothing_of_repetition():
    rows = length_features.word_shares(
        [chat("a b", "b!"), chat("a b", "b!", "b b a", "!")], ["a", "b", "!"]
    )
    np.testing.assert_allclose(rows[0], np.sqrt([1 / 4, 2 / 4, 1 / 4]))
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1)
    np.testing.assert_array_equal(length_features.word_shares([chat("c")], ["a"]), [[0]])


def test_frequent_words_are_counted_by_conversations():
    chats = [chat("a a a a"), chat("b c"), chat("b")]
    assert length_features.frequent_words(chats, 2) == ["b", "a"]


def test_lengths_are_characters_turns_and_an_answer():
    rows = length_features.length_features([chat("four"), chat("two", "more")])
    np.testing.assert_allclose(rows, [[np.log(5), 0, 0], [np.log(8), np.log(2), 1]])
    with pytest.raises(InputError, match="conversation 1 has no turns"):
        length_features.length_features([chat("a"), chat()])


def test_pairs_are_of_one_topic_and_far_enough_apart():
    chats = [
        chat("a", total=t, topic=c) for t, c in ((9, "x"), (15, "x"), (14, "x"), (30, "y"))
    ]
    np.testing.assert_array_equal(length_pairs.topic_pairs(chats), [[1, 0]])


def test_equally_long_pairs_differ_by_the_factor_at_most():
    chats = [chat("a" * 99), chat("a" * 109), chat("a" * 150)]
    pairs = np.array([[0, 1], [0, 2], [2, 1]])
    np.testing.assert_array_equal(length_pairs.equally_long(chats, pairs, 0.1), [[0, 1]])


def test_a_tie_counts_half_a_pair():
    pairs = np.array([[0, 1], [1, 2], [3, 0]])
    np.testing.assert_array_equal(
        length_pairs.ordered([1.0, 0.0, 0.0, 0.0], pairs), [1, 0.5, 0]
    )


def test_the_interval_is_over_conversations():
    """Many pairs of few conversations: resampling pairs would give a far narrower interval."""
    rng = np.random.default_rng(0)
    total, score = rng.normal(size=40), rng.normal(size=40)
    pairs = np.stack(np.nonzero(total[:, None] > total), 1)
    share, (low, high) = length_pairs.accuracy(score, pairs)
    of_pairs = 1.96 * (share * (1 - share) / len(pairs)) ** 0.5
    assert low < share < high
    assert (high - low) / 2 > 1.7 * of_pairs
    with pytest.raises(InputError, match="there are no pairs"):
        length_pairs.accuracy(score, pairs[:0])


def made(n=600, seed=0):
    """Conversations rated by length alone, in which words are drawn at random."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n):
        size = int(np.exp(rng.uniform(1, 5)))
        words = " ".join(rng.choice(["yes", "no", "so", "well"], size))
        total = int(np.clip(6 * np.log(size) + rng.normal(0, 4), 3, 30))
        found.append(chat(words, "ok", total=total))
    return found


def test_where_only_length_counts_length_tells_and_equal_lengths_do_not():
    train, held_out, _ = length_learning.split(made(), words=5)
    scores = length_learning.rewards(train, held_out)
    found = {name: length_learning.judged(s, held_out, draws=20) for name, s in scores.items()}
    assert found["length alone"]["all"][0] > 0.85
    assert found["words and length"]["all"][0] > 0.85
    assert abs(found["words, equal lengths"]["even"][0] - 0.5) < 0.15
    assert found["words and length"]["rank"] > 0.9


def has_ratings():
    try:
        return bool(ratings.load())
    except Exception:
        return False


needs_data = pytest.mark.skipif(not has_ratings(), reason="chitchat-dataset is not installed")


@needs_data
def test_the_recipe_judges_every_way_on_every_kind_and_records_it(tmp_path):
    path = tmp_path / "r.json"
    options = ["--splits", "1", "--words", "20", "--draws", "5", "--limit", "900"]
    found = length_bias.main([*options, "--record", str(path)])
    assert list(found["kinds"]) == list(length_bias.KINDS)
    assert len(found["kinds"]["all"][0]) == 6
    assert json.loads(path.read_text())["same two"]["couples"] == found["same two"]["couples"]


@needs_data
def test_of_the_same_two_people_the_longer_conversation_is_rated_higher():
    found = length_bias.same_two()
    assert found["share"] - 2 * found["error"] > 0.65
    assert found["couples"] > 250
