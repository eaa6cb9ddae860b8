import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import InputError
from mathlm.text import DecodeStream


def bytes_of(ids):
    """Ids are bytes here."""
    return bytes(ids)


@given(st.lists(st.binary(max_size=6)))
def test_pieces_together_are_the_text_of_all_bytes(parts):
    """Whatever the split, and U+FFFD exactly where ``bytes.decode`` writes it."""
    stream = DecodeStream(lambda ids: parts[ids[0]])
    text = "".join(stream.push(i) for i in range(len(parts))) + stream.end()
    assert text == b"".join(parts).decode(errors="replace")


def test_incomplete_character_waits_until_it_is_whole():
    """é is C3 A9."""
    stream = DecodeStream(bytes_of)
    assert [stream.push(0x61), stream.push(0xC3), stream.push(0xA9)] == ["a", "", "é"]


def test_what_never_becomes_a_character_is_shown_at_the_end():
    stream = DecodeStream(bytes_of)
    assert stream.push(0xC3) + stream.end() == "\ufffd"


def test_ended_stream_is_as_new():
    stream = DecodeStream(bytes_of)
    stream.push(0xC3)
    stream.end()
    assert stream.push(0x61) + stream.end() == "a"


def test_strict_stream_refuses_bytes_that_are_no_text():
    stream = DecodeStream(bytes_of, errors="strict")
    stream.push(0xC3)
    with pytest.raises(InputError, match="not UTF-8"):
        stream.end()


def test_other_words_for_errors_are_refused():
    with pytest.raises(InputError, match="'quiet' must be one of replace, strict, ignore"):
        DecodeStream(bytes_of, errors="quiet")


@pytest.mark.parametrize("token", [0x61, None])
def test_strict_stream_is_as_new_after_an_error(token):
    """The bad byte is dropped, whether a byte or the end shows that it is bad."""
    stream = DecodeStream(bytes_of, errors="strict")
    stream.push(0xC3)
    with pytest.raises(InputError, match="not UTF-8"):
        stream.end() if token is None else stream.push(token)
    assert stream.push(0x62) + stream.end() == "b"
