import json
import random
import tracemalloc

import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from mathlm.errors import InputError, InputTypeError
from mathlm.text import ByteBPE, corpus
from mathlm.text.tokenizers.bpe import (
    count_pairs,
    count_words,
    learn_merges,
    learn_merges_naive,
    merge_pair,
    token_bytes,
)

TRAINERS = [learn_merges, learn_merges_naive]


def random_words(seed, n_words=12, longest=9):
    """Words over one to four letters, with runs of one letter and many equal counts."""
    rng = random.Random(seed)
    letters = "abcd"[: rng.randint(1, 4)]
    words = {}
    for _ in range(rng.randint(1, n_words)):
        runs = (rng.choice(letters) * rng.choice([1, 1, 2, 3, 5]) for _ in range(longest))
        words["".join(runs)[: rng.randint(1, longest)].encode()] = rng.randint(1, 4)
    return words


def spelled(merges):
    """Each merge as the bytes of its two tokens."""
    tokens = token_bytes(merges)
    return [(tokens[a], tokens[b]) for a, b in merges]


@pytest.mark.parametrize("learn", TRAINERS)
def test_the_example_of_wikipedia(learn):
    """aaabdaaabac: aa becomes Z, ab becomes Y, ZY becomes X, and XdXac holds no pair twice.

    Za and ab both occur twice after the first merge; a comes before aa, so ab is taken.
    """
    merges = learn({b"aaabdaaabac": 1}, 10)
    assert spelled(merges) == [(b"a", b"a"), (b"a", b"b"), (b"aa", b"ab")]


@pytest.mark.parametrize("learn", TRAINERS)
def test_ties_go_to_the_bytes_that_come_first(learn):
    """Each pair occurs twice: ab before ba before ca, whatever the order of the words."""
    merges = learn({b"ca": 2, b"ba": 2, b"ab": 2}, 3)
    assert spelled(merges) == [(b"a", b"b"), (b"b", b"a"), (b"c", b"a")]


@pytest.mark.parametrize("learn", TRAINERS)
def test_ties_are_broken_by_bytes_and_not_by_the_age_of_a_token(learn):
    """yz, made first, is token 256; then (a, yz) and (b, c) occur four times each, and
    (yz, a) and (b, d) three times: a < b < yz."""
    merges = learn({b"ayz": 4, b"bc": 4, b"yza": 3, b"bd": 3}, 5)
    second = [(b"a", b"yz"), (b"b", b"c"), (b"b", b"d"), (b"yz", b"a")]
    assert spelled(merges) == [(b"y", b"z"), *second]


@pytest.mark.parametrize("learn", TRAINERS)
@pytest.mark.parametrize(
    ("ties", "first"), [("least", b"ab"), ("greatest", b"cd"), ("oldest", b"ab")]
)
def test_another_rule_for_ties_can_be_asked_for(learn, ties, first):
    words = {b"bc": 2, b"cd": 2, b"ab": 2}
    assert b"".join(spelled(learn(words, 1, ties))[0]) == first


@pytest.mark.parametrize("learn", TRAINERS)
def test_the_greatest_pair_is_the_greatest_pair_of_byte_strings(learn):
    """After yz, made first, (yz, a) is the greatest pair; of two, a prefix is the lesser."""
    words = {b"ayz": 4, b"bc": 4, b"yza": 4, b"yza!": 4}
    merges = spelled(learn(words, 3, "greatest"))
    assert merges == [(b"y", b"z"), (b"yz", b"a"), (b"yza", b"!")]
    assert spelled(learn({b"yzq": 3, b"yq": 3, b"yz": 1}, 2, "greatest"))[1] == (b"yz", b"q")


@pytest.mark.parametrize("learn", TRAINERS)
def test_the_oldest_tokens_can_win_a_tie(learn):
    """yz is token 256: (z, a), bytes first, before (yz, ...), and by bytes yz < z."""
    words = {b"yz": 9, b"yzb": 2, b"za": 2}
    assert spelled(learn(words, 2, "oldest"))[1] == (b"z", b"a")
    assert spelled(learn(words, 2, "least"))[1] == (b"yz", b"b")


@pytest.mark.parametrize("learn", TRAINERS)
def test_an_unknown_rule_for_ties_is_an_error(learn):
    with pytest.raises(InputError, match="ties='newest' is none of least, greatest, oldest"):
        learn({b"ab": 2}, 1, "newest")


def test_equal_tokens_in_a_row_count_at_every_place():
    """aaaa holds aa at three places, and two merged tokens afterwards."""
    assert count_pairs({(97,) * 4: 5, (97, 98): 1}) == {(97, 97): 15, (97, 98): 1}
    assert merge_pair((97,) * 4, (97, 97), 256) == (256, 256)
    assert merge_pair((97,) * 5, (97, 97), 256) == (256, 256, 97)


@pytest.mark.parametrize("ties", ["greatest", "oldest"])
def test_the_fast_trainer_equals_the_naive_one_under_other_rules(ties):
    for seed in range(100):
        words = random_words(seed)
        assert learn_merges(words, 30, ties) == learn_merges_naive(words, 30, ties)


@pytest.mark.slow
def test_the_fast_trainer_equals_the_naive_one_on_1000_corpora():
    learned = 0
    for seed in range(1000):
        words = random_words(seed)
        merges = learn_merges(words, 30)
        assert merges == learn_merges_naive(words, 30), words
        learned += len(merges)
    assert learned > 5000


def test_no_two_tokens_are_the_same_bytes():
    for seed in range(300):
        tokens = token_bytes(learn_merges(random_words(seed, 30, 15), 60))
        assert len(set(tokens)) == len(tokens)


def peer_merges(texts, n_merges):
    """Merges of the tokenizers package, in our ids."""
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    peer = Tokenizer(models.BPE())
    peer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=256 + n_merges, min_frequency=2, initial_alphabet=alphabet,
        show_progress=False,
    )  # fmt: skip
    peer.train_from_iterator(texts, trainer)
    vocabulary = peer.get_vocab()
    own = dict(vocabulary)  # a merge has the same id, a byte has its character's
    own.update(zip(bytes_to_characters(), range(256), strict=True))
    merges = json.loads(peer.to_str())["model"]["merges"]
    return [(own[a], own[b]) for a, b in merges]


def bytes_to_characters():
    """Printable bytes are themselves, the others come after 255, as GPT-2 has it."""
    printable = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = iter(range(256, 512))
    return [chr(b) if b in printable else chr(next(rest)) for b in range(256)]


def first_tie(words, merges):
    """How many merges are the only best pair when they are chosen."""
    split = {tuple(word): n for word, n in words.items()}
    for i, pair in enumerate(merges):
        counts = count_pairs(split)
        if sum(n == counts[pair] for n in counts.values()) > 1:
            return i
        split = {merge_pair(word, pair, 256 + i): n for word, n in split.items()}
    return len(merges)


def test_merges_are_those_of_the_tokenizers_package_until_the_first_tie(rng):
    """Of equally frequent pairs it takes the lowest ids, so that later merges may differ."""
    compared = 0
    for _ in range(20):
        lengths, times = rng.integers(1, 7, 30), rng.integers(1, 2000, 30)
        words = ["".join(rng.choice(list("aabcé"), n)) for n in lengths]
        text = " ".join(f"{word} " * n for word, n in zip(words, times, strict=True))
        merges = learn_merges(count_words([text]), 60)
        unique = first_tie(count_words([text]), merges)
        assert merges[:unique] == peer_merges([text], 60)[:unique]
        compared += unique
    assert compared > 200


@pytest.mark.slow
def test_the_first_merges_of_shakespeare_are_those_of_the_tokenizers_package():
    texts = corpus.documents("shakespeare")[:3]
    words = count_words(texts)
    merges = learn_merges(words, 60)
    unique = first_tie(words, merges)
    assert unique > 50
    assert merges[:unique] == peer_merges(texts, 60)[:unique]


def test_words_are_counted_over_all_documents():
    """The space goes with the word: "a" begins each document, " a" follows."""
    assert count_words(["a a é", "a b"]) == {b"a": 2, b" a": 1, " é".encode(): 1, b" b": 1}


def test_long_documents_are_counted_as_short_ones(monkeypatch):
    text = corpus.documents("shakespeare")[0][:30_000]
    whole = count_words([text], "gpt4")
    monkeypatch.setattr("mathlm.text.tokenizers.pretokenize.blocks.__defaults__", (100,))
    assert count_words([text], "gpt4") == whole


@pytest.mark.slow
def test_training_takes_less_memory_than_ten_times_the_text():
    text = corpus.load("shakespeare")[:1_000_000]
    tracemalloc.start()
    learn_merges(count_words([text], "gpt4"), 256)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 10 * len(text.encode())


@pytest.mark.parametrize("learn", TRAINERS)
@pytest.mark.parametrize("words", [{b"a": 9}, {b"": 3}, {b"abcdef": 1}])
def test_training_stops_when_no_pair_occurs_twice(learn, words):
    assert learn(words, 5) == []
    assert learn({**words, b"xy": 2}, 5) == [(120, 121)]


@pytest.mark.parametrize("learn", TRAINERS)
def test_as_many_merges_as_asked_for(learn):
    words = {b"abcdefgh": 2}
    assert [len(learn(words, n)) for n in (0, 1, 5, 7, 100)] == [0, 1, 5, 7, 7]


def test_an_empty_corpus_is_an_error():
    for texts in ([], ["", ""]):
        with pytest.raises(InputError, match="the corpus is empty"):
            count_words(texts)


@pytest.mark.parametrize("texts", ["one text", b"bytes"])
@pytest.mark.usefixtures("unchecked")
def test_one_text_is_not_a_list_of_documents(texts):
    with pytest.raises(InputTypeError, match=r"expected documents; write \[text\]"):
        count_words(texts)


@pytest.mark.usefixtures("unchecked")
def test_a_document_is_a_str_without_surrogates():
    with pytest.raises(InputTypeError, match="a text must be a str, got int"):
        count_words(["text", 7])
    with pytest.raises(InputError, match="position 1 of the text holds"):
        count_words(["text", "a\udc00"])


@pytest.mark.parametrize("learn", TRAINERS)
@pytest.mark.parametrize(
    ("words", "n_merges", "error", "says"),
    [
        ({}, 3, InputError, "words is empty"),
        ({b"ab": 0}, 3, InputError, r"words\[b'ab'\]=0 must be at least 1"),
        ({b"ab": 1.5}, 3, InputTypeError, r"words\[b'ab'\]=1.5, expected bytes and an int"),
        ({"ab": 1}, 3, InputTypeError, r"words\['ab'\]=1, expected bytes"),
        ({b"ab": 1}, -1, InputError, "n_merges=-1 must be between 0 and 1113856"),
        ({b"ab": 1}, 2_000_000, InputError, "n_merges=2000000 must be between 0 and"),
        ({b"ab": 1}, 1.0, InputTypeError, "n_merges=1.0 must be an integer"),
    ],
)
@pytest.mark.usefixtures("unchecked")
def test_bad_words_and_numbers_are_errors(learn, words, n_merges, error, says):
    with pytest.raises(error, match=says):
        learn(words, n_merges)


@pytest.mark.parametrize("pair", [(97, 256), (-1, 97)])
def test_a_merge_of_a_token_that_is_not_there_is_an_error(pair):
    with pytest.raises(InputError, match=r"merge 0 joins .* but tokens 0 to 255 exist"):
        token_bytes([pair])


def test_names_of_files_are_no_documents(tmp_path, monkeypatch):
    """Some may be: a text is what it says. All of them never are."""
    monkeypatch.chdir(tmp_path)
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("low low low")
    with pytest.raises(InputError, match=r"each of the 2 texts is the path of a file, such as"):
        ByteBPE.train(["one.txt", "two.txt"], 258)
    with pytest.raises(InputError, match=r"'one.txt', expected documents: .* Read them: \["):
        count_words(("one.txt",))
    assert count_words(["one.txt", "low"])
    assert count_words(["three.txt"])
    assert count_words(["one.txt\n"])
    assert count_words(["x" * 10_000])
