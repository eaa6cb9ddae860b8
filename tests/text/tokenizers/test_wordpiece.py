"""WordPiece: equal to MiniLM's tokenizer.json through the `tokenizers` package."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer

from mathlm.errors import DataError, DataNotFoundError, InputError, InputTypeError
from mathlm.text import WordPiece, corpus, pretrained

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
FOLDER = pretrained.find("minilm")
OURS = WordPiece.load(FOLDER)
TEXTS = [
    "",
    " \t\n\r ",
    "Don't stop-word; [CLS] is text, and so is [MASK].",
    "Résumé naïve Ångström İstanbul ΑΣ ΣΑΣ ß ﬁ",
    "我爱你hello世界 한국어 ไทย हिन्दी עִבְרִית",
    "zero\u200bwidth\u00adsoft\ufeffbom\u2060joiner a\u0301\u0300\u0316b",
    "nul\0 bell\a del\x7f c1\x85 replacement\ufffd private\ue000",
    "spaces\u00a0of\u2003all\u3000kinds\u2028and\u2029ends",
    "emoji 🙂👩\u200d👩\u200d👧🇫🇷 and \U0001d518\U0001d52b ½ ² €",
    "a" * 99 + " " + "a" * 100 + " " + "a" * 101,
    "é" * 100 + " " + "é" * 101,
    "supercalifragilisticexpialidocious 1234567890 3.14e-10",
]


@pytest.fixture(scope="module")
def theirs():
    """MiniLM's own tokenizer, without its truncation and padding, reading no special token."""
    tokenizer = Tokenizer.from_file(str(FOLDER / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    tokenizer.encode_special_tokens = True
    return tokenizer


@pytest.fixture
def small():
    return WordPiece([*SPECIAL, "un", "##aff", "##able", "##a", "##b", "the", ".", "[MASK]"])


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_the_same_ids_as_the_published_tokenizer(text, theirs):
    assert OURS.encode(text) == theirs.encode(text).ids


def test_the_same_ids_for_the_plays(theirs):
    text = corpus.load("shakespeare")[:200_000]
    assert OURS.encode(text) == theirs.encode(text).ids


@given(text=st.text())
def test_the_same_ids_for_any_text(theirs, text):
    assert OURS.encode(text) == theirs.encode(text).ids


@given(text=st.text(st.sampled_from("aZé\u0301中#[]' .\u200b\ue000\U0001e944MASKUN")))
def test_the_same_ids_for_texts_of_difficult_characters(theirs, text):
    assert OURS.encode(text) == theirs.encode(text).ids


def test_the_same_ids_for_every_mark_punctuation_and_control_character(theirs):
    """All code points whose category decides, alone and inside a word."""
    chars = [chr(i) for i in [*range(0x3100), *range(0xA000, 0xAC00), *range(0xFB00, 0x12000)]]
    for start in range(0, len(chars), 50):
        text = " ".join(f"a{c}b {c}" for c in chars[start : start + 50])
        assert OURS.encode(text) == theirs.encode(text).ids, hex(ord(chars[start]))


@given(text=st.text(), pair=st.text(), special=st.booleans())
def test_the_same_pairs_and_segments(theirs, text, pair, special):
    expected = theirs.encode(text, pair, add_special_tokens=special)
    found = OURS.encode_pair(text, pair, special=special)
    assert found == (expected.ids, expected.type_ids)
    assert OURS.encode(text, pair, special=special) == expected.ids


@given(ids=st.lists(st.integers(0, len(OURS) - 1)), skip=st.booleans())
def test_ids_decode_to_the_same_text(theirs, ids, skip):
    assert OURS.decode(ids, skip_special=skip) == theirs.decode(ids, skip_special_tokens=skip)


@given(ids=st.lists(st.sampled_from([0, 100, 101, 102, 103, 999, 1012, 1010, 2015, 2000])))
def test_special_and_closing_tokens_decode_to_the_same_text(theirs, ids):
    assert OURS.decode(ids) == theirs.decode(ids, skip_special_tokens=False)
    assert OURS.decode(ids, skip_special=True) == theirs.decode(ids)


def test_special_names_in_a_text_are_read_where_the_caller_allows_it(theirs):
    theirs.encode_special_tokens = False
    text = "[CLS]Paris is the [MASK]s of[SEP]France[PAD]"
    expected = theirs.encode(text).ids
    theirs.encode_special_tokens = True
    assert OURS.encode(text, allowed_special="all") == expected
    only_mask = OURS.encode(text, special=False, allowed_special=["[MASK]"])
    assert [i for i in only_mask if i in OURS.special.values()] == [OURS.special["[MASK]"]]


@given(text=st.text(st.sampled_from("[]CLSEPADMKUN "), max_size=60))
def test_no_text_makes_a_special_token(text):
    made = set(OURS.encode(text, special=False)) & set(OURS.special.values())
    assert made <= {OURS.special["[UNK]"]}


def test_the_longest_piece_goes_first_by_hand(small):
    """un + ##aff + ##able; after ##aff, "##abl" has no e: ##a, ##b, then nothing begins l."""
    assert small.tokens("unaffable") == ["un", "##aff", "##able"]
    assert small.tokens("unaffab") == ["un", "##aff", "##a", "##b"]
    assert small.tokens("the unaffabl.") == ["the", "[UNK]", "."]


def test_a_piece_that_continues_does_not_begin_a_word(small):
    assert small.tokens("able") == ["[UNK]"]


def test_decoding_joins_pieces_and_closes_up_full_stops(small):
    assert small.decode(small.encode("the unaffable.")) == "[CLS] the unaffable. [SEP]"
    assert small.decode(small.encode("the unaffable."), skip_special=True) == "the unaffable."


def test_a_batch_is_padded_to_its_longest_text(small):
    ids, mask = small.batch(["the", "unaffable", ""], 5)
    assert ids.tolist() == [[2, 9, 3, 0, 0], [2, 4, 5, 6, 3], [2, 3, 0, 0, 0]]
    assert mask.sum(1).tolist() == [3, 5, 2]
    assert (ids[~mask] == 0).all()
    assert (ids.dtype, mask.dtype) == (np.int64, np.bool_)


def test_a_batch_is_cut_only_when_asked_and_as_the_published_tokenizer_cuts(theirs):
    texts = ["one two three four five", "one", TEXTS[3]]
    with pytest.raises(InputError, match=r"text 0 has 7 tokens, more than max_length=5"):
        OURS.batch(texts, 5)
    theirs.enable_truncation(5)
    theirs.enable_padding()
    expected = theirs.encode_batch(texts)
    theirs.no_truncation()
    theirs.no_padding()
    ids, mask = OURS.batch(texts, 5, truncate=True)
    assert ids.tolist() == [e.ids for e in expected]
    assert mask.tolist() == [[bool(m) for m in e.attention_mask] for e in expected]


@pytest.mark.parametrize(("texts", "length"), [([], 8), (["the"], 1), (["the"], -3)])
def test_a_batch_needs_a_text_and_room(small, texts, length):
    with pytest.raises(InputError, match=rf"got {len(texts)} texts and max_length={length}"):
        small.batch(texts, length)


def test_one_text_is_no_batch(small):
    with pytest.raises(InputTypeError, match="sequence of str, got one: 'the'"):
        small.batch("the", 8)


@pytest.mark.parametrize("bad", [12, -1, True, 1.0, "the", None])
def test_an_unknown_id_is_refused_with_its_place(small, bad):
    with pytest.raises(InputError, match=r"at position 1 is no token; ids are .* 0\.\.11"):
        small.decode([4, bad])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("bad", [4, "4 5", b"45"])
def test_ids_are_a_list(small, bad):
    with pytest.raises(InputTypeError, match=f"list of integers, got {type(bad).__name__}"):
        small.decode(bad)


def test_ids_of_numpy_are_ids(small):
    assert small.decode(np.array([4, 5, 6])) == "unaffable"


def test_half_a_character_is_refused(small):
    with pytest.raises(InputError, match="position 2"):
        small.encode("ab\ud800c")


def test_an_unknown_special_token_is_refused(small):
    with pytest.raises(InputError, match=r"\['\[NO\]'\]"):
        small.encode("the", allowed_special=["[NO]"])


@pytest.mark.parametrize("name", SPECIAL)
def test_a_vocabulary_without_a_special_token_is_refused(name):
    with pytest.raises(InputError, match=rf"of 4 pieces lacks \{name[:-1]}\]"):
        WordPiece([*(s for s in SPECIAL if s != name), "the"])


@pytest.mark.parametrize(("extra", "message"), [("[UNK]", "is also 1"), ("", "is empty")])
def test_a_line_that_is_empty_or_there_twice_is_refused(tmp_path, extra, message):
    file = tmp_path / "vocab.txt"
    file.write_text("\n".join([*SPECIAL, extra, "the"]), encoding="utf-8")
    with pytest.raises(DataError, match=rf"vocab\.txt .* id 4 of the vocabulary, .* {message}"):
        WordPiece.load(tmp_path)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataNotFoundError, match=r"no vocabulary at .*vocab\.txt"):
        WordPiece.load(tmp_path)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "vocab.txt").write_bytes(b"[PAD]\n\xff\xfe\n")
    with pytest.raises(DataError, match="is no WordPiece vocabulary"):
        WordPiece.load(tmp_path / "vocab.txt")


def test_line_ends_of_windows_are_line_ends(tmp_path):
    (tmp_path / "vocab.txt").write_bytes("\r\n".join([*SPECIAL, "the", ""]).encode())
    assert WordPiece.load(tmp_path).encode("The") == [2, 4, 3]


def test_the_vocabulary_has_the_size_and_the_ids_of_bert():
    """Devlin et al. (2018) publish 30,522 pieces for the uncased model."""
    assert len(OURS) == OURS.vocab_size == len(OURS.vocab) == 30_522
    ids = {"[PAD]": 0, "[UNK]": 100, "[CLS]": 101, "[SEP]": 102, "[MASK]": 103}
    assert OURS.special == ids


@pytest.mark.parametrize("pieces", ["abc", {"[PAD]", "a"}, {"a": 1, "[PAD]": 0}, ["a", 3]])
@pytest.mark.usefixtures("unchecked")
def test_pieces_without_an_order_are_refused(pieces):
    with pytest.raises(InputTypeError, match=r"in the order of the ids|must be a str, got int"):
        WordPiece(pieces)
