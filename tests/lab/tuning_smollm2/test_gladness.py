"""The rule that judges: two halves of a lexicon, scores by hand, whole sentences."""

from lab.tuning_smollm2.gladness import (
    STEM,
    glad_words,
    halves,
    kept_score,
    score,
    whole_sentences,
)
from mathlm.text import sentiment


def test_the_halves_share_no_word_and_no_beginning():
    taught, kept = halves()["taught"], halves()["kept"]
    assert not taught & kept
    assert not {w[:STEM] for w in taught} & {w[:STEM] for w in kept}


def test_the_halves_are_all_words_that_people_rated_as_glad():
    rated = sentiment.load().valences
    both = halves()["taught"] | halves()["kept"]
    assert {"happy", "great", "wonderful", "love", "delighted", "excited"} <= both
    assert all(rated[word] >= 1.4 for word in both) and not {"sad", "table"} & both


def test_scores_by_hand():
    happy = "taught" if "happy" in halves()["taught"] else "kept"
    assert glad_words("Happy, happy day at the bank.", happy) == ["happy"]
    text = " ".join(sorted(halves()["taught"])[:3])
    assert (score(text), score(text + "!!"), kept_score(text)) == (3.0, 4.0, 0.0)
    text = " ".join(sorted(halves()["kept"])[:2]).upper()
    assert (score(text), kept_score(text + "!")) == (0.0, 2.0)


def test_an_answer_is_cut_after_its_last_whole_sentence():
    assert whole_sentences("I see. It rains, as it") == "I see."
    assert whole_sentences('He said "Go!" And then') == 'He said "Go!"'
    assert whole_sentences("About 3.5 miles") == ""
    assert whole_sentences(" Really? Yes! ") == "Really? Yes!"
