import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from lab.tokenization.sentence_pieces import to_pieces, to_text

LOG_P = {"▁": -4.0, "▁the": -2.0, "▁to": -2.5, "t": -4.0, "h": -4.1, "e": -3.9, "o": -4.2}
LOG_P |= {"he": -3.5, "r": -4.4, "th": -3.6}


@pytest.fixture(scope="module")
def theirs():
    """The tokenizers package with the same pieces, a piece for each byte, and its decoder."""
    bytes_of_last_resort = [(f"<0x{byte:02X}>", -30.0) for byte in range(256)]
    pieces = [("<unk>", 0.0), *LOG_P.items(), *bytes_of_last_resort]
    tokenizer = Tokenizer(models.Unigram(pieces, unk_id=0, byte_fallback=True))
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="always")
    spaces, strip = decoders.Replace("▁", " "), decoders.Strip(" ", 1, 0)
    tokenizer.decoder = decoders.Sequence(
        [spaces, decoders.ByteFallback(), decoders.Fuse(), strip]
    )
    return tokenizer


@pytest.mark.parametrize(
    "text", ["the other", "to  the", "the Öthe 🙂 to", "日本the", "tother\nthe", "the "]
)
def test_pieces_and_text_are_those_of_the_tokenizers_package(theirs, text):
    encoded = theirs.encode(text)
    assert to_pieces(text, LOG_P) == encoded.tokens
    assert to_text(encoded.tokens) == theirs.decode(encoded.ids) == text


@given(st.text(st.sampled_from("the rÖ🙂日<0xA>\n")))
def test_every_text_comes_back(text):
    """A typed <0x0A> too: its characters are not pieces of bytes."""
    assert to_text(to_pieces(text, LOG_P)) == text


def test_a_character_is_cut_into_bytes_only_if_no_piece_holds_it():
    pieces = to_pieces("tö", {"▁": -1.0, "t": -9.0, "▁t": -20.0})
    assert pieces == ["▁", "t", "<0xC3>", "<0xB6>"]
