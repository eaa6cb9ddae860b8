import subprocess
import sys

import numpy as np
import pytest

from mathlm.errors import DataNotFoundError, InputError, InputTypeError
from mathlm.text import Characters, Words, numerals

TEENS = """
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen
    fifteen sixteen seventeen eighteen nineteen
"""
SMALL = """
    zéro un deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze quinze
    seize
"""
TENS = {2: "vingt", 3: "trente", 4: "quarante", 5: "cinquante", 6: "soixante"}
VALUES = {word: n for n, word in enumerate(TEENS.split())} | {
    "twenty": 20,
    "thirty": 30,
    "forty": 40,
    "fifty": 50,
    "sixty": 60,
    "seventy": 70,
    "eighty": 80,
    "ninety": 90,
}


def french_tens(n):
    """0 ... 99 by the rules of school grammar."""
    small = SMALL.split()
    if n < 17:
        return small[n]
    if n < 20:
        return "dix-" + small[n - 10]
    if n in (71, 80):
        return {71: "soixante et onze", 80: "quatre-vingts"}[n]
    if n >= 70:
        before, rest = ("soixante", n - 60) if n < 80 else ("quatre-vingt", n - 80)
        return f"{before}-{french_tens(rest)}"
    ten, one = divmod(n, 10)
    return TENS[ten] + ("" if not one else " et un" if one == 1 else "-" + small[one])


def french_hundreds(n, plural=True):
    """0 ... 999; cent and quatre-vingt take an s only where nothing follows."""
    h, rest = divmod(n, 100)
    head = [] if h < 2 else [french_tens(h)]
    head += [] if not h else ["cents" if h > 1 and not rest and plural else "cent"]
    tail = [french_tens(rest)] if rest or not h else []
    words = " ".join(head + tail)
    return words if plural else words.removesuffix("s") if rest == 80 else words


def french(n):
    k, rest = divmod(n, 1000)
    head = [] if k < 2 else [french_hundreds(k, plural=False)]
    head += ["mille"] if k else []
    return " ".join(head + ([french_hundreds(rest)] if rest or not k else []))


def english_value(text):
    """The number that English words say, read from left to right."""
    total = part = 0
    for word in text.replace("-", " ").split():
        if word == "thousand":
            total, part = total + 1000 * part, 0
        elif word == "hundred":
            part *= 100
        elif word != "and":
            part += VALUES[word]
    return total + part


def sample(rng):
    return [*range(1000), *rng.integers(1000, 1_000_000, 500).tolist()]


def test_french_follows_the_rules_of_grammar(rng):
    numbers = sample(rng)
    assert [fr for _, fr in numerals.pairs(numbers)] == [french(n) for n in numbers]


def test_english_says_the_number(rng):
    numbers = sample(rng)
    assert [english_value(en) for en, _ in numerals.pairs(numbers)] == numbers


def test_no_two_numbers_are_said_alike(rng):
    for side in zip(*numerals.pairs(sample(rng)), strict=True):
        assert len({tuple(Words.split(text)) for text in side}) == len(set(side))


def test_there_are_no_commas_and_any_two_languages_go():
    """The examples of num2words' own documentation say "one thousand, two hundred"."""
    (pair,) = numerals.pairs([1234], source="digits", target="en")
    assert pair == ("1 2 3 4", "one thousand two hundred and thirty-four")


def test_a_numpy_integer_is_a_number():
    assert numerals.pairs(np.array([80])) == [("eighty", "quatre-vingts")]


@pytest.mark.parametrize(
    ("number", "language", "error", "message"),
    [
        (-1, "en", InputError, "number -1 is outside 0..999999999999"),
        (10**12, "fr", InputError, "number 1000000000000 is outside"),
        (1.0, "en", InputTypeError, "number 1.0 must be an integer"),
        (True, "en", InputTypeError, "number True must be an integer"),
        (1, "de", InputError, "language 'de' is not one of digits, en, fr"),
    ],
)
def test_what_cannot_be_spelled_is_refused(number, language, error, message, unchecked):
    numerals.spell(1, "en")  # True equals 1, and must not be found where 1 is remembered
    with pytest.raises(error, match=message):
        numerals.spell(number, language)
    with pytest.raises(error, match=message):
        numerals.pairs([number], source=language)


def test_a_missing_package_is_an_error_that_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "num2words", None)
    with pytest.raises(DataNotFoundError, match=r"pip install --no-deps num2words==0\.5\.14"):
        numerals.pairs([987_654])


def test_the_package_is_imported_when_a_number_is_spelled_and_not_before():
    code = "import sys; from mathlm.text import numerals; print('num2words' in sys.modules);"
    code += "numerals.pairs([1]); print('num2words' in sys.modules, 'docopt' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout.split() == [b"False", b"True", b"False"]


def test_a_split_holds_every_number_once():
    train, test = numerals.split(3, 50, 1050, 200)
    assert (len(train), len(test)) == (800, 200)
    assert np.array_equal(np.sort(np.concatenate((train, test))), np.arange(50, 1050))


def test_a_split_is_a_function_of_its_seed_and_spread_evenly():
    """With probability 1 - 10⁻⁹, between 26 and 200 of 1000 lie in each tenth of the range."""
    first, again, other = (numerals.split(seed, 0, 10_000, 1000)[1] for seed in (0, 0, 1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert (np.bincount(first // 1000, minlength=10) > 26).all()


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ((0, 0, 100, 0), InputError, "held_out=0 of 100 numbers"),
        ((0, 0, 100, 100), InputError, "held_out=100 of 100 numbers"),
        ((0, 5, 5, 1), InputError, "low=5, high=5"),
        ((0, -1, 5, 1), InputError, "low=-1, high=5"),
        ((-1, 0, 5, 1), InputError, "seed=-1"),
        ((0, 0, 100, 0.1), InputTypeError, "held_out=0.1 must be an integer"),
        ((True, 0, 100, 1), InputTypeError, "seed=True must be an integer"),
    ],
)
def test_splits_that_make_no_sense_are_refused(arguments, error, message, unchecked):
    with pytest.raises(error, match=message):
        numerals.split(*arguments)


def vocabularies(kind, numbers):
    return [kind.build(side) for side in zip(*numerals.pairs(numbers), strict=True)]


@pytest.mark.parametrize("kind", [Words, Characters])
def test_a_batch_says_its_texts_again(kind):
    pairs, (en, fr) = numerals.pairs(range(60, 130)), vocabularies(kind, range(60, 130))
    source, target = numerals.batch(pairs, en, fr)
    plain = (lambda text: text.replace("-", " ")) if kind is Words else str
    assert [en.decode(row) for row in source] == [plain(text) for text, _ in pairs]
    assert [fr.decode(row) for row in target] == [plain(text) for _, text in pairs]


def test_a_row_is_padded_behind_and_the_target_has_both_marks():
    """Words in order: forty one two; deux et quarante un; then one row for 41 and one for 2."""
    en, fr = vocabularies(Words, [41, 2])
    source, target = numerals.batch(numerals.pairs([41, 2]), en, fr)
    assert source.tolist() == [[3, 4], [5, 0]]
    assert target.tolist() == [[1, 5, 4, 6, 2], [1, 3, 2, 0, 0]]
    assert source.dtype == target.dtype == np.int64


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([], "no pair"),
        ([("two", "deux"), ("", "un")], "source text of pair 1 is empty"),
        ([("three", "deux")], "symbol 0 of 'three' is 'three', not one of the 1"),
    ],
)
def test_batches_that_make_no_sense_are_refused(pairs, message):
    with pytest.raises(InputError, match=message):
        numerals.batch(pairs, *vocabularies(Words, [2]))


def linked(number):
    """French words with the English words that they are linked to."""
    (en, fr), table = (
        (Words.split(t) for t in numerals.pairs([number])[0]),
        numerals.links(number),
    )
    return [(f, *np.array(en)[row]) for f, row in zip(fr, table, strict=True)]


def test_links_of_numbers_that_show_each_rule():
    """By hand, from the meaning of the words."""
    assert linked(2342) == [
        ("deux", "two"),
        ("mille", "thousand"),
        ("trois", "three"),
        ("cent", "hundred"),
        ("quarante", "forty"),
        ("deux", "two"),
    ]
    assert linked(1171) == [
        ("mille", "one", "thousand"),
        ("cent", "one", "hundred"),
        ("soixante", "seventy", "one"),
        ("et", "seventy", "one"),
        ("onze", "seventy", "one"),
    ]
    assert linked(83) == [("quatre", "eighty"), ("vingt", "eighty"), ("trois", "three")]
    assert linked(93) == [(word, "ninety", "three") for word in ("quatre", "vingt", "treize")]
    assert linked(17) == [("dix", "seventeen"), ("sept", "seventeen")]
    assert linked(21) == [("vingt", "twenty"), ("et", "twenty", "one"), ("un", "one")]
    assert linked(0) == [("zéro", "zero")]
    assert linked(40_100)[0] == ("quarante", "forty")


def test_every_word_is_linked_but_and(rng):
    for n in sample(rng)[::4]:
        english, table = Words.split(numerals.spell(n, "en")), numerals.links(n)
        assert table.shape == (len(Words.split(numerals.spell(n, "fr"))), len(english))
        assert table.any(1).all()
        assert [w for w, used in zip(english, table.any(0), strict=True) if not used] in (
            [[], ["and"]] if n < 101_000 else [[], ["and"], ["and", "and"]]
        )


def test_links_of_larger_numbers_are_refused():
    with pytest.raises(InputError, match=r"number 1000000 is outside 0\.\.999999"):
        numerals.links(1_000_000)
