"""Ways to fill holes, with models that are known."""

import numpy as np
import pytest
import torch
from torch import nn

from lab.architectures.architecture_probes import (
    PROBES,
    at_once,
    decode,
    examine,
    go_on,
    is_true,
    one_by_one,
    shares,
    try_all,
)
from lab.architectures.code_pairs import mark, sentences, vocabulary
from mathlm.errors import InputTypeError

pytestmark = pytest.mark.usefixtures("unchecked")  # the models here are no GPT and no BERT
ROWS = sentences()[[417, 30, 999]]
V = len(vocabulary())


class Knows(nn.Module):
    """Says the words of ``ROWS``, whatever it reads; ``shift`` places later."""

    def __init__(self, shift):
        super().__init__()
        self.shift = shift

    def forward(self, ids):
        said = torch.from_numpy(np.roll(ROWS, -self.shift, 1))[:, : ids.shape[1]]
        said = said.repeat_interleave(len(ids) // len(ROWS), 0)
        return 5.0 * nn.functional.one_hot(said, V).double()


class KnowsSpans(nn.Module):
    """Says the target of a cut; with ``more``, a word more."""

    def __init__(self, start, stop, more=()):
        super().__init__()
        inside = [[*row[start:stop], *more] for row in ROWS.tolist()]
        self.says = torch.tensor([[mark("<hole>"), *row, mark("<end>"), 2] for row in inside])

    def encode(self, source):
        return source

    def decode(self, target, memory):
        return nn.functional.one_hot(self.says[:, : target.shape[1]], V).double()


@pytest.mark.parametrize("span", [(1, 2), (5, 9), (1, 4), (3, 9)])
def test_models_that_know_the_sentence_fill_every_hole(span):
    for fill, model in ((go_on, Knows(1)), (one_by_one, Knows(0)), (at_once, Knows(0))):
        assert np.array_equal(fill(model, ROWS, *span), ROWS)
    assert np.array_equal(decode(KnowsSpans(*span), ROWS, *span), ROWS)
    assert np.array_equal(try_all(Knows(1), ROWS, 2, 3), ROWS)


def test_a_hole_is_hidden_from_the_model():
    """One that repeats what it reads fills nothing rightly."""

    def repeats(ids):
        return nn.functional.one_hot(ids, V).double()

    for fill in (at_once, one_by_one):
        assert (fill(repeats, ROWS, 5, 8)[:, 5:8].numpy() != ROWS[:, 5:8]).all()
    before = ROWS.copy()
    go_on(repeats, ROWS, 5, 8)
    assert np.array_equal(ROWS, before)


def test_a_filling_of_another_length_is_wrong():
    assert (decode(KnowsSpans(5, 8, more=[7]), ROWS, 5, 8) == 0).all()
    assert (decode(KnowsSpans(5, 7), ROWS, 5, 8).numpy() != ROWS).any(1).all()


def test_one_by_one_takes_the_surest_place_first():
    """The model is surest of what stands last."""
    places = []

    def model(ids):
        places.append((ids == mark("<mask>"))[0].nonzero().flatten().tolist())
        sure = torch.arange(9.0)[None, :, None] * nn.functional.one_hot(torch.tensor(V - 1), V)
        return sure.expand(len(ids), 9, V).clone()

    one_by_one(model, ROWS, 5, 8)
    assert places == [[5, 6, 7], [5, 6], [5]]


def test_a_continuation_is_right_if_the_sentence_is_true():
    other = sentences()[[415, 31, 990]]
    wrong = np.where(np.arange(9) == 3, other, ROWS)
    assert is_true(other).all()
    assert not is_true(wrong).any()
    found = shares(None, ROWS, lambda *_: torch.from_numpy(other))
    assert found["continue"] == 1.0
    assert found["translate"] == 0.0


def test_other_models_are_refused():
    with pytest.raises(InputTypeError, match="no way to fill holes with a Linear"):
        examine(nn.Linear(2, 2), ROWS)


@pytest.mark.parametrize(
    ("name", "asked"),
    [
        ("word on the left", "___ one seven = quatre un sept"),
        ("translate", "four one seven = ___"),
        ("translate back", "___ = quatre un sept"),
        ("continue", "four one ___"),
    ],
)
def test_a_probe_asks_for_its_part_of_the_sentence(name, asked):
    words, (start, stop) = vocabulary().decode(sentences()[417]).split(), PROBES[name][0]
    assert " ".join([*words[: start - 1], "___", *words[stop - 1 :]]) == asked
