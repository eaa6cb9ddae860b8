import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text import Automaton, TokenTrie, tokens_to_match
from mathlm.text.patterns.automaton import DEAD, NEVER

PROPERTY = settings(deadline=None, derandomize=True, max_examples=20)
vocabularies = st.lists(
    st.lists(st.sampled_from(list("abé".encode())), max_size=4).map(bytes), min_size=1
).filter(any)
patterns = st.sampled_from(["(a|b)*abb", "a{2,5}", "(é|a)+b?", ".{1,3}", "ab|ba", "(aa)*"])


@PROPERTY
@example([b"ab", b"bb"], "(a|b)*abb")  # their last bytes are neighbors, and no one node
@given(vocabularies, patterns)
def test_every_token_leads_where_its_bytes_lead(tokens, pattern):
    automaton, trie = Automaton.from_pattern(pattern), TokenTrie(tokens)
    for state in range(len(automaton.table)):
        one_by_one = [automaton.run(t, state) if t else DEAD for t in tokens]
        assert trie.after(automaton, state).tolist() == one_by_one


@PROPERTY
@given(vocabularies, patterns)
def test_successors_are_the_states_behind_tokens(tokens, pattern):
    automaton, trie = Automaton.from_pattern(pattern), TokenTrie(tokens)
    states = np.arange(len(automaton.table))[::-1]
    found = trie.successors(automaton, states)
    for row, state in zip(found, states, strict=True):
        assert set(row.nonzero()[0]) == set(trie.after(automaton, int(state))) - {DEAD}


@PROPERTY
@given(vocabularies, patterns)
def test_the_fewest_tokens_to_a_match_are_those_of_its_definition(tokens, pattern):
    """n = 0 where a state accepts, else 1 + the least n behind a token."""
    automaton, trie = Automaton.from_pattern(pattern), TokenTrie(tokens)
    needed = tokens_to_match(automaton, trie)
    for state, n in enumerate(needed.tolist()):
        behind = trie.after(automaton, state)
        least = min((int(needed[s]) for s in behind if s != DEAD), default=NEVER)
        assert n == (0 if automaton.accepting[state] else min(least, NEVER - 1) + 1)


def test_the_vocabulary_decides_how_many_tokens_a_match_needs():
    """yes: one token with the word, two with y and es, three letters, none without s."""
    automaton = Automaton.from_pattern("yes")
    letters = [b"y", b"e", b"s"]
    for extra, n in ([b"yes"], 1), ([b"es"], 2), ([], 3):
        assert tokens_to_match(automaton, TokenTrie(letters + extra))[0] == n
    assert tokens_to_match(automaton, TokenTrie([b"y", b"e"]))[0] == NEVER


def test_a_vocabulary_is_a_list_of_bytes(unchecked):
    assert len(TokenTrie([b"a", b"", b"a"])) == 3
    with pytest.raises(InputError, match="2 tokens, none of them with a byte"):
        TokenTrie([b"", b""])
    with pytest.raises(InputError, match="0 tokens, none of them with a byte"):
        TokenTrie([])
    with pytest.raises(InputTypeError, match=r"tokens\[1\]='b' must be bytes, got str"):
        TokenTrie([b"a", "b"])
    with pytest.raises(InputTypeError, match=r"tokens must be a list .*, got bytes"):
        TokenTrie(b"ab")
