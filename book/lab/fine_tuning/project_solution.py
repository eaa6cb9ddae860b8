"""Reference solution of the project of this page."""

import numpy as np
from numpy import ndarray

IGNORED = -100


def pack(chats: list, context: int) -> tuple[ndarray, ndarray, ndarray]:
    """Rows of whole conversations: ids, targets and documents."""
    rows: list[list] = []
    for ids, mask in chats:
        if len(ids) > context:
            continue
        room = (r for r in rows if sum(len(c[0]) for c in r) + len(ids) <= context)
        row = next(room, None)
        if row is None:
            rows.append(row := [])
        row.append((ids, mask))
    shape = len(rows), context
    found = np.zeros(shape, int), np.full(shape, IGNORED), np.full(shape, -1)
    for i, row in enumerate(rows):
        start = 0
        for number, (ids, mask) in enumerate(row):
            end = start + len(ids)
            found[0][i, start:end] = ids
            found[1][i, start : end - 1] = np.where(mask, ids, IGNORED)[1:]
            found[2][i, start:end] = number
            start = end
    return found


def mean_loss(logp: ndarray, targets: ndarray) -> float:
    """Mean negative log-likelihood of the targets that are learned."""
    learned = targets != IGNORED
    of = np.where(learned, targets, 0)
    picked = np.take_along_axis(logp, of[..., None], -1)[..., 0]
    return float(-picked[learned].sum() / learned.sum())
