"""Which rows of an embedding table each optimizer moves, and which of them were looked up.

A table learns the rows of another one, from batches of ids: the loss of a batch is half the
squared distance of the rows that it looks up, mean over its ids.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor, nn

from mathlm.errors import ConfigError
from mathlm.models import GPT
from mathlm.optim import SGD, Adam, AdamW
from mathlm.train.objectives import next_token

MOMENTUM, DECAY = 0.9, 0.1
OPTIMIZERS: dict[str, Callable[..., torch.optim.Optimizer]] = {
    "SGD": SGD,
    "SGD with momentum": partial(SGD, momentum=MOMENTUM),
    "SGD with weight decay": partial(SGD, weight_decay=DECAY),
    "Adam": Adam,
    "SparseAdam": torch.optim.SparseAdam,
    "AdamW": partial(AdamW, weight_decay=DECAY),
}


@dataclass(frozen=True, kw_only=True)
class RowUpdates:
    """What happened to V rows in a number of steps.

    Args:
        looked_up: Whether the batch of a step held the id of a row (steps, V).
        moved: How far the step moved it, as a Euclidean distance (steps, V).
        tables: All rows before the first step and after each (steps + 1, V, D).
    """

    looked_up: ndarray
    moved: ndarray
    tables: ndarray

    @property
    def from_start(self) -> ndarray:
        """Distance of each row from where it began, after each step (steps, V)."""
        return np.linalg.norm(self.tables[1:] - self.tables[0], axis=2)


def follow(
    optimizer: str, batches: Sequence[Tensor], rows: int, width: int = 8, lr: float = 0.01
) -> RowUpdates:
    """Train one table, in float64, and record every row after every step.

    Raises:
        ConfigError: If there is no such optimizer, or an id is outside the table.
    """
    if optimizer not in OPTIMIZERS:
        raise ConfigError(f"no optimizer {optimizer!r} here; there are {sorted(OPTIMIZERS)}")
    if not all(len(ids) and ids.min() >= 0 and ids.max() < rows for ids in batches):
        raise ConfigError(f"a batch is empty or has an id outside the table: rows={rows}")
    draws = torch.Generator().manual_seed(0)
    start, target = torch.randn(2, rows, width, generator=draws, dtype=torch.float64)
    table = nn.Embedding(rows, width, sparse=optimizer == "SparseAdam", _weight=start)
    update = OPTIMIZERS[optimizer](list(table.parameters()), lr=lr)
    tables, looked_up = [start.numpy().copy()], np.zeros((len(batches), rows), dtype=bool)
    for step, ids in enumerate(batches):
        update.zero_grad()
        (0.5 * (table(ids) - target[ids]).square().sum(-1).mean()).backward()
        update.step()
        looked_up[step, ids.numpy()] = True
        tables.append(table.weight.detach().numpy().copy())
    moved = np.linalg.norm(np.diff(tables, axis=0), axis=2)
    return RowUpdates(looked_up=looked_up, moved=moved, tables=np.array(tables))


def gradient_by_row(model: GPT, ids: Tensor) -> ndarray:
    """Length of the gradient of next-token loss in each row of a GPT's token embedding (V,)."""
    loss, count = next_token(model, {"ids": ids[:, :-1], "targets": ids[:, 1:]})
    (gradient,) = torch.autograd.grad(loss / count, [model.token_embedding.weight])
    return gradient.norm(dim=1).numpy()
