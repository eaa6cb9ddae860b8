import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate.stopping import Rows, require_constraint, stop_sequences

V = 5


class Counting:
    """0, 1, 2 ... up to a last number, which may be left out from ``optional`` on."""

    def __init__(self, last=3, optional=None):
        self.last, self.optional = last, last if optional is None else optional

    def start(self):
        return 0

    def allowed(self, state, room=None):
        return torch.arange(V) == state

    def next(self, state, token):
        assert token == state
        return state + 1

    def finished(self, state, room=None):
        return state > self.last

    def tokens_needed(self, state):
        return max(self.optional + 1 - state, 0)

    def may_contain(self, tokens):
        return [*tokens] == [*range(tokens[0], tokens[0] + len(tokens))]


def ends(written, stops, room=99):
    """Tokens of one row until it ends, and why."""
    rows = Rows(1, room, stop_sequences(stops, V, None))
    for n, token in enumerate(written, 1):
        rows.push(torch.tensor([token]))
        if rows.finish[0]:
            return n, rows.finish[0]
    return None


@pytest.mark.parametrize(
    ("written", "stops", "found"),
    [
        ([1, 2, 3], [3], (3, "stop")),
        ([1, 2, 3, 4], [[2, 3]], (3, "stop")),
        ([2, 2, 3], [[2, 3]], (3, "stop")),  # begins again inside a beginning
        ([1, 2, 1, 2, 3], [[1, 2, 3], [2, 2]], (5, "stop")),
        ([1, 2, 3], [[1, 2, 3], 2], (2, "stop")),  # the first that is complete
        ([3], [[2, 3]], None),  # the prompt is not looked at
        ([1, 2, 1, 2], [[2, 2], [4]], None),
        ([0, 0], [[0, 0, 0]], None),
    ],
)
def test_a_row_ends_with_its_first_stop_sequence(written, stops, found):
    assert ends(written, stops) == found


def test_a_row_ends_at_its_length_and_a_stop_in_the_last_token_counts_as_stop():
    assert ends([1, 2, 3], [4], room=3) == (3, "length")
    assert ends([1, 2, 4], [4], room=3) == (3, "stop")


def test_rows_end_one_by_one_and_stay_ended():
    rows = Rows(3, 3, stop_sequences([[1, 2]], V, None))
    rows.push(torch.tensor([1, 1, 0]))
    rows.push(torch.tensor([2, 1, 0]))
    assert rows.finish == ("stop", None, None)
    rows.push(torch.tensor([2, 2, 0]))
    assert rows.finish == ("stop", "stop", "length")


def test_a_constraint_says_what_may_follow_in_each_row():
    rows = Rows(2, 9, (), Counting(last=1))
    assert rows.allowed(V).int().argmax(1).tolist() == [0, 0]
    rows.push(torch.tensor([0, 0]))
    assert rows.allowed(V).sum(1).tolist() == [1, 1]
    rows.push(torch.tensor([1, 1]))
    assert rows.finish == ("stop", "stop")
    assert rows.allowed(V).all()  # nothing is drawn there any more


@pytest.mark.parametrize("stops", [None, [], ()])
def test_no_stops_are_none(stops):
    assert stop_sequences(stops, V, None) == ()


def test_stops_may_be_ids_lists_tuples_arrays_and_tensors(unchecked):
    given = [1, [2, 3], (0,), torch.tensor([1, 1]), np.array([4, 4]), np.int64(2)]
    expected = ((1,), (2, 3), (0,), (1, 1), (4, 4), (2,))
    assert stop_sequences(given, V, None) == expected


@pytest.mark.parametrize(
    ("stop", "error", "message"),
    [
        (3, InputTypeError, "stop=3 is one int: give a list"),
        ("ab", InputTypeError, "stop='ab' is one str: give a list"),
        (["ab"], InputTypeError, r"stop\[0\]='ab' is text"),
        ([1.5], InputTypeError, r"stop\[0\]=1\.5 is neither a token id nor"),
        ([[1, "a"]], InputTypeError, r"stop\[0\]=\[1, 'a'\] is neither"),
        ([1, []], InputError, r"stop\[1\] is empty"),
        ([[0, 5]], InputError, r"stop\[0\] has token 5, outside 0\.\.4"),
        ([-1], InputError, r"stop\[0\] has token -1, outside"),
    ],
)
def test_stops_that_make_no_sense_are_refused(unchecked, stop, error, message):
    with pytest.raises(error, match=message):
        stop_sequences(stop, V, None)


def test_a_stop_that_the_constraint_rules_out_is_refused():
    assert stop_sequences([[1, 2]], V, Counting()) == ((1, 2),)
    with pytest.raises(InputError, match=r"stop\[0\] = \[2, 1\] occurs in no text"):
        stop_sequences([[2, 1]], V, Counting())


def test_fewer_tokens_than_the_constraint_needs_are_refused():
    require_constraint(Counting(last=3), 4)
    require_constraint(Counting(last=3, optional=0), 1)
    with pytest.raises(InputError, match="max_new_tokens=3 is too few"):
        require_constraint(Counting(last=3), 3)


def test_what_is_no_constraint_is_refused(unchecked):
    with pytest.raises(InputTypeError, match="constraint is a str: give a RegexConstraint"):
        require_constraint("a+", 3)


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (torch.ones(4, dtype=torch.bool), r"shape \(4,\), the model has 5 tokens"),
        (torch.ones(5), r"torch\.float32 of shape \(5,\)"),
        (torch.zeros(5, dtype=torch.bool), "no token at all to follow in row 0"),
    ],
)
def test_masks_that_no_token_can_follow_are_refused(unchecked, monkeypatch, mask, message):
    constraint = Counting()
    monkeypatch.setattr(constraint, "allowed", lambda state, room=None: mask)
    with pytest.raises(InputError, match=message):
        Rows(1, 9, (), constraint).allowed(V)
