"""Tokenizers called with several texts: padding, mask, limits."""

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from mathlm.errors import InputError, InputTypeError
from mathlm.text import ByteBPE, Bytes, Characters, TokenBatch, WordPiece, Words

TEXTS = ["a b", "a", "b a b a"]
PIECES = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "b"]
ALL = {
    "byte_bpe": ByteBPE.train(TEXTS, 258, special=["<|end|>"]),
    "bytes": Bytes(["<|end|>"]),
    "wordpiece": WordPiece(PIECES),
    "words": Words.build(TEXTS),
    "characters": Characters.build(TEXTS),
}
EVERY = pytest.mark.parametrize("name", ALL)


@EVERY
@pytest.mark.parametrize("padding", ["right", "left"])
def test_each_row_holds_its_text_and_the_mask_says_where(name, padding):
    tokenizer = ALL[name]
    batch = tokenizer(TEXTS, padding=padding)
    assert (batch.ids.dtype, batch.mask.dtype) == (np.int64, np.bool_)
    rows = [tokenizer.encode(text) for text in TEXTS]
    assert batch.ids.shape == batch.mask.shape == (3, max(map(len, rows)))
    assert [ids[mask].tolist() for ids, mask in zip(*batch, strict=True)] == rows
    assert (batch.ids[~batch.mask] == tokenizer.pad_id).all()
    falls = np.diff(batch.mask.astype(int))  # from text to padding, or from padding to text
    assert (falls <= 0).all() if padding == "right" else (falls >= 0).all()


@EVERY
def test_one_text_is_a_batch_of_one_row(name):
    tokenizer = ALL[name]
    batch = tokenizer("b a")
    assert isinstance(batch, TokenBatch)
    assert batch.ids.tolist() == [tokenizer.encode("b a")]
    assert batch.mask.all()


@pytest.mark.parametrize("padding", ["right", "left"])
def test_the_same_arrays_as_the_published_batches(padding):
    theirs = Tokenizer(WordLevel({"<pad>": 0, "a": 3, "b": 4}, unk_token="<pad>"))
    theirs.pre_tokenizer = WhitespaceSplit()
    theirs.enable_padding(direction=padding, pad_id=0, pad_token="<pad>")
    expected = theirs.encode_batch(TEXTS)
    ids, mask = ALL["words"](TEXTS, padding=padding)
    assert ids.tolist() == [e.ids for e in expected]
    assert mask.tolist() == [[bool(m) for m in e.attention_mask] for e in expected]


def test_padding_by_hand():
    left = Bytes()(["AB", "C"], padding="left", pad_id=7)
    assert left.ids.tolist() == [[65, 66], [7, 67]]
    assert left.mask.tolist() == [[True, True], [False, True]]
    right = Bytes()(["AB", "C"])
    assert right.ids.tolist() == [[65, 66], [67, 0]]
    assert right.mask.tolist() == [[True, True], [True, False]]


def test_padding_is_the_mark_for_it_where_there_is_one():
    assert [ALL[name].pad_id for name in ALL] == [0, 0, 0, 0, 0]
    assert WordPiece(["[UNK]", "[PAD]", "[CLS]", "[SEP]"]).pad_id == 1


def test_a_long_text_is_cut_only_when_asked():
    with pytest.raises(InputError, match=r"text 2 has 7 tokens, more than max_length=3"):
        Bytes()(TEXTS, max_length=3)
    batch = Bytes()(TEXTS, max_length=3, truncate=True, padding="left")
    assert batch.ids.tolist() == [[97, 32, 98], [0, 0, 97], [98, 32, 97]]


def test_a_cut_text_keeps_its_last_mark():
    tokenizer = ALL["wordpiece"]
    assert tokenizer("b a b a", max_length=4, truncate=True).ids.tolist() == [[2, 5, 4, 3]]
    plain = tokenizer("b a b a", max_length=3, truncate=True, special=False)
    assert plain.ids.tolist() == [[5, 4, 5]]


def test_options_go_to_encode():
    tokenizer = ALL["byte_bpe"]
    (end,) = tokenizer.special.values()
    ids, _ = tokenizer(["<|end|>", "<|end|><|end|>"], allowed_special="all")
    assert ids.tolist() == [[end, 0], [end, end]]


def test_a_text_without_tokens_is_a_row_of_padding():
    assert Bytes()(["", "A"]).mask.tolist() == [[False], [True]]
    assert Bytes()([""]).ids.shape == (1, 0)


def test_texts_may_come_from_a_generator():
    assert Bytes()(text for text in "AB").ids.tolist() == [[65], [66]]


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(
    ("texts", "options", "error", "message"),
    [
        ([], {}, InputError, "there is no text: give at least one"),
        (["a"], {"padding": True}, InputError, "padding=True must be 'right' or 'left'"),
        (["a"], {"pad_id": 1.5}, InputTypeError, "pad_id=1.5 must be an integer"),
        (["a"], {"max_length": 0}, InputError, "max_length=0 must be at least 1"),
        (["a"], {"max_length": 2.0}, InputTypeError, "max_length=2.0 must be an integer"),
        (["a", ["b"]], {}, InputTypeError, r"text 1 is \['b'\], expected a str"),
        (b"a", {}, InputTypeError, "texts is b'a', expected a str or a list of them"),
        (7, {}, InputTypeError, "texts is 7, expected a str or a list of them"),
    ],
)
def test_what_is_no_batch_is_refused(texts, options, error, message):
    with pytest.raises(error, match=message):
        Bytes()(texts, **options)


@pytest.mark.usefixtures("unchecked")
@EVERY
def test_encode_of_a_list_names_the_call_that_takes_one(name):
    with pytest.raises(InputTypeError, match=r"got list of 2; tokenizer\(texts\) encodes"):
        ALL[name].encode(["a", "b"])


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_training_on_the_path_of_a_file_says_how_to_read_it(tmp_path, kind):
    path = tmp_path / "plays.txt"
    path.write_text("to be or not to be")
    with pytest.raises(InputTypeError, match=r"the path of a file.*; read it: \[Path\('.*txt"):
        ByteBPE.train(kind(path), 258)
    with pytest.raises(InputTypeError, match=r"texts is one str, expected documents; write"):
        ByteBPE.train("no such file", 258)
