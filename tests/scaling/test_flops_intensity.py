"""Operations for each byte, by hand."""

import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.models import BertConfig, GPTConfig
from mathlm.scaling import PUBLISHED, arithmetic_intensity

TINY = GPTConfig(vocab_size=10, context=16, d_model=4, n_layers=1, n_heads=1, d_ff=8,
                 norm="rms", bias=False, position="none", tie_embeddings=True)  # fmt: skip


def test_one_token_by_hand():
    """Matrices 4·16 + 2·32 + 40 = 168, gains 12: 2·168 + 4·(3 + 1)·4 = 400 operations.

    They move 2·(168 + 12) = 360 bytes of weights, 2·4·4·2 = 64 of keys and values of 4 tokens.
    """
    assert arithmetic_intensity(TINY, 1, cached=3) == pytest.approx(400 / (360 + 64))


def test_an_embedding_that_is_only_looked_up_moves_nothing():
    untied = GPTConfig(**vars(TINY) | {"tie_embeddings": False})
    learned = GPTConfig(**vars(TINY) | {"position": "learned"})
    assert arithmetic_intensity(untied, 3) == arithmetic_intensity(TINY, 3)
    assert arithmetic_intensity(learned, 3) == arithmetic_intensity(TINY, 3)


def test_writing_one_token_does_one_operation_for_each_byte():
    """2 operations for each weight of 2 bytes, and about as many for the cache."""
    found = arithmetic_intensity(PUBLISHED["llama-7b"], 1, cached=2047)
    assert found == pytest.approx(1.0, abs=0.02)


def test_reading_a_prompt_does_as_many_operations_for_each_byte_as_it_has_tokens():
    found = arithmetic_intensity(PUBLISHED["llama-7b"], 2048)
    assert found == pytest.approx(2048, rel=0.1)


def test_a_batch_shares_the_weights_but_not_the_cache():
    """With more rows the intensity approaches that of the cache: 1 without grouped heads."""
    config = PUBLISHED["llama-7b"]
    one, many, most = (
        arithmetic_intensity(config, 1, batch, cached=2047) for batch in (1, 8, 10**6)
    )
    assert one < many < most
    matrices = 32 * (4 * 4096**2 + 3 * 4096 * 11_008) + 4096 * 32_000
    cache = 2 * 32 * 4096 * 2048
    assert most == pytest.approx(2 * (matrices + cache) / (2 * cache), rel=1e-3)


def test_half_the_bytes_double_the_intensity():
    half = arithmetic_intensity(TINY, 5, 3, bytes_per_number=1)
    assert half == 2 * arithmetic_intensity(TINY, 5, 3)


@pytest.mark.usefixtures("unchecked")
def test_numbers_out_of_range_are_refused():
    with pytest.raises(InputError, match="bytes_per_number=0 must be"):
        arithmetic_intensity(TINY, 1, bytes_per_number=0)
    with pytest.raises(InputError, match="tokens=0 must be"):
        arithmetic_intensity(TINY, 0)
    with pytest.raises(InputTypeError, match="config is a BertConfig, expected a GPTConfig"):
        arithmetic_intensity(BertConfig(), 1)
