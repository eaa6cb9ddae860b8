"""Bytes that a rank sends: what theory says of a step, and what the kernel counts."""

import os
import socket
import stat
import struct
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from mathlm.errors import ConfigError

SENT = 200  # place of tcpi_bytes_sent, tcpi_bytes_retrans in the struct tcp_info of Linux
Collective = Literal["all_reduce", "reduce_scatter", "all_gather"]
ROUNDS: dict[str, int] = {"all_reduce": 2, "reduce_scatter": 1, "all_gather": 1}
PASSES = {  # collectives over all parameters in one step of each ZeRO stage
    0: ("all_reduce",),
    1: ("reduce_scatter", "all_gather"),
    2: ("reduce_scatter", "all_gather"),
    3: ("all_gather", "all_gather", "reduce_scatter"),
}


def ring_bytes(collective: Collective, size: int, n: int) -> float:
    """Bytes that each of ``n`` ranks sends in one collective around a ring.

    Implements eq-scale-ring::

        2 (n - 1) / n · size   for all_reduce
          (n - 1) / n · size   for reduce_scatter and all_gather

    Args:
        collective: Which one.
        size: Of the whole, summed or gathered [bytes].
        n: Number of ranks.

    Raises:
        ConfigError: If the collective is not known, or n or the size is too small.
    """
    if collective not in ROUNDS:
        raise ConfigError(f"{collective!r} is not one of {', '.join(ROUNDS)}")
    if n < 1 or size < 0:
        raise ConfigError(f"n={n} must be at least 1 and size={size} not negative")
    return ROUNDS[collective] * (n - 1) / n * size


def step_bytes(stage: int, size: int, n: int) -> float:
    """Bytes that each of ``n`` ranks sends in one training step of a ZeRO stage.

    Computes::

        2 (n - 1) / n · size   for the stages 0 (DDP), 1 and 2
        3 (n - 1) / n · size   for stage 3, which gathers the parameters twice

    Args:
        stage: 0 to 3.
        size: Of the parameters, and so of their gradients [bytes].
        n: Number of ranks.

    Raises:
        ConfigError: If there is no such stage, or n or the size is too small.
    """
    if stage not in PASSES:
        raise ConfigError(f"stage={stage} must be 0, 1, 2 or 3")
    return sum(ring_bytes(name, size, n) for name in PASSES[stage])  # type: ignore[arg-type]


def sent_bytes() -> int | None:
    """Bytes that the TCP connections of this process have sent, as the kernel counts them.

    Headers of gloo's messages are among them; those of TCP, and what it had to send again, are
    not. None where the system is not Linux.
    """
    if not sys.platform.startswith("linux"):
        return None
    return sum(sent_by(int(name)) for name in os.listdir("/proc/self/fd"))


def sent_by(handle: int) -> int:
    """Bytes that one open handle has sent, each once; 0 if it is no TCP connection."""
    try:
        if not stat.S_ISSOCK(os.fstat(handle).st_mode):
            return 0
        with socket.socket(fileno=os.dup(handle)) as connection:
            info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    except OSError:  # closed meanwhile, or a socket of another kind
        return 0
    sent, again = struct.unpack_from("<QQ", info, SENT) if len(info) >= SENT + 16 else (0, 0)
    return sent - again


class Traffic:
    """Bytes sent within a ``with`` block.

    Attributes:
        sent: Bytes, or None where the kernel does not count them.
    """

    def __init__(self) -> None:
        self.sent: int | None = None

    @contextmanager
    def counting(self) -> Iterator["Traffic"]:
        """Count from here to the end of the block."""
        before = settled_bytes()
        yield self
        after = settled_bytes()
        self.sent = None if before is None or after is None else after - before


def settled_bytes() -> int | None:
    """What :func:`sent_bytes` counts once nothing more has gone out for 20 ms.

    A collective is done for a rank when it has what it needs; its own last message may still
    be on the way.
    """
    last, found = -1, sent_bytes()
    while found is not None and found != last:
        time.sleep(0.02)
        last, found = found, sent_bytes()
    return found
