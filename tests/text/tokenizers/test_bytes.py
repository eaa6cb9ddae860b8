"""Bytes with special tokens: ids that no text ever has."""

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text import Bytes, ChatFormat, ChatTokenizer, Message
from mathlm.text.tokenizers.bytes import UNUSED

NAMED = ChatFormat.named()
TOKENIZER = Bytes(NAMED.special)


def test_the_unused_bytes_are_those_that_unicode_names():
    """The Unicode Standard, table 3-7: C0, C1 and F5..FF begin and continue no character."""
    every = range(0x110000)
    found = {b for c in every if not 0xD800 <= c < 0xE000 for b in chr(c).encode()}
    assert sorted(set(range(256)) - found) == list(UNUSED)
    assert len(UNUSED) == 13


@given(text=st.text() | st.sampled_from(NAMED.special))
def test_no_text_becomes_a_special_token_and_none_is_changed(text):
    ids = TOKENIZER.encode(text)
    assert ids == list(text.encode())
    assert not set(ids) & set(TOKENIZER.special.values())
    assert TOKENIZER.decode(ids) == text


def test_bytes_can_hold_a_conversation():
    assert isinstance(TOKENIZER, ChatTokenizer)
    turns = [Message("user", "hé"), Message("assistant", "ho")]
    chat = NAMED.encode(turns, TOKENIZER)
    bos, user, assistant, end = (
        TOKENIZER.special[name] for name in ("<|bos|>", "<|user|>", "<|assistant|>", "<|end|>")
    )
    assert chat.ids.tolist() == [bos, user, *"hé".encode(), end, assistant, *b"ho", end]
    assert TOKENIZER.decode(chat.ids.tolist()) == NAMED.render(turns)
    assert TOKENIZER.decode(chat.ids.tolist(), skip_special=True) == "hého"


def test_special_tokens_take_the_unused_bytes_in_their_order():
    assert Bytes(["x", "yy"]).special == {"x": 0xC0, "yy": 0xC1}
    assert list(Bytes([str(i) for i in range(13)]).special.values()) == list(UNUSED)


def test_bytes_without_special_tokens_are_what_they_were():
    assert Bytes().special == {}
    assert Bytes().sha256 == Bytes.sha256
    assert Bytes.sha256 == hashlib.sha256(b"mathlm bytes of UTF-8").hexdigest()
    assert Bytes().decode([0xC0, 104]) == "\ufffdh"


def test_other_special_tokens_are_another_tokenizer():
    hashes = {Bytes(names).sha256 for names in ([], ["a"], ["b"], ["a", "b"], ["b", "a"])}
    assert len(hashes) == 5


def test_a_stream_shows_names_or_leaves_them_out():
    ids = [*"é".encode(), TOKENIZER.special["<|end|>"], *b"a"]
    for skip, expected in ((False, "é<|end|>a"), (True, "éa")):
        stream = TOKENIZER.stream(skip_special=skip)
        assert "".join(stream.push(i) for i in ids) + stream.end() == expected


def test_the_bytes_of_a_token():
    assert TOKENIZER.token_bytes(104) == b"h"
    assert TOKENIZER.token_bytes(TOKENIZER.special["<|end|>"]) == b"<|end|>"


@pytest.mark.parametrize("token", [-1, 256])
def test_an_id_that_is_no_byte_is_refused(token):
    with pytest.raises(InputError, match=r"no byte, 0\.\.255"):
        TOKENIZER.decode([token])


def test_strict_decoding_refuses_what_is_not_utf8():
    with pytest.raises(InputError, match="ff at 1 of 2 are not UTF-8"):
        Bytes().decode([104, 0xFF], errors="strict")
    with pytest.raises(InputError, match="errors='no' must be one of"):
        Bytes().decode([104], errors="no")


@pytest.mark.usefixtures("unchecked")
def test_bad_names_are_refused():
    with pytest.raises(InputError, match="special has 14 names; 13 bytes never occur"):
        Bytes([str(i) for i in range(14)])
    with pytest.raises(InputError, match="at 0 and again at 1"):
        Bytes(["a", "a"])
    with pytest.raises(InputTypeError, match="must be a list of names"):
        Bytes("<|end|>")
