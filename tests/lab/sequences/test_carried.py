import numpy as np
import pytest
import torch

from lab.sequences.carried import carried_loss
from mathlm.errors import DataError, InputError, InputTypeError
from mathlm.models import Recurrent
from mathlm.train import next_token


def test_one_row_carries_one_state_through_everything(rng):
    model, ids = Recurrent(kind="lstm", vocab_size=9, d_model=4), rng.integers(9, size=50)
    row = torch.from_numpy(ids)[None]
    whole, count = next_token(model, {"ids": row[:, :-1], "targets": row[:, 1:]})
    for chunk in (1, 7, 512):
        loss, targets = carried_loss(model, ids, rows=1, chunk=chunk)
        assert (loss, targets) == (pytest.approx(whole.item(), rel=1e-12), count)


def test_parts_are_read_as_texts_of_their_own(rng):
    model, ids = Recurrent(kind="gru", vocab_size=9, d_model=4), rng.integers(9, size=23)
    parts = [carried_loss(model, part, rows=1) for part in (ids[:11], ids[11:22])]
    loss, targets = carried_loss(model, ids, rows=2)
    assert loss == pytest.approx(sum(p[0] for p in parts), rel=1e-12)
    assert targets == sum(p[1] for p in parts) == 20


@pytest.mark.parametrize(("rows", "chunk"), [(0, 8), (1, 0), (6, 8)])
def test_a_text_too_short_for_its_rows_is_refused(rows, chunk):
    model = Recurrent(vocab_size=9, d_model=4)
    with pytest.raises(DataError, match=f"rows={rows}, chunk={chunk}: a text of 11 tokens"):
        carried_loss(model, np.zeros(11, int), rows=rows, chunk=chunk)


def test_nothing_is_dropped_and_the_mode_of_the_model_stays(rng):
    model, ids = Recurrent(vocab_size=9, d_model=4, dropout=0.5), rng.integers(9, size=40)
    assert carried_loss(model, ids, rows=2) == carried_loss(model, ids, rows=2)
    assert model.training
    assert carried_loss(model.eval(), ids, rows=2) == carried_loss(model.train(), ids, rows=2)


@pytest.mark.parametrize(
    ("ids", "error", "says"),
    [
        (np.full(20, 1.7), InputTypeError, "must be integers, got float64"),
        (np.ones((4, 9), int), InputError, r"one dimension, got ids of shape \(4, 9\)"),
        (np.full(20, 9), InputError, r"token id 9 at \[0, 0\] is outside 0..8"),
    ],
)
def test_ids_that_are_no_text_are_refused(ids, error, says):
    with pytest.raises(error, match=says):
        carried_loss(Recurrent(vocab_size=9, d_model=4), ids, rows=2)
