"""What a step of writing reads, by hand."""

from dataclasses import replace

import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.models import BertConfig, GPTConfig
from mathlm.scaling import PUBLISHED, decode_bytes, decode_limit, kv_cache_bytes

TINY = GPTConfig(vocab_size=10, context=16, d_model=4, n_layers=1, n_heads=1, d_ff=8,
                 norm="rms", bias=False, position="none", tie_embeddings=True)  # fmt: skip


def test_one_step_by_hand():
    """Matrices 4·16 + 2·32 + 40 = 168, gains 12: 180 weights; a token is 2·4 numbers."""
    assert decode_bytes(TINY, 3) == 2 * 180 + 4 * 8 * 2
    assert decode_bytes(TINY, 3, 5) == 2 * 180 + 5 * 4 * 8 * 2
    assert decode_bytes(TINY, 3, weight_bytes=0.5, bytes_per_number=4) == 90 + 4 * 8 * 4


def test_the_limit_is_the_bandwidth_over_the_bytes_for_each_row():
    """Five rows a step; the bytes of the step are those of the case by hand above."""
    options = {"weight_bytes": 0.5, "bytes_per_number": 4}
    assert decode_limit(TINY, 1000.0, 3, 5, **options) == 5 * 1000 / (90 + 5 * 4 * 8 * 4)


def test_an_embedding_that_is_only_looked_up_is_not_read():
    assert decode_bytes(replace(TINY, tie_embeddings=False), 3) == decode_bytes(TINY, 3)
    assert decode_bytes(replace(TINY, position="learned"), 3) == decode_bytes(TINY, 3)


def test_a_window_ends_the_growth():
    sizes = [decode_bytes(replace(TINY, window=6), n) - 360 for n in (0, 4, 5, 6, 100)]
    assert sizes == [16, 80, 96, 96, 96]


def test_seventy_billion_weights_of_sixteen_bits_allow_24_tokens_a_second_on_an_h100():
    """3.35 TB/s over 2 bytes for each of 68.7 billion weights that are read: 24.4 a second."""
    config = PUBLISHED["llama2-70b"]
    assert decode_limit(config, 3.35e12, 0) == pytest.approx(24.4, abs=0.1)


def test_a_large_batch_is_limited_by_its_caches_alone():
    config = PUBLISHED["llama2-70b"]
    most = 1e12 / kv_cache_bytes(config, 1000)
    assert decode_limit(config, 1e12, 999, 10**9) == pytest.approx(most, rel=1e-4)


@pytest.mark.usefixtures("unchecked")
def test_numbers_out_of_range_are_refused():
    with pytest.raises(InputError, match="cached=-1 must be an integer of at least 0"):
        decode_bytes(TINY, -1)
    with pytest.raises(InputError, match="weight_bytes=0 must be a positive"):
        decode_bytes(TINY, 1, weight_bytes=0)
    with pytest.raises(InputError, match="bandwidth=nan must be a positive"):
        decode_limit(TINY, float("nan"), 1)
    with pytest.raises(InputTypeError, match="config is a BertConfig, expected a GPTConfig"):
        decode_bytes(BertConfig(), 1)
