"""A batch is a dict of tensors with one row for each sample."""

from torch import Tensor

from ..errors import InputError

Batch = dict[str, Tensor]


class Idle(dict[str, Tensor]):
    """A batch that counts on another rank; here it passes through the model with weight 0."""


def check_rows(batch: Batch, now: str) -> int:
    """Rows of a batch, which all its tensors must have."""
    rows = {name: len(tensor) for name, tensor in batch.items()}
    if len(set(rows.values())) != 1 or 0 in rows.values():
        raise InputError(
            f"the tensors of a batch must have equally many rows, at least one; {now}: {rows}"
        )
    return next(iter(rows.values()))


def split(batch: Batch, rows: int, parts: int) -> list[Batch]:
    """Cut ``batch`` into at most ``parts`` batches of nearly equal size, none of them empty."""
    parts = min(parts, rows)
    columns = {name: tensor.tensor_split(parts) for name, tensor in batch.items()}
    return [{name: column[i] for name, column in columns.items()} for i in range(parts)]


def name_samples(batch: Batch) -> str:
    """The numbers of the samples in ``batch``; without an ``index`` those of its rows."""
    rows = range(len(next(iter(batch.values()))))
    return ", ".join(str(int(i)) for i in batch.get("index", rows))
