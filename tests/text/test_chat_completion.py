"""Prompt and completion: where the loss begins."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.text import ByteBPE, prompt_and_completion


@pytest.fixture(scope="module")
def tokenizer():
    """Merges "ab" and "abab" and few others."""
    return ByteBPE.train(["ababababab cdcd cdcd"] * 3, 270, special=["<bos>", "<end>"])


@given(p=st.text("abcd ", min_size=1), c=st.text("abcd ", min_size=1))
def test_the_loss_begins_after_the_tokens_of_the_prompt(tokenizer, p, c):
    row = prompt_and_completion(p, c, tokenizer)
    before = tokenizer.encode(p)
    assert row.ids.tolist() == before + tokenizer.encode(c)
    assert row.mask.tolist() == [i >= len(before) for i in range(len(row))]
    assert row.mismatches == (row.ids.tolist() != tokenizer.encode(p + c))


def test_a_token_across_the_boundary_is_counted_and_logged(tokenizer, caplog):
    """ "ab" is one token, so "xa" + "b" is cut otherwise than "xab"."""
    assert tokenizer.tokens("ab") == [b"ab"]
    with caplog.at_level("INFO", logger="mathlm"):
        row = prompt_and_completion("xa", "b", tokenizer)
    assert row.mismatches == 1
    assert row.ids.tolist() == [*b"xab"]
    assert row.mask.tolist() == [False, False, True]
    assert "1 answers are cut into other tokens" in caplog.text


def test_a_boundary_that_no_token_crosses_is_silent(tokenizer, caplog):
    with caplog.at_level("DEBUG", logger="mathlm"):
        assert prompt_and_completion("ab", " cd", tokenizer).mismatches == 0
    assert caplog.text == ""


@given(p=st.sampled_from(["", "<bos>", "<bos>a", "a<end>"]), c=st.sampled_from(["", "<end>b"]))
def test_bos_and_end_are_there_once_whatever_the_texts_say(tokenizer, p, c):
    row = prompt_and_completion(p, c, tokenizer, bos="<bos>", end="<end>")
    bos, end = tokenizer.special["<bos>"], tokenizer.special["<end>"]
    assert [i for i in row.ids if i in (bos, end)] == [row.ids[0], row.ids[-1]] == [bos, end]
    assert bool(row.mask[-1])
    assert not row.mask[0]


def test_a_completion_needs_a_context_and_something_to_learn(tokenizer):
    with pytest.raises(InputError, match='prompt is "" and there is no bos'):
        prompt_and_completion("", "b", tokenizer)
    with pytest.raises(InputError, match='completion is "" and there is no end'):
        prompt_and_completion("a", "", tokenizer)


def test_a_special_token_that_is_not_there_is_refused(tokenizer):
    with pytest.raises(InputError, match=r"lacks the special tokens \['<eos>'\]; it has"):
        prompt_and_completion("a", "b", tokenizer, end="<eos>")


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("p", "c", "name"), [(b"a", "b", "prompt"), ("a", [98], "completion")])
def test_a_text_is_a_str(tokenizer, p, c, name):
    with pytest.raises(InputTypeError, match=f"{name} must be a str"):
        prompt_and_completion(p, c, tokenizer)
