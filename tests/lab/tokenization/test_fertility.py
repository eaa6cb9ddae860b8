import pytest

from lab.tokenization.fertility import Fertility, token_fertility, token_premium
from lab.tokenization.samples import ARTICLE_1
from mathlm.errors import InputError, InputTypeError
from mathlm.text import ByteBPE

BYTES = ByteBPE.train(["a"], 256)


class Characters:
    """A tokenizer whose tokens are code points."""

    def encode(self, text):
        return [ord(c) for c in text]


def test_bytes_of_a_text_with_umlauts():
    """By hand: "ein Öl" has 7 bytes, 6 characters and 2 words; "ja" has 2, 2 and 1."""
    found = token_fertility(BYTES, ["ein Öl", "ja"])
    assert found == Fertility(tokens=9, words=3, characters=8, bytes=9)
    assert (found.per_word, found.per_character, found.per_byte) == (3, 9 / 8, 1)


def test_any_tokenizer_will_do():
    assert token_fertility(Characters(), ["ein Öl"]).per_character == 1


def test_without_merges_the_premium_is_a_ratio_of_bytes():
    """UTF-8 writes a Latin letter in one byte, a Greek one in two, a Thai one in three."""
    texts = {"English": "love", "Greek": "αγάπ", "Thai": "รกรก"}
    assert token_premium(BYTES, texts) == {"English": 1, "Greek": 2, "Thai": 3}
    assert token_premium(BYTES, texts, base="Greek")["Thai"] == 1.5


def test_a_tokenizer_learned_on_english_taxes_the_others():
    english = [ARTICLE_1["English"]] * 2
    premium = token_premium(ByteBPE.train(english, 400), ARTICLE_1)
    assert all(ratio > 1 for name, ratio in premium.items() if name != "English")
    assert premium["English"] == 1


@pytest.mark.parametrize("texts", [[], [""], ["  ", "\n"]])
def test_texts_without_words_are_an_error(texts):
    with pytest.raises(InputError, match=f"the {len(texts)} texts hold no word"):
        token_fertility(BYTES, texts)


def test_one_text_is_not_a_list_of_texts():
    with pytest.raises(InputTypeError, match=r"texts is one str, expected several; write \[te"):
        token_fertility(BYTES, "one text")


def test_the_base_language_must_be_there():
    with pytest.raises(InputError, match=r"no text in 'English'; it has \['German'\]"):
        token_premium(BYTES, {"German": "ja"})


def test_a_base_text_without_tokens_is_refused():
    with pytest.raises(InputError, match="'English' has no token"):
        token_premium(BYTES, {"English": ""})
