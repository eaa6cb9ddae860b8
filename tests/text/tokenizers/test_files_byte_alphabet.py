import json

import pytest

from mathlm.errors import InputError
from mathlm.text import from_printable, pretrained, to_printable
from mathlm.text.tokenizers.files import ALPHABET


def test_alphabet_is_the_first_256_tokens_of_gpt2():
    """GPT-2 numbers the bytes in the order of their characters."""
    ids = json.loads((pretrained.find("gpt2") / "encoder.json").read_text(encoding="utf-8"))
    assert sorted(ALPHABET) == sorted(ids, key=ids.__getitem__)[:256]


def test_every_byte_has_one_visible_character():
    assert len(set(ALPHABET)) == 256
    assert all(character.isprintable() and character != " " for character in ALPHABET)


def test_printing_ascii_keeps_it_and_marks_the_space():
    """The space is the 33rd byte without a visible character: U+0100 + 32 is Ġ."""
    assert to_printable(b"a b\n!") == "aĠbĊ!"


def test_reading_undoes_printing():
    data = bytes(range(256))
    assert from_printable(to_printable(data)) == data


def test_character_outside_the_alphabet_is_named_with_its_position():
    with pytest.raises(InputError, match=r"' ' at position 1 of 'a b'"):
        from_printable("a b")
