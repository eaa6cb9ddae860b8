from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mathlm.errors import InputError, InputTypeError
from mathlm.generate import RegexConstraint, Step, TextStream, generate, stream_text, write
from mathlm.generate.streaming import StopGate, TokenTexts, _decoder
from mathlm.models import GPT, GPTConfig, Recurrent
from mathlm.text import ByteBPE, Bytes, DecodeStream, Words

PROPERTY = settings(deadline=None, derandomize=True, max_examples=50)
TEXT = "naïve 東京 café 🙂🙂 the theme of the thesis. "
BPE = ByteBPE.train([TEXT * 3], 272, special=("<|end|>",))
abc = st.text("abc", max_size=12)
stop_lists = st.lists(st.text("abc", min_size=1, max_size=4), max_size=3)


def before_stop(text, stops):
    """By definition: the first end of a stop; of those that end there the longest."""
    for end in range(len(text) + 1):
        starts = [end - len(s) for s in stops if text[:end].endswith(s)]
        if starts:
            return text[: min(starts)]
    return text


@PROPERTY
@given(abc, stop_lists, st.lists(st.integers(0, 12)))
def test_what_passes_a_gate_is_what_stands_before_the_first_stop(text, stops, cuts):
    gate, edges = StopGate(stops), sorted({0, *cuts, 12})
    passed = [gate.push(text[a:b]) for a, b in pairwise(edges)]
    assert "".join([*passed, gate.end()]) == before_stop(text, stops)
    assert gate.stopped == any(s in text for s in stops)


@PROPERTY
@given(abc, stop_lists)
def test_no_character_passes_that_a_stop_may_begin_with(text, stops):
    gate, passed = StopGate(stops), 0
    for n, c in enumerate(text, 1):
        passed += len(gate.push(c))
        waits = [k for s in stops for k in range(1, len(s)) if text[:n].endswith(s[:k])]
        assert gate.stopped or passed == n - max(waits, default=0)


def test_nothing_waits_that_cannot_become_a_stop():
    gate = StopGate(["END"])
    assert [gate.push(p) for p in ("aE", "N", "x", "E")] == ["a", "", "ENx", ""]
    assert gate.end() == "E"


def text_stream(ids, decoder, stop=(), finish="length"):
    """A stream of tokens that are known, in place of a model."""
    last = len(ids) - 1
    ends = [finish if n == last else None for n in range(len(ids))]
    one, zeros = (True,), torch.zeros(1, 2)
    steps = (
        Step(torch.tensor([i]), zeros, None, one, (f,)) for i, f in zip(ids, ends, strict=True)
    )
    return TextStream(steps, decoder, stop)


@pytest.mark.parametrize("tokenizer", [BPE, Bytes()])
def test_pieces_are_whole_characters_and_together_the_text(tokenizer):
    decoder = BPE.stream() if tokenizer is BPE else DecodeStream(bytes)
    ids = tokenizer.encode(TEXT)
    found = list(text_stream(ids, decoder))
    assert "".join(found) == TEXT
    assert all(found)
    assert not any("\ufffd" in piece for piece in found)
    assert len(found) < len(ids)  # some tokens end inside a character


@PROPERTY
@given(st.lists(st.integers(0, 255), max_size=12))
def test_any_bytes_are_written_as_they_are_decoded(ids):
    found = text_stream(ids, DecodeStream(bytes))
    assert "".join(found) == Bytes().decode(ids)
    assert found.ids == ids


@pytest.mark.parametrize(
    ("stop", "written", "finish"),
    [
        (["the"], "naïve 東京 café 🙂🙂 ", "stop"),
        (["theme o", "京"], "naïve 東", "stop"),
        (["thesis!", "cafe", "🙂🙂🙂"], TEXT, "length"),
        ([". !"], TEXT, "length"),  # its beginning waits at the end, and is then let go
    ],
)
def test_the_text_ends_before_its_first_stop(stop, written, finish):
    found = text_stream(BPE.encode(TEXT), BPE.stream(), stop)
    assert ("".join(found), found.finish) == (written, finish)


def test_a_special_token_stops_by_its_name():
    ids = [*BPE.encode("the theme"), BPE.special["<|end|>"], *BPE.encode(" of")]
    found = text_stream(ids, BPE.stream(), ["<|end|>"])
    assert ("".join(found), found.finish) == ("the theme", "stop")
    assert found.ids == ids[: ids.index(BPE.special["<|end|>"]) + 1]


def test_why_a_text_ended_is_unknown_until_it_has():
    found = text_stream(BPE.encode(TEXT), BPE.stream(), finish="stop")
    next(found)
    assert found.finish is None
    list(found)
    assert found.finish == "stop"


def test_a_character_that_the_last_token_leaves_open_is_marked():
    found = text_stream([*"é".encode(), "é".encode()[0]], DecodeStream(bytes))
    assert list(found) == ["é", "\ufffd"]


def model_of(vocab_size, **changes):
    sizes = {"context": 100, "d_model": 16, "n_layers": 1, "n_heads": 2}
    model = GPT(GPTConfig(vocab_size=vocab_size, **sizes | changes))
    for p in model.parameters():
        p.data += 0.3 * torch.randn_like(p)
    return model


@pytest.mark.parametrize("tokenizer", [BPE, Bytes()])
def test_what_is_written_is_what_generate_gives(tokenizer):
    model = model_of(tokenizer.vocab_size)
    options = {"temperature": 0.9, "top_k": 40, "seed": 4, "repetition_penalty": 1.1}
    text = write(model, tokenizer, "the café", 30, **options)
    prompt = tokenizer.encode("the café")
    ids = generate(model, torch.tensor([prompt]), 30, **options)[0, len(prompt) :]
    assert text == tokenizer.decode(ids.tolist())
    assert "".join(stream_text(model, tokenizer, "the café", 30, **options)) == text


def test_writing_ends_at_a_stop_and_not_only_is_cut():
    model = model_of(256)
    whole = write(model, Bytes(), "a", 60, seed=1)
    stop = next(c for c in whole[2:] if c != "\ufffd")
    found = stream_text(model, Bytes(), "a", 60, seed=1, stop=[stop])
    assert "".join(found) == whole[: whole.index(stop)]
    assert found.finish == "stop"
    assert len(found.ids) < 60


def test_a_text_of_bytes_ends_at_the_name_of_a_special_token():
    """The decoder writes the name, so that a stop string can meet it."""
    tokenizer = Bytes(["<|end|>"])
    ids = [*"é".encode(), tokenizer.special["<|end|>"], 104]
    found = text_stream(ids, _decoder(tokenizer), ["<|end|>"])
    assert list(found) == ["é"]
    assert found.finish == "stop"


def test_a_prompt_may_be_ids():
    model, ids = model_of(BPE.vocab_size), [BPE.special["<|end|>"], *BPE.encode("the")]
    expected = generate(model, torch.tensor([ids]), 9, 0.0)[0, len(ids) :].tolist()
    assert write(model, BPE, ids, 9, 0.0) == BPE.decode(expected)
    assert write(model, BPE, torch.tensor(ids).numpy(), 9, 0.0) == BPE.decode(expected)


def test_recurrent_models_write():
    model = Recurrent(vocab_size=256, d_model=8)
    pieces = stream_text(model, Bytes(), "a", 5, seed=0)
    assert "".join(pieces) == Bytes().decode(pieces.ids)
    assert len(pieces.ids) == 5


def test_no_new_tokens_are_no_text():
    found = stream_text(model_of(256), Bytes(), "a", 0)
    assert list(found) == []
    assert found.finish == "length"


def test_a_stream_that_is_closed_gives_nothing_more():
    pieces = stream_text(model_of(256), Bytes(), "a", 50, seed=0)
    next(pieces)
    pieces.close()
    assert list(pieces) == []
    assert pieces.finish is None


def test_a_constraint_of_the_empty_text_only_is_complete_at_once():
    pieces = stream_text(
        model_of(256), Bytes(), "a", 5, constraint=RegexConstraint("", Bytes())
    )
    assert list(pieces) == []
    assert pieces.finish == "stop"


def test_tokenizers_that_only_decode_are_streamed_too():
    words = Words.build(["un deux trois"])
    decoder = TokenTexts(words)
    found = [decoder.push(i) for i in words.encode("deux un trois")]
    assert found == ["deux", " un", " trois"]
    text = write(model_of(len(words)), words, "un", 6, seed=0)
    assert isinstance(text, str)


def test_a_tokenizer_that_takes_text_back_cannot_be_streamed():
    class Reversed(Bytes):
        def decode(self, ids):
            return super().decode(ids)[::-1]

    decoder = TokenTexts(Reversed())
    decoder.push(97)
    with pytest.raises(InputError, match="token 98 turns 'a' into 'ba'"):
        decoder.push(98)


@pytest.mark.parametrize(
    ("prompt", "options", "error", "message"),
    [
        ("", {}, InputError, "the prompt is empty: a model continues at least one token"),
        ([], {}, InputError, "the prompt is empty"),
        (b"a", {}, InputTypeError, "prompt is bytes: decode it"),
        ("a", {"stop": 3}, InputTypeError, "stop=3 is one int: give a list of strings"),
        (7, {}, InputTypeError, "prompt is 7: give text, or a list of token ids"),
        ([1.5], {}, InputTypeError, r"prompt is \[1\.5\]: give text"),
        ([300], {}, InputError, r"token id 300 at \[0, 0\] is outside 0\.\.255"),
        ("a", {"stop": "end"}, InputTypeError, r"give a list, stop=\['end'\]"),
        ("a", {"stop": [7]}, InputTypeError, r"stop\[0\]=7 must be a string"),
        ("a", {"stop": ["x", ""]}, InputError, r"stop\[1\] is empty"),
        ("a", {"stop": ["\ud83d"]}, InputError, "half a surrogate pair"),
        ("a", {"temperature": -1.0}, InputError, "temperature=-1"),
        ("a" * 95, {}, InputError, "95 prompt tokens and 9 new ones .* the context 100"),
        ("a", {"temprature": 1.0}, TypeError, "temprature"),
    ],
)
def test_texts_that_make_no_sense_are_refused(unchecked, prompt, options, error, message):
    with pytest.raises(error, match=message):
        stream_text(model_of(256), Bytes(), prompt, 9, **options)


def test_a_tokenizer_of_another_size_is_refused():
    with pytest.raises(InputError, match="the tokenizer has 256 tokens, the model 30"):
        write(model_of(30), Bytes(), "a", 5)


def test_what_is_no_tokenizer_is_refused(unchecked):
    with pytest.raises(InputTypeError, match="tokenizer is a str: give an object with"):
        write(model_of(30), "bytes", "a", 5)
