"""A tokenizer that the transformers package reads: the ids of any text are the same."""

import json

import pytest
from transformers import AutoTokenizer

from mathlm.errors import InputError
from mathlm.text import ByteBPE, Bytes
from mathlm.text.tokenizers.hugging_face import FILES, hugging_face_files

TEXTS = [
    "To be, or not to be: that is the question.\n\n  Whether 'tis nobler",
    "Größe, naïve café — 日本語のテキスト, שלום, a\u0301 e\u0308",
    "🤖👩‍👩‍👧 \U0010ffff \ue000 \ufeff\u200b\u00ad",
    "\x00\x01\x07\x1b\x1c\x1d\x1e\x1f\x7f\x80\x85\xa0\u2028\u3000|",
    "tabs\t\t and \r\n line ends \n \n\n  end  \n",
    "white space at the end \n ",
    "   ",
    " \n",
    "1234567 12 3.14 ٣٤٥ ¼ Ⅷ",
    "WE'LL I'd don't 'S '\u017f it's'nt",
    "<|end|>low<|end|>lower",
    "",
]


def read(tokenizer, folder):
    """The files as the transformers package reads them."""
    for name, content in hugging_face_files(tokenizer).items():
        (folder / name).write_bytes(content)
    return AutoTokenizer.from_pretrained(folder)


@pytest.mark.parametrize("pattern", ["gpt2", "gpt4", "smollm2"])
def test_ids_and_texts_are_the_same(pattern, tmp_path):
    ours = ByteBPE.train(TEXTS * 2, 320, special=["<|end|>", "<|pad|>"], pattern=pattern)
    theirs = read(ours, tmp_path)
    assert len(theirs) == len(ours)
    for text in TEXTS:
        ids = ours.encode(text, allowed_special="all")
        assert theirs.encode(text, add_special_tokens=False) == ids, text
        assert theirs.decode(ids) == text


def test_special_tokens_may_stand_between_the_others(tmp_path):
    """SmolLM2 has its own first, which moves the bytes and the products of merges."""
    base = ByteBPE.train(TEXTS * 2, 300)
    tokens = [b"<|end|>", *(base.token_bytes(i) for i in range(len(base)))]
    merges = [(left + 1, right + 1) for left, right in base.merges]
    ours = ByteBPE(tokens, merges, {"<|end|>": 0})
    theirs = read(ours, tmp_path)
    for text in TEXTS:
        ids = ours.encode(text, allowed_special="all")
        assert theirs.encode(text, add_special_tokens=False) == ids, text


@pytest.mark.parametrize("special", [(), ("<|end|>",)])
def test_bytes_are_themselves(special, tmp_path):
    theirs = read(Bytes(special), tmp_path)
    assert len(theirs) == 256
    for text in TEXTS:
        plain = text.replace("<|end|>", "")
        assert theirs.encode(plain, add_special_tokens=False) == list(plain.encode())
        assert theirs.decode(list(plain.encode())) == plain
    assert theirs.encode("a<|end|>", add_special_tokens=False)[1] == (192 if special else 60)


def test_an_end_of_line_at_the_end_is_no_end_of_the_text():
    r"""Their \Z is also before the last line end, which \z is not."""
    content = json.loads(hugging_face_files(ByteBPE.train(["a"], 256))[FILES[0]])
    regex = content["pre_tokenizer"]["pretokenizers"][0]["pattern"]["Regex"]
    assert r"|\s+\z|" in regex
    assert r"\Z" not in regex


def test_a_special_token_named_as_another_token_is_refused():
    bpe = ByteBPE.train(["low low low"], 259, special=["low"])
    with pytest.raises(InputError, match=r"the special tokens \['low'\] have the names of"):
        hugging_face_files(bpe)
