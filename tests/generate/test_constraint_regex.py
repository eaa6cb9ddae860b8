import pickle
import re
from itertools import product

import numpy as np
import pytest
import torch

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import Constraint, RegexConstraint, generate
from mathlm.models import GPT, GPTConfig
from mathlm.text import ByteBPE, Bytes, TokenTrie

TOKENS = [b"a", b"b", b"ab", b"ba", b"aab", b"", b"\xc3", b"\xa9", b"\xa9b"]  # é = c3 a9
PATTERNS = ["(a|b)*abb", "a{2,5}", "(é|a)+b?", "ab|ba", "(aa)*", "(ab)+", "é{1,2}"]
END = 5  # the token without bytes


def complete(pattern, row):
    """By definition: the bytes of the row are a text that re matches."""
    try:
        text = b"".join(TOKENS[t] for t in row).decode()
    except UnicodeDecodeError:
        return False
    return END not in row and bool(re.fullmatch(pattern, text))


def matching_rows(pattern, longest):
    every = (row for n in range(longest + 1) for row in product(range(len(TOKENS)), repeat=n))
    return [row for row in every if complete(pattern, row)]


def state_behind(constraint, row):
    state = constraint.start()
    for token in row:
        state = constraint.next(state, token)
    return state


def make(V=9):
    torch.manual_seed(1)
    sizes = {"vocab_size": V, "context": 40, "d_model": 16, "n_layers": 1, "n_heads": 2}
    return GPT(GPTConfig(**sizes))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("room", [1, 2, 3])
def test_a_token_may_follow_if_the_text_can_be_completed_in_the_room(pattern, room):
    """Against re on all sequences of up to three tokens."""
    constraint, rows = RegexConstraint(pattern, TOKENS, END), matching_rows(pattern, 3)
    for first in {row[: 3 - room] for row in rows}:
        n = len(first)
        may = {r[n] for r in rows if r[:n] == first and n < len(r) <= n + room}
        may |= {END} if complete(pattern, first) else set()
        if may:
            allowed = constraint.allowed(state_behind(constraint, first), room)
            assert set(allowed.nonzero().flatten().tolist()) == may


@pytest.mark.parametrize("pattern", PATTERNS)
def test_a_text_needs_as_many_tokens_as_its_shortest_completion(pattern):
    constraint, rows = RegexConstraint(pattern, TOKENS), matching_rows(pattern, 3)
    assert constraint.tokens_needed(constraint.start()) == min(map(len, rows))


@pytest.mark.parametrize("pattern", PATTERNS)
@pytest.mark.parametrize("end", [None, END])
def test_what_is_generated_matches_whatever_the_model_would_say(pattern, end):
    """A text is complete behind max_new_tokens too: it is completed in time."""
    constraint = RegexConstraint(pattern, TOKENS, end)
    for n in (3, 6):
        start = torch.zeros(8, 1, dtype=torch.int64)
        rows = generate(make(), start, n, 3.0, seed=n, constraint=constraint, pad=END)
        for row in rows[:, 1:].tolist():
            written = row[: row.index(END)] if END in row else row
            assert complete(pattern, written)


def test_a_token_may_hold_a_part_of_a_character():
    """é is c3 a9: behind its first byte only what begins with the second may follow."""
    constraint = RegexConstraint("éb?", TOKENS)
    half = constraint.next(constraint.start(), 6)
    assert constraint.allowed(half).nonzero().flatten().tolist() == [7, 8]


def test_a_way_into_a_dead_end_of_the_vocabulary_is_closed():
    """Of ab|cd only cd can be spelled with a, c and d: a leads nowhere, though ab begins so."""
    constraint = RegexConstraint("ab|cd", [b"a", b"c", b"d"])
    assert constraint.allowed(0).tolist() == [False, True, False]
    assert not constraint.may_contain([0])
    with pytest.raises(InputError, match=r"token 0 .* may not follow in state 0"):
        constraint.next(0, 0)


def test_a_match_is_finished_where_it_cannot_go_on():
    """By hand, with tokens a and b: ab may go on to abab in two tokens, not in one."""
    constraint = RegexConstraint("(ab)+", [b"a", b"b"])
    state = state_behind(constraint, (0, 1))
    assert [constraint.finished(state, room) for room in (None, 2, 1)] == [False, False, True]
    assert not constraint.finished(constraint.next(state, 0))
    assert RegexConstraint("", [b"a"]).finished(0)


def test_the_end_token_ends_a_text_that_matches_and_no_other():
    constraint = RegexConstraint("ab?", [b"a", b"b", b"!"], end=2)
    assert not constraint.allowed(0)[2]
    behind_a = constraint.next(0, 0)
    assert constraint.allowed(behind_a).tolist() == [False, True, True]
    assert not constraint.finished(behind_a)
    assert constraint.finished(constraint.next(behind_a, 2))


def test_the_end_token_is_not_text():
    constraint = RegexConstraint(".*", [b"a", b"!"], end=1)
    assert constraint.finished(constraint.next(0, 1))
    assert not constraint.may_contain([1, 0])


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [([0], True), ([1, 0], True), ([2], False), ([0, 0], False), ([3], True), ([3, 0], False)],
)
def test_what_may_occur_in_a_text(tokens, expected):
    """By hand: in a b a b … ! the pairs ab and ba occur, aa and c do not, ! is the last."""
    constraint = RegexConstraint("(ab)*", [b"a", b"b", b"c", b"!"], end=3)
    assert constraint.may_contain(tokens) == expected


def test_what_no_tokens_reach_does_not_occur():
    """x occurs in yx, but nothing spells y; in zx it would be reached in two steps."""
    assert not RegexConstraint("a|yx", [b"a", b"x"]).may_contain([1])
    assert RegexConstraint("a|zzx", [b"a", b"x", b"z"]).may_contain([1])


def test_special_tokens_are_no_text():
    tokenizer = ByteBPE.train(["aaaa abab"], 260, special=["<|end|>"])
    constraint = RegexConstraint("[<|>a-z]+", tokenizer)
    special = tokenizer.special["<|end|>"]
    allowed = constraint.allowed(0)
    assert not allowed[special]
    assert allowed[ord("<")]


def test_a_tree_of_tokens_serves_many_patterns():
    trie = TokenTrie(TOKENS)
    assert RegexConstraint("a+", trie, END).trie is trie
    assert RegexConstraint("b+", trie, end=0).trie.tokens[0] == b""
    assert len(RegexConstraint("a+", Bytes()).allowed(0)) == 256


def test_a_special_token_of_bytes_is_no_text():
    tokens = RegexConstraint("a+", Bytes(["<|end|>"])).trie.tokens
    assert tokens[0xC0] == b""
    assert tokens[0xC1] == b"\xc1"
    assert RegexConstraint("a+", Bytes()).trie.tokens[0xC0] == b"\xc0"


def test_it_is_a_constraint():
    assert isinstance(RegexConstraint("a", [b"a"]), Constraint)


@pytest.mark.parametrize(
    ("pattern", "end", "why"),
    [
        ("a(", None, "position 1: .* never closed"),
        ("[^\\s\\S]", None, "matches no text"),
        ("ax", None, "no tokens of this vocabulary of 9 spell a text that matches"),
        ("a", 9, "end=9 is outside the vocabulary of 9 tokens"),
        ("a", -1, "end=-1 is outside"),
    ],
)
def test_a_constraint_that_nothing_can_meet_is_refused(pattern, end, why):
    with pytest.raises(InputError, match=why):
        RegexConstraint(pattern, TOKENS, end)


def test_what_may_not_follow_is_refused():
    constraint = RegexConstraint("ab", TOKENS, END)
    ended = state_behind(constraint, (2, END))
    for state, token in ((0, 1), (0, END), (ended, 0)):
        with pytest.raises(InputError, match=f"token {token} .* may not follow"):
            constraint.next(state, token)
    with pytest.raises(InputError, match="token 9 is outside the vocabulary of 9"):
        constraint.next(0, 9)


def test_too_little_room_is_refused():
    constraint = RegexConstraint("a{7}", [b"a", b"aa"])
    with pytest.raises(InputError, match=r"room=3: .* needs 4 more tokens"):
        constraint.allowed(0, 3)
    with pytest.raises(InputError, match=r"max_new_tokens=3 .* 4 tokens"):
        generate(make(2), torch.zeros(1, 1).long(), 3, constraint=constraint)


def test_nothing_follows_a_finished_text():
    constraint = RegexConstraint("a", [b"a", b"!"], end=1)
    with pytest.raises(InputError, match="token 1 has ended this text: nothing may follow"):
        constraint.allowed(state_behind(constraint, (0, 1)))
    alone = RegexConstraint("a", [b"a"])
    with pytest.raises(InputError, match="is finished: no longer match"):
        alone.allowed(alone.next(0, 0))


@pytest.mark.parametrize("tokens", [[], [9], [0, -1]])
def test_a_question_about_no_tokens_is_refused(tokens):
    with pytest.raises(InputError, match="give one or more of"):
        RegexConstraint("a", TOKENS).may_contain(tokens)


def test_an_id_is_an_integer(unchecked):
    constraint = RegexConstraint("a", TOKENS)
    for value in ("!", True, 1.0):
        with pytest.raises(InputTypeError, match=f"end={value!r} must be the id of a token"):
            RegexConstraint("a", TOKENS, value)
        with pytest.raises(InputTypeError, match=f"token={value!r} must be the id"):
            constraint.next(0, value)
    assert constraint.next(0, torch.tensor(0)) == constraint.next(0, np.int64(0)) == 1


@pytest.mark.parametrize("tokens", [None, "ab", b"ab", {b"a"}, object()])
def test_tokens_are_a_list_or_a_tokenizer(tokens, unchecked):
    with pytest.raises(InputTypeError, match=f"tokens is a {type(tokens).__name__}: give a"):
        RegexConstraint("a", tokens)


@pytest.mark.parametrize("state", [2, -1, None, "0"])
def test_a_state_is_one_of_the_constraint(state, unchecked):
    constraint = RegexConstraint("a", TOKENS)
    for method in (constraint.allowed, constraint.finished, constraint.tokens_needed):
        with pytest.raises(InputError, match=f"state={state!r} is none of this constraint"):
            method(state)


def test_a_room_has_a_token():
    with pytest.raises(InputError, match="room=0 must be at least 1"):
        RegexConstraint("a*", TOKENS).allowed(0, 0)


def test_few_states_are_kept_and_all_are_right(monkeypatch):
    monkeypatch.setattr("mathlm.generate.constraint.STATES_KEPT", 2)
    constraint = RegexConstraint("a{9}", [b"a", b"aa"])
    masks = [constraint.allowed(state).tolist() for state in (0, 1, 2, 8, 0, 8, 3)]
    assert masks == [[True, True]] * 3 + [
        [True, False],
        [True, True],
        [True, False],
        [True, True],
    ]
    assert len(constraint._kept) == 2


def test_it_can_be_copied():
    constraint = RegexConstraint("a", TOKENS)
    copy = pickle.loads(pickle.dumps(constraint))
    assert torch.equal(copy.allowed(0), constraint.allowed(0))


def test_a_text_that_cannot_go_on_in_the_room_ends():
    """By hand: behind ab no longer match has room for one token."""
    constraint = RegexConstraint("(ab)+", [b"a", b"b"])
    written = generate(make(2), torch.zeros(1, 1).long(), 3, seed=0, constraint=constraint)
    assert written.tolist() == [[0, 0, 1]]
