import time
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.text.tokenizers import bpe
from mathlm.text.tokenizers.bpe import WordCache, apply_merges, ids_of, merge_pair

PAIRS = st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), unique=True, max_size=12)


@given(PAIRS, st.lists(st.integers(0, 1), max_size=30))
def test_heap_gives_what_merging_rank_after_rank_gives(pairs, word):
    """The definition: for each merge in turn, every occurrence from the left."""
    rules, slow = {}, tuple(word)
    for pair in pairs:
        if max(pair) < 2 + len(rules):
            rules[pair] = (len(rules), 2 + len(rules))
            slow = merge_pair(slow, pair, rules[pair][1])
    assert apply_merges(word, rules) == list(slow)


def test_equal_tokens_merge_from_the_left():
    assert apply_merges([0, 0, 0], {(0, 0): (0, 1)}) == [1, 0]


def test_earlier_merge_goes_first_wherever_it_is():
    """abc with bc before ab: a stays alone."""
    assert apply_merges([0, 1, 2], {(1, 2): (0, 3), (0, 1): (1, 4)}) == [0, 3]


def test_two_products_that_became_neighbors_merge():
    """abcd: ab, then cd, then both."""
    rules = {(0, 1): (0, 4), (2, 3): (1, 5), (4, 5): (2, 6)}
    assert apply_merges([0, 1, 2, 3], rules) == [6]


def test_pair_that_changed_waits_for_its_new_rank():
    """abcd: bc makes x, ab is gone; xd comes before ax."""
    rules = {(1, 2): (0, 4), (0, 1): (1, 5), (4, 3): (2, 6), (0, 4): (3, 7)}
    assert apply_merges([0, 1, 2, 3], rules) == [0, 6]


@pytest.mark.parametrize("word", [[], [0]])
def test_word_without_a_pair_stays_as_it_is(word):
    assert apply_merges(word, {(0, 0): (0, 1)}) == word


def seconds(word, rules):
    start = time.process_time()
    apply_merges(word, rules)
    return time.process_time() - start


def test_cost_of_a_long_word_is_almost_linear():
    """Sixteen times the length: 16 times the time and not 256; the best of three each."""
    rules = {(0, 1): (0, 2), (2, 2): (1, 3), (3, 3): (2, 4)}
    short = min(seconds([0, 1] * 2_000, rules) for _ in range(3))
    long = min(seconds([0, 1] * 32_000, rules) for _ in range(3))
    assert long < 64 * short


def test_cache_computes_a_word_once():
    seen = []
    words = WordCache(lambda word: seen.append(word) or [len(word)])
    assert list(ids_of("to be to be", "gpt2", words)) == [2, 3, 3, 3]
    assert seen == ["to", " be", " to"]


def test_cache_holds_no_more_than_it_may(monkeypatch):
    monkeypatch.setattr(bpe, "KEPT_WORDS", 3)
    words = WordCache(lambda word: [0])
    assert max(len(words) for _ in map(words.__getitem__, "abcdefgh")) <= 3


def test_cache_does_not_keep_long_words():
    words = WordCache(lambda word: [0])
    assert words["a" * 65] == (0,)
    assert not words


def test_memory_stays_below_ten_times_a_text_whose_words_all_differ(monkeypatch):
    monkeypatch.setattr(bpe, "KEPT_WORDS", 1_000)
    text = " ".join(f"{i * 2654435761 % 2**32:08x}" for i in range(40_000))
    tracemalloc.start()
    ids = list(ids_of(text, "gpt2", WordCache(lambda word: [0])))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(ids) > 40_000
    assert peak < 10 * len(text)
