"""Whether a model has read a row: its likelihood, and that of its unlikeliest tokens."""

from typing import NamedTuple

import numpy as np
import torch
from numpy import ndarray

from mathlm.models import GPT

LEAST = 0.2  # share of a row's tokens that Min-K% looks at


class Area(NamedTuple):
    """How well a score separates rows that were read from rows that were not.

    Args:
        area: Chance that a row that was read scores higher than one that was not, with half a
            win for a tie: the area under the curve of hits over false alarms.
        error: Its standard error over both samples of rows.
    """

    area: float
    error: float


@torch.no_grad()
def scores(model: GPT, rows: ndarray) -> dict[str, ndarray]:
    """Two scores of every row that are higher where the model knows it.

    Args:
        model: That may have read them.
        rows: Of tokens, (N, T).

    Returns:
        "likelihood", the mean log-probability of its tokens after the first, and "min-k", that
        of the :data:`LEAST` of them that are least likely (Shi et al., 2023); (N,) [nats].
    """
    ids = torch.from_numpy(rows)
    logp = model(ids[:, :-1]).log_softmax(-1).gather(-1, ids[:, 1:, None])[..., 0].double()
    fewest = logp.sort(1).values[:, : max(1, round(LEAST * logp.shape[1]))]
    return {"likelihood": logp.mean(1).numpy(), "min-k": fewest.mean(1).numpy()}


def separation(read: ndarray, unread: ndarray) -> Area:
    """Area under the curve of two samples of scores, with its error.

    The error is that of DeLong et al. (1988): every row has its share of won comparisons, and
    the shares of the two samples vary independently.

    Args:
        read: Scores of rows that may have been read, (M,).
        unread: Of rows of the same kind that were not, (N,).
    """
    won = (read[:, None] > unread) + 0.5 * (read[:, None] == unread)  # (M, N)
    parts = [won.mean(1), won.mean(0)]
    error = np.sqrt(sum(part.var(ddof=1) / len(part) for part in parts))
    return Area(float(won.mean()), float(error))
