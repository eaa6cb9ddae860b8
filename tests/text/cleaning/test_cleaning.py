"""Each rule does its one thing, counts it, and leaves clean text alone."""

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputTypeError
from mathlm.text import clean, common_lines, corpus, prose_lines
from mathlm.text.cleaning import cleaning

# ruff: noqa: RUF001  (the characters that go wrong are meant)


def only(**counts):
    """Counts of all rules, those not named 0."""
    return {"common_lines": 0} | dict.fromkeys(cleaning.CLEANING_RULES, 0) | counts


def test_a_page_becomes_its_text():
    first, second = "<p>It\u00e2\u20ac\u2122s&nbsp;late.</p>", "<p>cafe\u0301\u200b</p>"
    page = f"<html>{first}\r\n\r\n\r\n{second}\nAccept all cookies\n"
    text, counts = clean(page)
    assert text == "It’s late.\n\ncafé\n"
    assert counts["mojibake"] == counts["unicode"] == counts["boilerplate"] == 1
    assert counts["markup"] == 6  # five tags and an entity


def test_a_clean_text_stays_as_it_is():
    play = corpus.documents("shakespeare")[0][:20_000].rstrip()
    assert clean(play) == (play, only())


@pytest.mark.parametrize("char", "é’—€ßŸÏ中ऄ😀\u0080\u00a0")
def test_mojibake_of_any_length_is_read_again(char):
    """UTF-8 through Windows-1252, as browsers do it: its five free bytes stay as they are."""
    wrong = "".join(
        bytes([b]).decode("cp1252", "ignore") or chr(b) for b in f"{char}x{char}".encode()
    )
    assert cleaning.repair_mojibake(wrong) == (f"{char}x{char}", 2)


@pytest.mark.parametrize("text", ["María", "Ár", "“so”", "ā\u0301Ý"])
def test_mojibake_of_bytes_without_a_sign_is_read_before_they_are_dropped(text):
    """0x81, 0x8D, 0x8F, 0x90 and 0x9D are no sign in Windows-1252, 0xAD is the soft hyphen."""
    wrong = "".join(bytes([b]).decode("cp1252", "ignore") or chr(b) for b in text.encode())
    assert clean(wrong).text == unicodedata.normalize("NFC", text)


@pytest.mark.parametrize("text", ["NÃO", "Âge", "naïve café", "Ærø", "Ã", "à©", "Àa"])
def test_accented_words_are_no_mojibake(text):
    assert cleaning.repair_mojibake(text) == (text, 0)


def test_bytes_that_are_no_utf8_stay():
    """E0 80 80 is an overlong form: no character has it."""
    wrong = bytes([0xE0]).decode("cp1252") + "\u20ac\u20ac"
    assert cleaning.repair_mojibake(wrong) == (wrong, 0)


def test_control_characters_go_and_line_ends_become_one_kind():
    text = "a\x00b\x07\ufeff\u00ad\ud800c\r\nd\re\u2028f\tg"
    assert cleaning.drop_control(text) == ("abc\nd\ne\nf\tg", 5)


def test_joiners_that_scripts_need_stay():
    text = "می\u200cخواهم 👩\u200d🚀"
    assert cleaning.drop_control(text) == (text, 0)


def test_every_control_character_and_surrogate_is_dropped():
    codes = [c for c in range(0x110000) if unicodedata.category(chr(c)) in ("Cc", "Cs")]
    text, _ = cleaning.drop_control("".join(map(chr, codes)))
    assert set(text) == {"\n", "\t"}


def test_what_only_looks_like_markup_stays():
    text = "if a < b and c > d: <eos> <s> &c. x&y; AT&T <3"
    assert cleaning.strip_markup(text) == (text, 0)


def test_scripts_and_comments_go_with_what_they_hold():
    text = 'a<script type="x">if (a < b) { }</script>b<!-- c\nd -->e<br/>f&lt;p&gt;'
    assert cleaning.strip_markup(text) == ("abef<p>", 5)


def test_entities_of_what_cannot_be_seen_become_nothing():
    assert cleaning.strip_markup("a&shy;b&#7;c&unknown;") == ("abc&unknown;", 2)


def test_spaces_become_one_kind_and_indentation_stays():
    text = "\n\n  verse\u00a0 here  \n\n\n\nend\t\n\n"
    assert cleaning.tidy_space(text) == ("  verse here\n\nend\n", 11)


def test_boilerplate_lines_are_short():
    notice = "We use cookies to improve your experience."
    prose = f"The notice says: {notice} I asked what that might mean and nobody knew."
    assert cleaning.drop_boilerplate(f"{notice}\n{prose}") == (prose, 1)
    assert cleaning.drop_boilerplate("share : use jointly\nI subscribe to that.")[1] == 0


def test_lines_of_many_documents_are_found_and_dropped():
    pages = [f"Home | About\nText {i}\n" for i in range(3)]
    assert common_lines(pages, 3) == {"Home | About"}
    assert common_lines(["a\na\na"], 2) == set()  # three times in one document
    assert clean(pages[1], lines=common_lines(pages, 3)) == ("Text 1\n", only(common_lines=1))


def test_prose_lines_end_like_a_sentence():
    text = "One two three four five.\nOne two.\nNo end here at all\n“He said it is so.”"
    kept = "One two three four five.\n“He said it is so.”"
    assert prose_lines(text) == (kept, 2)
    assert prose_lines(text, least=2)[1] == 1


@settings(max_examples=80, deadline=None)
@given(
    st.text(alphabet="a ÃÂé©\u0301\u0300\u00ad\u0081\t\n\r\u00a0\u200b\x00<>;&.中", max_size=40)
)
def test_cleaning_a_second_time_changes_nothing(text):
    once = text
    for name in ("control", "mojibake", "unicode", "boilerplate", "space"):
        once = cleaning.CLEANING_RULES[name](once)[0]
    for name in ("control", "unicode", "boilerplate", "space"):
        assert cleaning.CLEANING_RULES[name](once) == (once, 0)


def test_only_text_is_cleaned(unchecked):
    with pytest.raises(InputTypeError, match="got bytes"):
        clean(b"abc")
