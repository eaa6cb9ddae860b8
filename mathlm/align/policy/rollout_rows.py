"""Rows that several calls, or several processes, have made, as one batch."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from ...errors import ConfigError, InputError
from ...train.batches import Batch
from ...train.distributed import all_sum, is_distributed, rank, ranks
from ...train.objectives import IGNORED

FILL = {"targets": IGNORED}  # behind the end of a row; elsewhere 0


def joined(parts: Sequence[Batch]) -> Batch:
    """Batches one below the other, each as wide as the widest."""
    width = max(part["ids"].shape[1] for part in parts)
    names = parts[0]
    return {
        name: torch.cat([_wide(name, part[name], width) for part in parts]) for name in names
    }


def pieces(rows: int, at_once: int | None) -> list[range]:
    """The rows in turn, at most ``at_once`` of them together."""
    size = rows if at_once is None else at_once
    return [range(start, min(start + size, rows)) for start in range(0, rows, size)]


def share_rows(
    make: Callable[[int, int], Batch], rows: int, where: str, device: torch.device
) -> Batch:
    """Let each process make its share of the rows; all then have all of them.

    An error of one process ends the others too, which otherwise would wait for it.

    Args:
        make: From the first row and the one behind the last to a batch of them on the CPU.
        rows: Of all processes.
        where: When it is, for messages.
        device: Where the processes can add tensors.

    Raises:
        ConfigError: If there are fewer rows than processes.
        InputError: If another process had an error.
    """
    if not is_distributed():
        return make(0, rows)
    if rows < ranks():
        raise ConfigError(f"{rows} rollouts for {ranks()} processes: give at least one each")
    first, last = (rows * (rank() + i) // ranks() for i in (0, 1))
    failure: Exception | None = None
    try:
        share = make(first, last)
    except Exception as error:
        failure = error
    failed = torch.zeros(ranks(), device=device)
    failed[rank()] = failure is not None
    failed = all_sum(failed, where)
    if failure is not None:
        raise failure
    if failed.any():
        raise InputError(
            f"rank {int(failed.nonzero()[0])} could not write its rollouts {where}"
        )
    return _gathered(share, first, rows, where, device)


def _gathered(share: Batch, first: int, rows: int, where: str, device: torch.device) -> Batch:
    """The rows of all processes: each adds its own to zeros, which changes no bit."""
    widths = torch.zeros(ranks(), dtype=torch.int64, device=device)
    widths[rank()] = share["ids"].shape[1]
    width = int(all_sum(widths, where).max())
    whole = {}
    for name in sorted(share):
        own = _wide(name, share[name], width)
        full = torch.zeros(rows, *own.shape[1:], dtype=own.dtype)
        full[first : first + len(own)] = own
        exact = full.long() if own.dtype == torch.bool else full
        whole[name] = all_sum(exact.to(device), where).to("cpu", own.dtype)
    return {name: whole[name] for name in share}


def _wide(name: str, x: Tensor, width: int) -> Tensor:
    """Columns added behind, for tensors that have some."""
    if x.ndim < 2 or x.shape[1] == width:
        return x
    return torch.nn.functional.pad(x, (0, width - x.shape[1]), value=FILL.get(name, 0))
