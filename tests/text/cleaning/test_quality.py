"""Measures of a text by hand, and which rule drops what."""

import pytest

from mathlm.errors import ConfigError, InputTypeError
from mathlm.text import (
    C4_RULES,
    GOPHER_RULES,
    QualityRule,
    broken_rules,
    corpus,
    filter_quality,
)
from mathlm.text.cleaning import quality

PROSE = (
    "The people of the town have walked to the river with all that they own, and nobody there "
    "can say whether it will rain before evening. Most of them would rather stay at home. "
    "Still, they go, because water must be carried up while paths are dry and light lasts long."
)


@pytest.mark.parametrize(
    ("measure", "text", "value"),
    [
        (quality.word_count, "one two", 2),
        (quality.mean_word_length, "a bbb", 2),
        (quality.symbols_per_word, "a # ... b…", 3 / 4),
        (quality.bullet_share, "- a\n\n• b\nc\n d", 1 / 2),
        (quality.ellipsis_share, "a...\nb…\nc", 2 / 3),
        (quality.alphabetic_share, "a 1 2b --", 1 / 2),
        (quality.stop_words, "The the OF bethe", 2),
        (quality.sentence_count, 'One. "Two!" 3.5 is no end? Yes', 3),
        (quality.curly_brackets, "{{}", 2),
        (quality.lorem_ipsum, "Lorem Ipsum dolor", 1),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_measures_by_hand(measure, text, value):
    assert measure(text) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize("rule", GOPHER_RULES + C4_RULES, ids=lambda rule: rule.name)
def test_every_measure_of_nothing_is_zero(rule):
    assert rule.measure("") == 0
    assert rule.measure(" \n ") == 0


def test_parts_that_stood_there_before():
    assert quality.repeated_share(["ab", "c", "ab", "ab"]) == 1 / 2
    assert quality.repeated_characters(["ab", "c", "ab", "ab"]) == 4 / 7


def test_runs_that_overlap_are_counted_once():
    """ "a a a b": the run (a a) covers three of the four words."""
    assert quality.top_gram_share("a a a b", 2) == 3 / 4
    assert quality.top_gram_share("a b c", 2) == 0


def test_repeated_runs_are_all_that_occur_twice():
    """ "ab c" and "d e" occur twice each: 2 (2 + 1 + 1 + 1) of 12 characters."""
    assert quality.repeated_gram_share("ab c x d e y ab c d e", 2) == 10 / 12
    assert quality.top_gram_share("ab c x d e y ab c d e", 2) == 6 / 12


def test_prose_breaks_no_rule():
    assert broken_rules(PROSE, GOPHER_RULES + C4_RULES) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (PROSE[:100], "number of words"),
        (PROSE.replace("town", "x" * 600), "mean word length"),
        (PROSE.replace(" ", " # ", 20), "symbols for each word"),
        (PROSE.replace(". ", "...\n").replace("long.", "long..."), "lines with an ellipsis"),
        ("- " + PROSE, "lines with a bullet"),
        (PROSE + " 12" * 30, "words with a letter"),
        (
            " ".join(w for w in PROSE.split() if w.lower() not in quality.STOP_WORDS)
            + " a" * 5,
            "stop words",
        ),
        (PROSE + "\nyes" * 5, "repeated lines"),
        ((PROSE + "\n") * 2, "characters in repeated lines"),
        (PROSE + "\n\nno" * 3, "repeated paragraphs"),
        (PROSE + " ever ever" * 20, "top 2-gram"),
        (PROSE + " " + PROSE[:130], "repeated 10-grams"),
    ],
    ids=lambda x: x if len(x) < 30 else "",
)
def test_each_rule_drops_what_it_is_about(text, name):
    assert name in broken_rules(text)


def test_rules_of_c4():
    assert broken_rules("One. Two. {", C4_RULES) == ["sentences", "curly brackets"]
    assert broken_rules("Lorem ipsum. Dolor. Sit.", C4_RULES) == ["lorem ipsum"]


def test_thresholds_are_those_of_table_a1():
    """Rae et al. (2021), table A1, from the top."""
    most = {rule.name: rule.most for rule in GOPHER_RULES}
    names = ["repeated lines", "repeated paragraphs"]
    names += [f"characters in {name}" for name in names]
    names += [f"top {n}-gram" for n in (2, 3, 4)] + [
        f"repeated {n}-grams" for n in range(5, 11)
    ]
    table = [0.3, 0.3, 0.2, 0.2, 0.2, 0.18, 0.16, 0.15, 0.14, 0.13, 0.12, 0.11, 0.1]
    assert [most[name] for name in names] == table


def test_the_limits_themselves_pass():
    rule = QualityRule(name="words", measure=quality.word_count, least=2, most=3)
    assert [rule.passes(text) for text in ("a", "a b", "a b c", "a b c d")] == [0, 1, 1, 0]
    with pytest.raises(ConfigError, match="least=2 is above most=1"):
        QualityRule(name="x", measure=len, least=2, most=1)


def test_documents_that_pass_and_counts_of_those_that_do_not():
    kept, counts = filter_quality([PROSE, "short", PROSE, "1 2 3"])
    assert kept == [0, 2]
    assert (counts["number of words"], counts["words with a letter"]) == (2, 1)


def test_rules_for_web_pages_drop_every_entry_of_a_dictionary():
    kept, counts = filter_quality(corpus.documents("glosses")[1000:1100])
    assert counts["number of words"] > 90
    assert len(kept) < 10


def test_only_texts_are_judged(unchecked):
    with pytest.raises(InputTypeError, match=r"write \[text\]"):
        filter_quality("abc")
    with pytest.raises(InputTypeError, match="got int"):
        broken_rules(7)
