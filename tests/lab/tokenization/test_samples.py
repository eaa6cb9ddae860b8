import unicodedata

import pytest

from lab.tokenization.samples import ARTICLE_1, standard_library
from mathlm.errors import DataNotFoundError, InputError


def scripts(text):
    """First words of the Unicode names of its letters: LATIN, CYRILLIC ..."""
    return {unicodedata.name(c).split()[0] for c in text if c.isalpha()}


@pytest.mark.parametrize(
    ("script", "languages"),
    [
        ("LATIN", ["English", "Spanish", "French", "German", "Finnish", "Turkish", "Swahili"]),
        ("CYRILLIC", ["Russian"]), ("GREEK", ["Greek"]), ("ARABIC", ["Arabic"]),
        ("DEVANAGARI", ["Hindi"]), ("CJK", ["Chinese"]), ("HANGUL", ["Korean"]),
        ("THAI", ["Thai"]),
    ],
)  # fmt: skip
def test_each_language_is_in_its_own_script(script, languages):
    """A letter of another script in the midst of a word would be a slip of the source."""
    for language in languages:
        assert scripts(ARTICLE_1[language]) == {script}


def test_japanese_mixes_its_scripts():
    assert scripts(ARTICLE_1["Japanese"]) == {"HIRAGANA", "CJK"}


@pytest.mark.parametrize("language", ARTICLE_1)
def test_the_texts_are_composed_and_clean(language):
    text = ARTICLE_1[language]
    assert unicodedata.is_normalized("NFC", text) or language == "Hindi"
    assert text == " ".join(text.split())


def test_the_source_of_a_module_is_python():
    source = standard_library("json.decoder")
    compile(source, "decoder.py", "exec")
    assert "class JSONDecoder" in source


def test_a_module_without_source_is_an_error():
    with pytest.raises(
        DataNotFoundError, match="'math' is not written in Python; take 'heapq'"
    ):
        standard_library("math")
    with pytest.raises(InputError, match="no module called 'no_such_module'"):
        standard_library("no_such_module")


@pytest.mark.parametrize("module", ["heapq.x", "..x", "no.such"])
def test_a_module_inside_no_package_is_refused(module):
    with pytest.raises(InputError, match="Python has no module called"):
        standard_library(module)
