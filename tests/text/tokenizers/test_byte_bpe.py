import copy
import os
import pickle
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text import ByteBPE, corpus
from mathlm.text.tokenizers.bpe import learn_merges_naive

SPECIAL = ["<|end|>", "<|end|>er", "<pad>"]
TEXTS = st.lists(st.text() | st.sampled_from([*SPECIAL, "the ", "<|e", "\n\n"])).map("".join)


@pytest.fixture(scope="module")
def bpe():
    """A tokenizer of the first play, with special tokens of which one begins another."""
    return ByteBPE.train(corpus.documents("shakespeare")[:1], 1000, special=SPECIAL)


def test_wikipedia_example_is_learned_and_applied():
    """aaabdaaabac: aa, then ab (a tie, smaller bytes than Za), then both: XdXac, X = aaab.

    https://en.wikipedia.org/wiki/Byte-pair_encoding; its tie falls the same way.
    """
    bpe = ByteBPE.train(["aaabdaaabac"], 259)
    assert bpe.merges == [(97, 97), (97, 98), (256, 257)]
    assert bpe.tokens("aaabdaaabac") == [b"aaab", b"d", b"aaab", b"a", b"c"]


def test_vocabulary_is_bytes_then_merges_then_special_tokens(bpe):
    assert (bpe.vocab_size, len(bpe), len(bpe.merges)) == (1000, 1000, 741)
    assert [bpe.token_bytes(i) for i in range(256)] == [bytes([i]) for i in range(256)]
    left, right = bpe.merges[700]
    assert bpe.token_bytes(956) == bpe.token_bytes(left) + bpe.token_bytes(right)
    assert bpe.special == {"<|end|>": 997, "<|end|>er": 998, "<pad>": 999}


def test_vocabulary_is_smaller_when_no_pair_occurs_twice():
    """abab: ab occurs twice; after that merge its pair occurs once."""
    bpe = ByteBPE.train(["abab"], 1000, special=["<pad>"])
    assert (bpe.vocab_size, bpe.merges, bpe.special) == (258, [(97, 98)], {"<pad>": 257})


def test_training_merges_what_the_definition_merges(bpe):
    words = {b"low": 5, b"lower": 2, b"newest": 6, b"widest": 3}
    text = " ".join(word.decode() for word, n in words.items() for _ in range(n))
    spaced = {(b" " if i else b"") + w: n - (i == 0) for i, (w, n) in enumerate(words.items())}
    naive = learn_merges_naive(spaced | {b"low": 1, b" low": 4}, 20)
    assert ByteBPE.train([text], 276).merges == naive


SHUFFLED_TRAINING = """
import random, sys
from mathlm.text import ByteBPE, corpus
texts = [text[:20_000] for text in corpus.documents("shakespeare")[:4]]
random.Random(int(sys.argv[1])).shuffle(texts)
print(ByteBPE.train(texts, 500).sha256)
"""


@pytest.mark.slow
def test_training_depends_neither_on_the_hash_seed_nor_on_the_order_of_documents():
    """Ten processes with hash seeds 0 to 9, the documents shuffled differently in each."""
    texts = [text[:20_000] for text in corpus.documents("shakespeare")[:4]]
    found = {ByteBPE.train(texts, 500).sha256.encode()}
    for seed in map(str, range(10)):
        command = [sys.executable, "-c", SHUFFLED_TRAINING, seed]
        env = os.environ | {"PYTHONHASHSEED": seed}
        found.add(subprocess.check_output(command, env=env).strip())
    assert len(found) == 1


@given(st.binary())
def test_any_bytes_survive(bpe, data):
    assert bpe.decode_bytes(bpe.encode_bytes(data)) == data


@given(TEXTS)
def test_any_text_survives_and_is_encoded_as_its_bytes(bpe, text):
    assert bpe.decode(bpe.encode(text)) == text
    assert bpe.encode_bytes(text.encode()) == bpe.encode(text)


@given(TEXTS)
def test_no_text_becomes_a_special_token(bpe, text):
    assert not set(bpe.encode(text)) & set(bpe.special.values())


@given(TEXTS)
def test_allowed_special_tokens_survive_too(bpe, text):
    assert bpe.decode(bpe.encode(text, allowed_special="all")) == text


def test_only_allowed_names_become_special_ids_and_the_longest_wins(bpe):
    text = "a<|end|>er<pad>"
    assert bpe.encode(text, allowed_special="all") == [97, 998, 999]
    a, end, *er_pad = bpe.encode(text, allowed_special={"<|end|>"})
    assert (a, end, bpe.decode(er_pad)) == (97, 997, "er<pad>")
    assert 999 not in er_pad


def test_special_tokens_are_shown_unless_skipped(bpe):
    ids = [97, 997, 98]
    assert bpe.decode(ids) == "a<|end|>b"
    assert bpe.decode(ids, skip_special=True) == "ab"


def test_special_token_may_be_spelled_like_an_ordinary_one():
    bpe = ByteBPE.train(["abab"], 258, special=["ab"])
    assert bpe.encode("ab") == [256]
    assert bpe.encode("ab", allowed_special="all") == [257]
    assert bpe.decode([256, 257]) == "abab"


@given(st.lists(st.integers(0, 999)))
def test_stream_of_any_ids_is_their_text(bpe, ids):
    stream = bpe.stream()
    assert "".join(map(stream.push, ids)) + stream.end() == bpe.decode(ids)


def test_stream_can_skip_special_tokens(bpe):
    stream = bpe.stream(skip_special=True)
    assert [stream.push(i) for i in (97, 997, 98)] == ["a", "", "b"]


def test_bytes_that_are_no_text_are_replaced_dropped_or_refused(bpe):
    assert bpe.decode([97, 255]) == "a\ufffd"
    assert bpe.decode([97, 255], errors="ignore") == "a"
    with pytest.raises(InputError, match="bytes ff at 1 of 2 are not UTF-8"):
        bpe.decode([97, 255], errors="strict")


@pytest.mark.parametrize("unknown", [-1, 1000, 10**30, 1.0, True, "a", None])
def test_unknown_id_is_named_with_its_position_and_the_range(bpe, unknown):
    with pytest.raises(InputError, match=r"at position 2 is no token.*0\.\.999"):
        bpe.decode([97, 98, unknown])
    with pytest.raises(InputError, match=r"0\.\.999"):
        bpe.stream().push(unknown)


@pytest.mark.parametrize("ids", [np.array([97, 98]), torch.tensor([97, 98]), (97, 98)])
def test_integers_of_numpy_and_torch_are_ids(bpe, ids):
    assert bpe.decode(ids) == "ab"


@pytest.mark.parametrize(
    "ids",
    [np.array(97), np.array([[97]]), torch.tensor([[97], [98]]), {97}, {97: 1}, bytearray(2)],
)
@pytest.mark.usefixtures("unchecked")
def test_ids_without_an_order_or_of_another_shape_are_refused(bpe, ids):
    with pytest.raises(
        InputTypeError, match=r"must be a list of integers|expected one dimension"
    ):
        bpe.decode(ids)


def test_allowed_names_may_come_from_a_generator(bpe):
    assert bpe.encode("<pad>", (name for name in ["<pad>"])) == [999]


@pytest.mark.usefixtures("unchecked")
def test_size_of_the_vocabulary_may_be_an_integer_of_numpy():
    assert ByteBPE.train(["abab abab"], np.int64(258)).vocab_size == 258
    with pytest.raises(InputTypeError, match=r"vocab_size=258\.0 must be an integer"):
        ByteBPE.train(["abab abab"], 258.0)


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("texts", "pattern"), [(None, "gpt4"), (3, "gpt4"), (["a"], ["gpt4"])])
def test_arguments_of_another_kind_are_refused(texts, pattern):
    with pytest.raises(InputTypeError, match=r"expected documents|must be one of the names"):
        ByteBPE.train(texts, 300, pattern=pattern)


@pytest.mark.slow
def test_encoding_shakespeare_takes_less_than_ten_times_its_memory():
    """With the real cache; the ids that come back are counted too."""
    text = corpus.load("shakespeare")[:600_000]
    bpe = ByteBPE.train([text[:200_000]], 4096)
    tracemalloc.start()
    ids = bpe.encode(text)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert bpe.decode(ids) == text
    assert 8 * len(ids) < peak < 10 * len(text.encode())


def test_text_is_no_list_of_ids(bpe):
    with pytest.raises(InputTypeError, match="ids must be a list of integers, got bytes"):
        bpe.decode(b"ab")


def test_lone_surrogate_is_refused_with_its_position(bpe):
    with pytest.raises(InputError, match="position 2"):
        bpe.encode("ab\ud800c")


def test_empty_text_has_no_tokens(bpe):
    assert (bpe.encode(""), bpe.encode_bytes(b""), bpe.decode([])) == ([], [], "")


@pytest.mark.parametrize("vocab_size", [-1, 0, 255, 258])
def test_vocabulary_too_small_for_bytes_and_special_tokens_is_refused(vocab_size):
    with pytest.raises(InputError, match=f"vocab_size={vocab_size} must be at least 259"):
        ByteBPE.train(["text"], vocab_size, special=SPECIAL)


def test_vocabulary_of_bytes_and_special_tokens_is_enough():
    assert ByteBPE.train(["aaaa"], 259, special=SPECIAL).merges == []


@pytest.mark.parametrize("texts", [[], [""], ["", ""]])
def test_empty_corpus_is_refused(texts):
    with pytest.raises(InputError, match="empty"):
        ByteBPE.train(texts, 300)


@pytest.mark.parametrize("special", [["<x>", "<x>"], [""]])
def test_conflicting_special_tokens_are_refused(special):
    with pytest.raises(InputError, match="special"):
        ByteBPE.train(["text"], 300, special=special)


def test_unknown_pattern_is_refused():
    with pytest.raises(InputError, match=r"'gpt5'; there are \['gpt2', 'gpt4', 'smollm2'\]"):
        ByteBPE.train(["text"], 300, pattern="gpt5")


def test_pickle_and_copies_are_equal_and_encode_the_same(bpe):
    for other in (pickle.loads(pickle.dumps(bpe)), copy.copy(bpe), copy.deepcopy(bpe)):
        assert other == bpe
        assert hash(other) == hash(bpe)
        assert other.encode("To be, or not to be") == bpe.encode("To be, or not to be")


def test_other_content_is_not_equal(bpe):
    fewer = ByteBPE.from_merges(bpe.merges[:-1], SPECIAL)
    other_pattern = ByteBPE.from_merges(bpe.merges, SPECIAL, "gpt2")
    assert bpe == ByteBPE.from_merges(bpe.merges, SPECIAL)
    assert bpe not in (fewer, other_pattern)
    assert len({bpe.sha256, fewer.sha256, other_pattern.sha256}) == 3


def test_changing_what_it_returns_does_not_change_it(bpe):
    before = bpe.sha256
    bpe.merges.clear()
    bpe.special.clear()
    assert pickle.loads(pickle.dumps(bpe)).sha256 == before
