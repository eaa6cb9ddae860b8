import math
from collections import Counter

import numpy as np
import pytest

from mathlm.errors import InputError
from mathlm.text import block_counts, block_entropy, letters
from mathlm.text.measures import ALPHABET


def test_letters_keep_words_apart_and_nothing_else():
    ids = letters("To be,\nor NOT -- to be? Äh")
    assert "".join(ALPHABET[i] for i in ids) == "to be or not to be h"


@pytest.mark.parametrize("n", [1, 2, 5])
def test_counts_are_those_of_a_dictionary(n, rng):
    data = bytes(rng.integers(97, 101, size=500, dtype=np.uint8))
    expected = Counter(data[i : i + n] for i in range(len(data) - n + 1))
    assert block_counts(data, n).tolist() == [expected[b] for b in sorted(expected)]


def test_entropy_of_blocks_by_hand():
    """aab: blocks aa, ab once each; letters a twice, b once."""
    assert block_entropy(b"aab", 2) == pytest.approx(math.log(2))
    assert block_entropy(b"aab", 1) == pytest.approx(math.log(3) - 2 / 3 * math.log(2))
    assert block_entropy(b"aaaa", 2) == 0


def test_no_estimate_exceeds_the_logarithm_of_the_number_of_blocks(rng):
    """1000 random bytes hold 994 blocks of 7, nearly all different: log 994, not 7 log 256."""
    data = bytes(rng.integers(256, size=1000, dtype=np.uint8))
    assert block_entropy(data, 7) == pytest.approx(math.log(994))


def test_correction_removes_most_of_the_bias(rng):
    """True entropy of fair choices among 16 is log 16; 200 texts of 400 bytes."""
    texts = [bytes(rng.integers(16, size=400, dtype=np.uint8)) for _ in range(200)]
    plain = np.mean([block_entropy(t, 1) for t in texts]) - math.log(16)
    mended = np.mean([block_entropy(t, 1, corrected=True) for t in texts]) - math.log(16)
    assert plain == pytest.approx(-15 / 800, rel=0.1)
    assert abs(mended) < 0.1 * abs(plain)


def test_blocks_of_a_small_vocabulary_may_be_longer(rng):
    """Five bits a symbol: 12 of 27 symbols fit into 63 bits, where 7 bytes do."""
    ids = rng.integers(27, size=300)
    assert len(block_counts(ids, 12, vocab_size=27)) == 289
    with pytest.raises(InputError, match="n=8 must be between 1 and 7"):
        block_counts(bytes(ids.astype(np.uint8)), 8)


@pytest.mark.parametrize(("data", "n"), [(b"abc", 0), (b"ab", 3), (b"", 1)])
def test_blocks_that_do_not_exist_are_refused(data, n):
    with pytest.raises(InputError, match=f"n={n} must be .* the {len(data)} tokens"):
        block_entropy(data, n)


def test_ids_outside_the_vocabulary_are_refused():
    with pytest.raises(InputError, match=r"token id 27 at 1 is outside 0\.\.26"):
        block_entropy(np.array([0, 27]), 1, vocab_size=27)
