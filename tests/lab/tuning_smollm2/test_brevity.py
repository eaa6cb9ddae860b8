"""The rule that judges, by hand."""

from lab.tuning_smollm2.brevity import brevity, first, sentences, whole


def test_sentences_end_where_a_reader_would_end_them():
    text = 'He said "Go now!" About 3.5 miles, then. And'
    assert sentences(text) == ['He said "Go now!"', "About 3.5 miles, then."]
    assert sentences("no end") == []


def test_a_text_is_cut_after_its_last_whole_sentence():
    assert whole("I see. It rains, as it") == "I see."
    assert whole("About 3.5 miles") == ""
    assert whole(" Really? Yes! ") == "Really? Yes!"


def test_the_first_sentence_is_one_that_answers():
    assert first("Rain is made of water. It falls.") == "Rain is made of water."
    assert first("Yes. It is so.") == "" == first("without an end")


def test_the_shorter_answer_is_the_better_one():
    assert brevity("One two three.") == -3 > brevity("One two three four.")
