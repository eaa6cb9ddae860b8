import pytest

from mathlm.errors import InputError, InputTypeError
from mathlm.text import Automaton, parse_pattern
from mathlm.text.patterns.automaton import DEAD


def test_a_text_book_automaton_has_four_states():
    """(a|b)*abb: how much of abb the text ends with, 0 to 3 letters (Aho et al., 3.9)."""
    automaton = Automaton.from_pattern("(a|b)*abb")
    assert automaton.table[:, list(b"ab")].tolist() == [[1, 0], [1, 2], [1, 3], [1, 0]]
    assert automaton.accepting.tolist() == [False, False, False, True]
    assert (automaton.table[:, ord("c")] == DEAD).all()


def test_the_letter_before_the_last_two_needs_eight_states():
    """Of (a|b)*a(a|b){2} the last three letters must be remembered: 2³ states."""
    assert len(Automaton.from_pattern("(a|b)*a(a|b){2}").table) == 8


def test_no_state_is_a_dead_end():
    automaton = Automaton.from_pattern(r"-?(0|[1-9]\d*)(\.\d+)?|é{2,4}x|[^a]☃")
    alive = automaton.accepting.copy()
    for _ in range(len(alive)):
        alive |= (alive[automaton.table] & (automaton.table >= 0)).any(1)
    assert alive.all()


def test_a_run_goes_on_from_any_state_and_stays_dead():
    automaton = Automaton.from_pattern("abc")
    assert automaton.run(b"ab") == automaton.run(b"b", automaton.run(b"a"))
    assert automaton.run(b"x") == automaton.run(b"xabc") == DEAD
    assert automaton.run(b"") == 0


def test_half_a_character_is_on_the_way():
    automaton = Automaton.from_pattern("é")
    half = automaton.run("é".encode()[:1])
    assert half > 0
    assert not automaton.accepting[half]


def test_an_expression_makes_the_automaton_of_its_pattern():
    by_hand = Automaton.from_expression(parse_pattern("a+"))
    assert by_hand.table.tolist() == Automaton.from_pattern("a+").table.tolist()


def test_a_pattern_without_any_text_is_refused():
    with pytest.raises(InputError, match="matches no text, not even the empty one"):
        Automaton.from_pattern(r"a[^\s\S]")
    with pytest.raises(InputError, match="has no string"):
        Automaton.from_expression(parse_pattern(r"[^\s\S]"))


def test_too_many_states_are_refused(monkeypatch):
    monkeypatch.setattr("mathlm.text.patterns.automaton.MAX_STATES", 100)
    assert len(Automaton.from_pattern("a{99}").table) == 100
    with pytest.raises(InputError, match="needs more than 100 states: repeat less"):
        Automaton.from_pattern("a{100}")


def test_a_run_refuses_what_it_cannot_read(unchecked):
    automaton = Automaton.from_pattern("a")
    with pytest.raises(InputTypeError, match=r"data must be bytes, got str: write text.encode"):
        automaton.run("a")
    with pytest.raises(InputError, match="state=2 is none of the 2 states"):
        automaton.run(b"a", 2)


def test_half_a_character_is_no_text():
    with pytest.raises(InputError, match="position 1 of the text holds"):
        Automaton.from_pattern("a.*").matches("a\ud83d")
