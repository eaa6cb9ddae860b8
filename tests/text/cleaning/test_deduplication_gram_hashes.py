"""Hashes of words and of runs of words."""

import subprocess
import sys

import numpy as np
import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.text.cleaning.deduplication import gram_hashes, mix, word_hashes, words_of


def test_words_do_not_depend_on_capitals_and_punctuation(unchecked):
    assert words_of("Now, FAIR Hippolyta!") == ["now", "fair", "hippolyta"]
    with pytest.raises(InputTypeError, match="got int"):
        words_of(7)


def test_equal_runs_have_equal_hashes_and_others_have_not():
    words = word_hashes(["a", "b", "c", "a", "b", "d", "b", "a"])
    grams = gram_hashes(words, 2)
    assert grams[0] == grams[3]  # a b
    assert len(set(grams.tolist())) == 6  # ab bc ca bd db ba


def test_the_hash_of_a_run_is_made_word_by_word():
    u = word_hashes(["a", "b", "c"])
    assert gram_hashes(u, 3)[0] == mix(mix(mix(u[:1]) ^ u[1:2]) ^ u[2:])[0]


def test_there_is_a_hash_for_each_run():
    words = word_hashes(["a", "b", "c"])
    assert [len(gram_hashes(words, n)) for n in (1, 2, 3, 4)] == [3, 2, 1, 0]
    with pytest.raises(InputError, match="n=0"):
        gram_hashes(words, 0)


def test_the_mixing_function_is_that_of_splitmix64():
    """First output for seed 0, as published: mix of the golden gamma."""
    golden = np.array([0x9E3779B97F4A7C15], np.uint64)
    assert int(mix(golden)[0]) == 0xE220A8397B1DCDAF


def test_hashes_are_the_same_in_every_process():
    module = "mathlm.text.cleaning.deduplication"
    code = f"from {module} import word_hashes as h; print(h(['to', 'be']).tolist())"
    env = {"PYTHONHASHSEED": "7", "PYTHONPATH": ":".join(sys.path)}
    out = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True)
    assert out.stdout.decode().strip() == str(word_hashes(["to", "be"]).tolist())
