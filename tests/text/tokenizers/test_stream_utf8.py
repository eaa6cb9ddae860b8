import pytest

from mathlm.errors import InputError
from mathlm.text.tokenizers.stream import LAST, SURROGATES, utf8_encode, utf8_length


def test_code_points_have_the_bytes_that_python_gives_them():
    """All of one to three bytes, every 17th of four bytes, and the last."""
    wrong = [
        u
        for u in (*range(0x10000), *range(0x10000, LAST, 17), LAST)
        if u not in SURROGATES and utf8_encode(u) != chr(u).encode("utf-8")
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("code_point", "expected"),
    [(0x24, "24"), (0xA3, "c2a3"), (0x20AC, "e282ac"), (0x10348, "f0908d88")],
)
def test_the_worked_examples_of_wikipedia(code_point, expected):
    """https://en.wikipedia.org/wiki/UTF-8: dollar, pound, euro, hwair."""
    assert utf8_encode(code_point).hex() == expected


@pytest.mark.parametrize(("n", "bits"), [(1, 7), (2, 11), (3, 16), (4, 21)])
def test_n_bytes_hold_the_bits_that_their_patterns_leave(n, bits):
    """Free bits: 7, then 7 - n in the first byte and six in each of the n - 1 others."""
    last = min(2**bits - 1, LAST)
    assert utf8_length(last) == n
    assert last == LAST or utf8_length(last + 1) == n + 1


@pytest.mark.parametrize("code_point", [-1, LAST + 1, 0xD800, 0xDFFF])
def test_what_is_no_character_is_refused(code_point):
    with pytest.raises(InputError, match=f"code point {code_point:#x} is outside"):
        utf8_encode(code_point)
