"""The collectives of data parallelism, written out as messages around a ring.

Each rank sends to the next one and receives from the one before, n - 1 times for n ranks, one
n-th of the numbers at a time: no rank is a bottleneck, whatever n is.
"""

import torch
import torch.distributed as dist
from torch import Tensor

from mathlm.errors import InputError
from mathlm.train.distributed import rank, ranks


def exchange(piece: Tensor) -> Tensor:
    """Send ``piece`` to the next rank; returns what the one before sent."""
    received = torch.empty_like(piece)
    sending = dist.isend(piece.contiguous(), (rank() + 1) % ranks())
    dist.recv(received, (rank() - 1) % ranks())
    if sending is not None:
        sending.wait()
    return received


def pieces(values: Tensor) -> list[Tensor]:
    """Copies of the n equal parts of ``values``.

    Raises:
        InputError: If its first axis does not divide by n.
    """
    if len(values) % ranks():
        raise InputError(
            f"{len(values)} rows cannot be cut into {ranks()} equal parts: pad them to a "
            f"multiple of {ranks()}"
        )
    return [part.clone() for part in values.chunk(ranks())]


def reduce_scatter(values: Tensor) -> Tensor:
    """Rank r's part, the r-th of n, of the sum of ``values`` over ranks.

    A part goes around the ring and gathers each rank's share of the sum. A rank sends
    (n - 1) / n of the bytes of ``values``.

    Args:
        values: As large on every rank; its first axis divides by n.
    """
    parts, n, r = pieces(values), ranks(), rank()
    for k in range(n - 1):
        parts[(r - k - 2) % n] += exchange(parts[(r - k - 1) % n])
    return parts[r]


def all_gather(part: Tensor) -> Tensor:
    """The parts of all ranks one after another, known to each rank.

    A rank sends (n - 1) / n of the bytes of the whole.

    Args:
        part: As large on every rank.
    """
    n, r = ranks(), rank()
    parts = [part] * n
    for k in range(n - 1):
        parts[(r - k - 1) % n] = exchange(parts[(r - k) % n])
    return torch.cat(parts)


def all_reduce(values: Tensor) -> Tensor:
    """The sum of ``values`` over ranks, known to each rank: first scattered, then gathered.

    A rank sends 2 (n - 1) / n of the bytes of ``values``: twice their number at most, however
    many ranks there are.

    Args:
        values: As large on every rank; its first axis divides by n.
    """
    return all_gather(reduce_scatter(values))
