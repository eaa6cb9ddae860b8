"""The sentences, and what each objective makes of them."""

import numpy as np
import pytest
import torch

from lab.architectures.code_pairs import (
    OBJECTIVES,
    cut,
    cut_words,
    draw_span,
    hidden_words,
    mark,
    next_words,
    sentences,
    vocabulary,
)
from mathlm.text import restore_spans


def test_a_sentence_says_a_code_in_both_languages():
    assert vocabulary().decode(sentences()[417]) == "four one seven = quatre un sept"
    assert vocabulary().decode(sentences()[6]) == "zero zero six = zéro zéro six"
    assert sentences().shape == (1000, 9)
    assert len(np.unique(sentences(), axis=0)) == 1000


def test_a_gpt_is_asked_for_the_next_word(rng):
    batch = next_words(sentences()[[417]], rng)
    assert torch.equal(batch.inputs[0][0, 1:], batch.targets[0, :-1])
    assert vocabulary().decode(batch.targets[0]) == "four one seven = quatre un sept"


@pytest.mark.parametrize("published", [True, False])
def test_a_bert_is_asked_for_what_is_hidden(rng, published):
    rows = sentences()[:200]
    batch = hidden_words(rows, rng, published)
    asked = batch.targets != -100
    assert torch.equal(batch.targets[asked], torch.from_numpy(rows)[asked])
    hidden = batch.inputs[0] == mark("<mask>")
    assert not (hidden & ~asked).any()
    assert (hidden == asked).all() != published
    if published:
        assert (asked.sum(1) == 1).all()


@pytest.mark.parametrize("published", [True, False])
def test_an_encoder_decoder_is_asked_for_what_was_cut_out(rng, published):
    rows = sentences()[:200]
    batch = cut_words(rows, rng, published)
    marks = [mark("<hole>"), mark("<end>")]
    for row, source, answer in zip(rows, batch.inputs[0], batch.targets, strict=True):
        source, answer = source[source != 0], answer[answer != -100]
        text = restore_spans(source.numpy(), answer.numpy(), sentinels=marks)
        assert np.array_equal(text, row[1:])
        assert not published or len(answer) == 3
    assert (batch.inputs[1][:, 0] == 1).all()
    assert torch.equal(batch.masks["source_mask"], batch.inputs[0] != 0)


def test_any_span_may_be_cut_out(rng):
    """Of 8 words there are 9 · 8 / 2 = 36 spans."""
    spans = {draw_span(rng, False) for _ in range(1000)}
    assert len(spans) == 36
    assert {draw_span(rng, True) for _ in range(200)} == {(i, i + 1) for i in range(1, 9)}


def test_source_and_target_of_a_cut_by_hand():
    hole, end = mark("<hole>"), mark("<end>")
    assert cut([1, 10, 11, 12, 2], 2, 4) == ([10, hole, 2], [1, hole, 11, 12, end])


def test_batches_are_a_function_of_the_generator():
    for objective in OBJECTIVES.values():
        one, two = (objective(sentences()[:9], np.random.default_rng(5), False) for _ in "ab")
        assert torch.equal(one.targets, two.targets)


@pytest.mark.parametrize("kind", OBJECTIVES)
def test_what_is_read_begins_with_a_mark(kind, rng):
    ids = OBJECTIVES[kind](sentences()[[417]], rng).inputs[0][0]
    read = [vocabulary().symbols[i] for i in ids]
    assert (read[0] == "<bos>") == (kind != "encoder-decoder")
    assert read.count("<hole>") == (kind == "encoder-decoder")
