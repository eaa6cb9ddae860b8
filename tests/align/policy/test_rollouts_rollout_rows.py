"""Rows of several calls as one batch."""

import torch

from mathlm.align.policy.rollouts import joined, pieces, share_rows


def test_narrow_rows_are_filled_so_that_nothing_is_asked_there():
    one = {"ids": torch.tensor([[1, 2]]), "targets": torch.tensor([[2, -100]]),
           "logp": torch.tensor([[-1.0, 0.0]]), "lengths": torch.tensor([1])}  # fmt: skip
    two = {"ids": torch.tensor([[3, 4, 5]]), "targets": torch.tensor([[4, 5, -100]]),
           "logp": torch.tensor([[-1.0, -2.0, 0.0]]), "lengths": torch.tensor([2])}  # fmt: skip
    found = joined([one, two])
    assert found["ids"].tolist() == [[1, 2, 0], [3, 4, 5]]
    assert found["targets"].tolist() == [[2, -100, -100], [4, 5, -100]]
    assert found["logp"].tolist() == [[-1.0, 0.0, 0.0], [-1.0, -2.0, 0.0]]
    assert found["lengths"].tolist() == [1, 2]


def test_pieces_cover_the_rows_once():
    assert [list(rows) for rows in pieces(5, 2)] == [[0, 1], [2, 3], [4]]
    assert [list(rows) for rows in pieces(5, None)] == [[0, 1, 2, 3, 4]]


def test_one_process_makes_all_rows():
    asked = []
    share_rows(lambda *rows: asked.append(rows) or {}, 7, "now", torch.device("cpu"))
    assert asked == [(0, 7)]
