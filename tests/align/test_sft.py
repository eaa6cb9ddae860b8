"""Conversations as ids: what is learned, what is left out, and that it is counted."""

import pytest
from align.toy_chats import BOS, CHATS, END, NAMED, TOKENIZER, chat, encoded
from hypothesis import given
from hypothesis import strategies as st

from mathlm.align import encode_chats
from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.text import ByteBPE, ChatFormat, Message

CONTENTS = st.lists(st.text("abcd ", max_size=9), min_size=2, max_size=6)


@pytest.fixture(scope="module")
def bpe():
    """Merges across the end of a header: "assistant\\n" and a line break are one token."""
    texts = ["assistant\n\nx", "user\n\nx", "ababab cdcd"] * 4
    return ByteBPE.train(texts, 300, special=ChatFormat.chatml().special)


def learned(one):
    return one.ids[one.mask].tolist()


def test_every_answer_and_the_end_of_each_of_its_turns_is_learned():
    for turns, one in zip(CHATS, encoded().chats, strict=True):
        said = [turn.content for turn in turns if turn.role == "assistant"]
        assert learned(one) == [i for text in said for i in (*TOKENIZER.encode(text), END)]


def test_a_chat_is_what_its_format_makes_of_it():
    found = encoded()
    assert found.index == list(range(len(CHATS)))
    for turns, one in zip(CHATS, found.chats, strict=True):
        assert one.ids.tolist() == NAMED.encode(turns, TOKENIZER).ids.tolist()


def test_tokens_and_targets_are_counted():
    """bos user a b end assistant c d end: 9 tokens, of which c, d and end are learned."""
    found = encoded([chat("ab", "cd"), chat("a", "b")])
    assert (len(found), found.tokens, found.targets) == (2, 9 + 7, 3 + 2)


def test_what_cannot_be_learned_from_is_left_out_counted_and_logged_once(caplog):
    rest = [
        chat("a", ""),
        chat("abcdefgh", "a"),
        chat("a", "b", "c", " \n\t"),
        chat("a", "\xa0"),
    ]
    with caplog.at_level("INFO", logger="mathlm"):
        found = encoded([*rest, chat("a", "b")], context=12)
    assert found.dropped == {"empty answer": 3, "longer than the context": 1}
    assert found.index == [4]
    assert [record.getMessage() for record in caplog.records] == [
        "left out 4 of 5 conversations (3 empty answer, 1 longer than the context); the "
        "context is 12 tokens"
    ]


def test_nothing_is_logged_where_nothing_is_left_out(caplog):
    with caplog.at_level("DEBUG", logger="mathlm"):
        assert encoded().dropped == {"empty answer": 0, "longer than the context": 0}
    assert caplog.records == []


def test_a_conversation_as_long_as_the_context_is_whole_and_one_longer_is_out():
    found = encoded([chat("ab", "cd"), chat("ab", "cde")], context=9)
    assert [len(one) for one in found.chats] == [9]
    assert learned(found.chats[0])[-1] == END
    assert found.dropped["longer than the context"] == 1


@given(contents=CONTENTS, context=st.integers(2, 60))
def test_no_conversation_is_ever_cut(bpe, contents, context):
    turns, other = chat(*contents[: len(contents) // 2 * 2]), chat("a", "b")
    whole = [ChatFormat.chatml().encode(c, bpe).ids.tolist() for c in (turns, other)]
    try:
        found = encode_chats([turns, other], ChatFormat.chatml(), bpe, context)
    except DataError:
        return
    assert all(one.ids.tolist() in whole for one in found.chats)
    assert len(found) + sum(found.dropped.values()) == 2


@given(contents=st.lists(st.text("ab<|>bos", max_size=12), min_size=2, max_size=2))
def test_there_is_exactly_one_bos_in_every_chat(contents):
    tokenizer = ByteBPE.from_merges([], special=NAMED.special)
    contents[1] += "x"
    [one] = encode_chats([chat(*contents)], NAMED, tokenizer, 999).chats
    assert (one.ids == tokenizer.special["<|bos|>"]).nonzero()[0].tolist() == [0]
    assert not one.mask[0]


def test_answers_that_are_cut_otherwise_alone_are_counted(bpe):
    """Headers end with a line break: before an answer that begins with one, the boundary of the
    loss is still after the tokens of the header."""
    form = ChatFormat.chatml()
    found = encode_chats([chat("a", "\nx"), chat("a", "x"), chat("a", "\nb")], form, bpe, 99)
    pieces = [("assistant\n", "\nx"), ("assistant\n", "x"), ("assistant\n", "\nb")]
    merged = [bpe.encode(p + c) != bpe.encode(p) + bpe.encode(c) for p, c in pieces]
    assert merged == [True, False, True]
    assert found.mismatches == 2
    end = bpe.special["<|im_end|>"]
    assert learned(found.chats[0]) == [*bpe.encode("\nx"), end]


def test_the_hash_is_of_ids_masks_and_borders():
    """The user's "a" and the assistant's "a" have equal ids, apart from the mask."""
    same = [encoded([chat("a", "b")]), encoded([chat("a", "b")])]
    others = [encoded(c) for c in ([chat("a", "c")], [chat("a", "b")] * 2, [chat("ab", "b")])]
    assert same[0].sha256 == same[1].sha256
    assert len({found.sha256 for found in (same[0], *others)}) == 4


def test_the_hash_is_of_the_masks_too():
    """Ids alone do not say what is learned."""
    before, after = encoded(), encoded()
    after.chats[0].mask[-1] = False
    assert before.sha256 != after.sha256


def test_maps_and_generators_are_read_too():
    maps = ([vars(turn) for turn in turns] for turns in CHATS)
    assert encoded(maps).sha256 == encoded().sha256


def test_if_nothing_is_left_the_numbers_say_why():
    turns = [chat("abcdefgh", "abcdefgh"), chat("a", " "), chat("ab", "abcdefgh")]
    with pytest.raises(
        DataError,
        match=r"none of 3 conversations can be learned from \(1 empty answer, 2 longer than "
        r"the context\); the longest has 21 tokens, the context is 10: raise it",
    ):
        encoded(turns, context=10)


def test_if_every_answer_is_empty_no_context_would_help():
    with pytest.raises(DataError, match=r"\(1 empty answer\); write answers$"):
        encoded([chat("a", " ")])


@pytest.mark.parametrize("nothing", [[], ()])
def test_no_conversations_are_refused(nothing):
    with pytest.raises(DataError, match="there are no conversations to encode"):
        encoded(nothing)


@pytest.mark.parametrize("context", [1, 0, -5])
def test_a_context_without_room_is_refused(context):
    with pytest.raises(InputError, match=f"context={context} must be at least 2"):
        encoded(context=context)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("one", [CHATS[0][0], "hello", {"role": "user"}, None, 3])
def test_one_thing_in_place_of_a_list_is_refused(one):
    with pytest.raises(InputTypeError, match=r"conversations is a .*; it must be a list of"):
        encoded(one)
    with pytest.raises(InputTypeError, match=r"conversation 1 is a .*; expected a list of mes"):
        encoded([CHATS[0], one])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("turns", "error", "match"),
    [
        ([], InputError, "there are no messages"),
        (chat("a"), InputError, "the last message is of 'user' and has no answer"),
        ([Message("assistant", "a")], InputError, "message 0 has role 'assistant' at the beg"),
        ([Message("user", "a"), Message("bot", "a")], InputError, "message 1 has role 'bot'"),
        (
            [Message("user", "a"), {"role": "assistant", "content": None}],
            InputTypeError,
            "message 1 has a content of NoneType",
        ),
        ([{"prompt": "a"}], InputError, r"message 0 has keys \['prompt'\]"),
    ],
)
def test_a_conversation_that_cannot_be_written_is_named(turns, error, match):
    with pytest.raises(error, match=f"conversation 1: {match}"):
        encoded([CHATS[0], turns])


def test_a_tokenizer_without_the_markers_is_refused():
    with pytest.raises(InputError, match=r"lacks the special tokens \['<\|im_start\|>'"):
        encode_chats(CHATS, ChatFormat.chatml(), TOKENIZER, 24)


def test_the_first_id_of_the_toy_is_the_bos():
    assert {int(one.ids[0]) for one in encoded().chats} == {BOS}
