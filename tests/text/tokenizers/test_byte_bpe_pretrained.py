"""GPT-2's and SmolLM2's tokenizers against tiktoken and the tokenizers package."""

from itertools import chain
from pathlib import Path

import gguf
import pytest
import tiktoken
from hypothesis import given
from hypothesis import strategies as st
from tiktoken.load import data_gym_to_mergeable_bpe_ranks
from tiktoken_ext.openai_public import r50k_pat_str
from tokenizers import Tokenizer, models, pre_tokenizers

from mathlm.errors import InputError
from mathlm.text import ByteBPE, corpus, pretrained

END = "<|endoftext|>"
PARTS = [
    *["the ", " and", "don't", "I'LL", "'", "def f(x):\n    return x", "    ", "\t\t", "\r\n"],
    *[" \n \n", "\x85", "\xa0 ", "\u3000", "12345", "½", "٣", "Ⅷ", "...", "!?\n\n", "é"],
    *["e\u0301", "日本語", "👩‍🚀", "🇫🇷", "Ω", "ﬁ", "\x00", "\x1c", "<|", "|>", "\u017f"],
    *["\ua7cf", "\U00010940", "\U0001246f"],  # letters and a number since Unicode 17 or 18
]
TEXTS = st.lists(
    st.sampled_from(PARTS) | st.characters(exclude_categories=["Cs"]) | st.text()
).map("".join)
# Digits of Unicode 17, which the Digits rule of tokenizers 0.23 has; its patterns do not.
NEW_DIGITS = {*map(chr, range(0x11DE0, 0x11DEA)), *map(chr, range(0x16FF4, 0x16FF7))}
WORDS = ["a" * 20_000, "abcdefgh" * 2_500, "é日" * 5_000, " " * 20_000 + "a", "!" * 20_000]


@pytest.fixture(scope="module")
def gpt2():
    """Ours and tiktoken's, from the same two files."""
    folder = pretrained.find("gpt2")
    ranks = data_gym_to_mergeable_bpe_ranks(
        vocab_bpe_file=str(folder / "vocab.bpe"), encoder_json_file=str(folder / "encoder.json")
    )
    peer = tiktoken.Encoding(
        "gpt2", pat_str=r50k_pat_str, mergeable_ranks=ranks, special_tokens={END: 50256}
    )
    return ByteBPE.from_gpt2(folder), peer


@pytest.fixture(scope="module")
def smollm2():
    """Ours and that of the tokenizers package."""
    reader = gguf.GGUFReader(pretrained.find("smollm2"))
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    ids = {token: i for i, token in enumerate(tokens)}
    peer = Tokenizer(models.BPE(vocab=ids, merges=[tuple(m.split(" ")) for m in merges]))
    peer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(True), pre_tokenizers.ByteLevel(add_prefix_space=False)]
    )
    return ByteBPE.from_gguf(pretrained.find("smollm2")), peer


@pytest.fixture(scope="module")
def known_bytes(smollm2):
    """The bytes that have a token: not all; the peer drops the others."""
    single = (smollm2[0].token_bytes(i) for i in range(17, smollm2[0].vocab_size))
    return set(chain.from_iterable(data for data in single if len(data) == 1))


def code():
    """Python files of this repository."""
    folder = Path(__file__).parents[2]
    return "\n".join(path.read_text() for path in sorted(folder.glob("*/*.py"))[:60])


@given(TEXTS)
def test_gpt2_is_tiktoken_on_any_text(gpt2, text):
    ours, peer = gpt2
    ids = ours.encode(text)
    assert ids == peer.encode_ordinary(text)
    assert ours.decode(ids) == peer.decode(ids) == text


@given(st.lists(TEXTS | st.just(END)).map("".join))
def test_gpt2_is_tiktoken_with_the_special_token_allowed(gpt2, text):
    ours, peer = gpt2
    assert ours.encode(text, "all") == peer.encode(text, allowed_special="all")


@given(st.lists(st.integers(0, 50256)))
def test_gpt2_decodes_any_ids_as_tiktoken_does(gpt2, ids):
    ours, peer = gpt2
    assert ours.decode_bytes(ids) == peer.decode_bytes(ids)
    assert ours.decode(ids) == peer.decode(ids)


@given(st.binary())
def test_any_bytes_survive_gpt2(gpt2, data):
    assert gpt2[0].decode_bytes(gpt2[0].encode_bytes(data)) == data


def test_gpt2_is_tiktoken_on_whole_plays_and_on_code(gpt2):
    ours, peer = gpt2
    for text in (*corpus.documents("shakespeare")[:3], code()):
        assert ours.encode(text) == peer.encode_ordinary(text)


@pytest.mark.parametrize("word", WORDS, ids=["a", "abc", "wide", "spaces", "signs"])
def test_gpt2_is_tiktoken_on_long_words(gpt2, word):
    ours, peer = gpt2
    assert ours.encode(word) == peer.encode_ordinary(word)


def test_every_token_of_gpt2_has_the_bytes_of_tiktoken(gpt2):
    ours, peer = gpt2
    assert (ours.vocab_size, ours.special) == (peer.n_vocab, {END: 50256})
    assert all(ours.token_bytes(i) == peer.decode_single_token_bytes(i) for i in range(50257))


@pytest.mark.slow
@given(TEXTS)
def test_smollm2_is_tokenizers_on_any_text(smollm2, known_bytes, text):
    ours, peer = smollm2
    text = "".join(c for c in text if known_bytes.issuperset(c.encode()) - (c in NEW_DIGITS))
    assert ours.encode(text) == peer.encode(text).ids
    assert ours.decode(ours.encode(text)) == text


def test_smollm2_is_tokenizers_on_a_whole_play_on_code_and_on_long_words(smollm2):
    ours, peer = smollm2
    for text in (corpus.documents("shakespeare")[0], code().replace("\x00", ""), *WORDS):
        assert ours.encode(text) == peer.encode(text).ids


def test_smollm2_refuses_the_21_bytes_that_it_has_no_token_for(smollm2, known_bytes):
    assert len(known_bytes) == 256 - 21
    assert 4 not in known_bytes
    with pytest.raises(InputError, match="byte 0x04 of the word"):
        smollm2[0].encode("a\x04")


def test_smollm2_has_its_control_tokens_and_no_text_becomes_one(smollm2):
    bpe = smollm2[0]
    names = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    assert [bpe.special[name] for name in names] == [0, 1, 2]
    assert sorted(bpe.special.values()) == list(range(17))
    assert min(bpe.encode("".join(bpe.special))) > 16
    assert bpe.encode("".join(names), "all") == [0, 1, 2]
