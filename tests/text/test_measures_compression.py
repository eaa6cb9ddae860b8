import bz2
import lzma
import math

import numpy as np
import pytest

from mathlm.text import ByteBPE, Bytes, bits_per_byte, conditional_bits_per_byte, count_bytes


def test_a_uniform_guess_over_256_bytes_costs_8_bits():
    assert bits_per_byte(1000 * math.log(256), 1000) == pytest.approx(8, rel=1e-15)


def test_bits_do_not_depend_on_the_cut_into_tokens():
    """Two tokens of 2 bytes at p = 1/4, or four bytes at p = 1/2: one bit a byte either way."""
    by_token, by_byte = 2 * math.log(4), 4 * math.log(2)
    assert bits_per_byte(by_token, 4) == bits_per_byte(by_byte, 4) == 1.0


def test_identity_is_charged_eight_bits_a_byte():
    assert conditional_bits_per_byte(lambda text: text, b"abc", b"defg") == 8.0


def test_a_text_read_before_is_almost_free(rng):
    text = rng.bytes(1000)
    assert conditional_bits_per_byte(lzma.compress, b"", text) > 7.9
    assert conditional_bits_per_byte(lzma.compress, text, text) < 0.5


def test_bz2_has_no_memory_beyond_its_block(rng):
    text = rng.bytes(900_000)
    assert conditional_bits_per_byte(lambda t: bz2.compress(t, 9), text, text) > 7.9


@pytest.mark.parametrize(
    "call", [lambda: bits_per_byte(1.0, 0), lambda: conditional_bits_per_byte(bytes, b"", b"")]
)
def test_an_empty_text_is_an_error(call):
    with pytest.raises(ValueError, match="an empty text has no average"):
        call()


def test_the_token_between_documents_stands_for_no_byte():
    text = "4 and 5 make 9: é"
    bpe = ByteBPE.train([text], 270, special=["<|endoftext|>"])
    ids = np.array([*bpe.encode(text), bpe.special["<|endoftext|>"]])
    assert count_bytes(ids, bpe) == len(text.encode()) == 18
    assert count_bytes(np.array(Bytes().encode(text)), Bytes()) == 18
    marked = Bytes(["<|endoftext|>"])
    ids = np.array([*marked.encode(text), marked.special["<|endoftext|>"]])
    assert count_bytes(ids, marked) == 18
