"""Pairs as ids: what is asked of them, what is left out, and that it is counted."""

from dataclasses import replace

import numpy as np
import pytest
from align.toy_chats import END, NAMED, TOKENIZER, chat
from align.toy_chats import encoded as chats
from align.toy_pairs import PAIRS, UNPAIRED, encoded, pair, unpaired

from mathlm.align import encode_pairs
from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import ByteBPE, ChatFormat, Message, Preference, Unpaired

ROOM = 10


def asked(one):
    return one.ids[one.mask].tolist()


def test_the_answer_and_the_end_of_its_turn_are_asked_and_nothing_before():
    """Also where the prompt holds an earlier answer."""
    found = encoded()
    for given, good, bad in zip(PAIRS, found.chosen, found.rejected, strict=True):
        assert asked(good) == [*TOKENIZER.encode(given.chosen), END]
        assert asked(bad) == [*TOKENIZER.encode(given.rejected), END]
        prompt = NAMED.encode(given.prompt, TOKENIZER, answer=True).ids.tolist()
        for side in (good, bad):
            assert side.ids[: len(prompt)].tolist() == prompt


def test_a_side_is_the_chat_that_encode_chats_makes():
    """The same tokens and, where the prompt has no answer, the same mask."""
    [whole] = chats([chat("ab", "cd")]).chats
    one = encoded([pair("ab", "cd", "e")]).chosen[0]
    assert np.array_equal(one.ids, whole.ids)
    assert np.array_equal(one.mask, whole.mask)


def test_lengths_and_tokens_are_counted():
    found = encoded([pair("ab", "cd", "e"), pair("a", "bcd", "efg")])
    assert found.lengths.tolist() == [[3, 4], [2, 4]]
    assert found.tokens == (9 + 8) + (9 + 9)
    assert len(found) == 2


def test_what_cannot_be_learned_from_is_left_out_counted_and_logged_once(caplog):
    """bos user … end assistant: the markers of a prompt are 4 tokens."""
    pairs = [
        pair("abcdef", "a", "b"),
        pair("abcdefgh", "a", ""),
        pair("a", " \n", "b"),
        pair("a", "b", ""),
        pair("a", "bcdefg", "b"),
        pair("a", "b", "b"),
        pair("a", "b", " b"),
        pair("a", "b", "c"),
    ]
    with caplog.at_level("INFO", logger="mathlm"):
        found = encoded(pairs, ROOM)
    assert found.dropped == {
        "prompt fills the context": 2,
        "empty answer": 2,
        "longer than the context": 1,
        "equal answers": 2,
    }
    assert found.index == [7]
    assert [record.getMessage() for record in caplog.records] == [
        "left out 7 of 8 pairs (2 prompt fills the context, 2 empty answer, 1 longer than the "
        "context, 2 equal answers); the context is 10 tokens"
    ]


@pytest.mark.parametrize("answers", [("bcdefg", ""), ("", "bcdefg")])
def test_a_pair_with_two_reasons_counts_once_and_under_the_first(answers):
    found = encoded([pair("a", *answers), pair("a", "b", "c")], ROOM)
    assert {k: n for k, n in found.dropped.items() if n} == {"empty answer": 1}


def test_answers_of_both_sides_that_are_cut_otherwise_alone_are_counted():
    """Where a line break after the header is one token with one that begins an answer."""
    form = ChatFormat.chatml()
    bpe = ByteBPE.train(["assistant\n\nx", "user\n\nx"] * 4, 300, special=form.special)
    header = bpe.encode("assistant\n")
    answers = ["x", "\nx", "\ny"]
    merged = [bpe.encode(f"assistant\n{y}") != header + bpe.encode(y) for y in answers]
    assert merged == [False, True, True]
    pairs = [pair("a", "x", "\nx"), pair("a", "\nx", "\ny")]
    assert encode_pairs(pairs, form, bpe, 99).mismatches == 3


def test_a_side_as_long_as_the_context_is_whole_and_one_longer_drops_the_pair():
    found = encoded([pair("ab", "abc", "c"), pair("ab", "c", "abcd")], ROOM)
    assert [len(side) for side in found.chosen] == [ROOM]
    assert found.dropped["longer than the context"] == 1


def test_nothing_is_logged_where_nothing_is_left_out(caplog):
    with caplog.at_level("DEBUG", logger="mathlm"):
        assert sum(encoded().dropped.values()) == 0
    assert caplog.records == []


def test_if_nothing_is_left_the_numbers_say_why():
    with pytest.raises(
        DataError,
        match=r"none of 2 pairs can be learned from \(1 prompt fills the context, 1 equal "
        r"answers\); the context is 10 tokens",
    ):
        encoded([pair("abcdefgh", "a", "b"), pair("a", "b", "b")], ROOM)
    with pytest.raises(DataError, match="there are no pairs to encode"):
        encoded([])


def test_the_hash_is_of_both_sides_in_their_order():
    turned = [Preference(prompt=p.prompt, chosen=p.rejected, rejected=p.chosen) for p in PAIRS]
    assert encoded().sha256 == encoded(list(PAIRS)).sha256
    assert len({encoded(x).sha256 for x in (PAIRS, turned, PAIRS[:3])}) == 3


def test_a_prompt_that_cannot_be_written_is_named():
    broken = Preference(prompt=(Message("assistant", "a"),), chosen="b", rejected="c")
    with pytest.raises(InputError, match="pair 1: message 0 has role 'assistant' at the beg"):
        encoded([PAIRS[0], broken])
    other = Preference(prompt=tuple(chat("a", "b")), chosen="b", rejected="c")
    with pytest.raises(InputError, match="pair 0: the last message is of 'assistant'"):
        encoded([other])


@pytest.mark.usefixtures("unchecked")
def test_things_that_are_no_pairs_are_refused():
    with pytest.raises(InputTypeError, match="a list of Preference, got one Pref"):
        encoded(PAIRS[0])
    with pytest.raises(InputTypeError, match="item 1 is a dict, expected a Preference"):
        encoded([PAIRS[0], {"chosen": "a"}])


def test_a_context_without_room_is_refused():
    with pytest.raises(InputError, match="context=1 must be at least 2"):
        encode_pairs(PAIRS, NAMED, TOKENIZER, 1)


def test_unpaired_answers_are_the_sides_of_their_pairs():
    found, sides = unpaired(), encoded()
    both = [side for row in zip(sides.chosen, sides.rejected, strict=True) for side in row]
    assert [one.ids.tolist() for one in found.chats] == [one.ids.tolist() for one in both]
    assert found.labels == [answer.label for answer in UNPAIRED]
    assert len(found) == len(UNPAIRED)


def test_unpaired_answers_are_left_out_and_counted_too():
    given = [Unpaired(prompt=p.prompt, completion=p.chosen, label=True) for p in PAIRS[:2]]
    given.append(Unpaired(prompt=tuple(chat("abcdefgh")), completion="a", label=False))
    given.append(Unpaired(prompt=tuple(chat("a")), completion="", label=False))
    found = unpaired(given, ROOM)
    assert found.index == [0, 1]
    assert found.dropped == {
        "prompt fills the context": 1,
        "empty answer": 1,
        "longer than the context": 0,
    }


def test_a_mismatched_text_is_a_prompt_with_the_next_answer_that_fits():
    """The second answer would be too long behind the first prompt, the third is not."""
    given = [
        Unpaired(prompt=tuple(chat("abcd")), completion="a", label=True),
        Unpaired(prompt=tuple(chat("a")), completion="bcd", label=True),
        Unpaired(prompt=tuple(chat("b")), completion="h", label=False),
    ]
    found = unpaired(given, ROOM)
    assert [asked(one) for one in found.mismatched] == [
        [*TOKENIZER.encode(answer), END] for answer in ("h", "h", "a")
    ]
    first = NAMED.encode(chat("abcd"), TOKENIZER, answer=True).ids.tolist()
    assert found.mismatched[0].ids[: len(first)].tolist() == first


def test_where_no_other_answer_fits_there_is_no_mismatched_text():
    given = [
        Unpaired(prompt=tuple(chat("abcd")), completion="a", label=True),
        Unpaired(prompt=tuple(chat("a")), completion="bcd", label=True),
    ]
    assert unpaired(given, ROOM).mismatched[0] is None


def answered(*rows):
    """Answers, each with its prompt, found good."""
    return [Unpaired(prompt=tuple(chat(p)), completion=y, label=True) for p, y in rows]


def test_a_mismatched_text_never_answers_its_own_prompt():
    """Each prompt was judged twice, as a pair that is written as two lines is."""
    found = unpaired(answered(*zip("aabbcc", "defgha", strict=True)))
    assert [asked(one) for one in found.mismatched] == [
        [*TOKENIZER.encode(answer), END] for answer in "ffhhdd"
    ]


def test_a_mismatched_text_is_no_answer_that_its_prompt_was_given_too():
    """The prompts a and b were both answered by d: behind each fits only what c got."""
    found = unpaired(answered(("a", "d"), ("b", "d"), ("c", "e"), ("a", "f")))
    assert [asked(one) for one in found.mismatched] == [
        [*TOKENIZER.encode(answer), END] for answer in "eefe"
    ]


def test_one_prompt_borrows_the_answers_of_other_conversations():
    """As where all that is held out answers one prompt."""
    one, others = unpaired(answered(("a", "d"), ("a", "e"))), unpaired(answered(("b", "f")))
    assert one.mismatched == [None, None]
    lent = replace(one, others=others.chats).mismatched
    assert [asked(text) for text in lent] == [[*TOKENIZER.encode("f"), END]] * 2


def test_equal_answers_to_all_prompts_leave_no_mismatched_text():
    assert not any(unpaired(answered(*zip("abcd", "eeee", strict=True))).mismatched)


def test_another_label_is_another_hash():
    turned = [Unpaired(prompt=a.prompt, completion=a.completion, label=True) for a in UNPAIRED]
    assert unpaired().sha256 != unpaired(turned).sha256
