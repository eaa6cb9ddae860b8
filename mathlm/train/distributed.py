"""Sums over ranks; each function is the identity when there is one process."""

import logging
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from functools import cache
from typing import Literal

import torch
import torch.distributed as dist
from torch import Tensor, nn

from ..errors import ConfigError, DeviceError, MathLMError
from ..optim.clipping import is_sharded

log = logging.getLogger(__name__)
DeviceName = Literal["cpu", "cuda", "auto"]


def resolve_device(name: DeviceName = "auto") -> torch.device:
    """The device that ``name`` stands for on this machine.

    Args:
        name: ``cpu``, ``cuda``, or ``auto``: CUDA where there is one, else the CPU.

    Returns:
        The device; under ``torchrun`` the GPU of the local rank.

    Raises:
        ConfigError: If the name is another one.
        DeviceError: If CUDA is asked for and torch sees none.

    Example:
        >>> resolve_device("cpu")
        device(type='cpu')
    """
    if name not in ("cpu", "cuda", "auto"):
        raise ConfigError(f"device={name!r} must be 'cpu', 'cuda' or 'auto'")
    if name == "cpu":
        return torch.device("cpu")
    if torch.cuda.is_available():
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    if name == "cuda":
        raise DeviceError(
            "CUDA was asked for but torch sees none; use device='cpu' or 'auto', or install a "
            f"CUDA build of torch (this one is {torch.__version__})"
        )
    say_no_cuda()
    return torch.device("cpu")


@cache
def say_no_cuda() -> None:
    """Say once in a process what ``auto`` has found."""
    log.info("device='auto': torch sees no CUDA, the run uses the CPU")


RELEASE = 0.1  # seconds in which they may have the lock
KEPT: list[dist.ProcessGroup | None] = []  # groups whose destructor runs when Python ends
NETWORK_SIGNS = (  # in the words of gloo and nccl
    "gloo/transport",
    "connection closed",
    "connection reset",
    "connection refused",
    "broken pipe",
    "timed out",
    "timeout",
    "ncclremoteerror",
    "ncclsystemerror",
    "communicator was aborted",
)


class RankError(MathLMError, RuntimeError):
    """Another process of a distributed run does not answer."""


@contextmanager
def process_group(device: DeviceName = "cpu", timeout: float = 60.0) -> Iterator[None]:
    """Join the processes that ``torchrun`` started; without ``torchrun`` there is one.

    Args:
        device: Where the processes compute: CPUs talk through gloo, GPUs through nccl.
        timeout: Longest wait for another rank [seconds].

    Example:
        >>> with process_group():  # not started by torchrun: one process
        ...     dist.is_initialized()
        False
    """
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    os.environ["MATHLM_RANK_TIMEOUT"] = f"{timeout:g}"
    backend = "gloo" if device == "cpu" or not torch.cuda.is_available() else "nccl"
    dist.init_process_group(backend, timeout=timedelta(seconds=timeout))
    try:
        yield
    finally:
        leave_group()


def leave_group() -> None:
    """End the process group; never wait for gloo's threads while Python's lock is held.

    They need that lock to drop the tensors of the last collectives, and the destructor of the
    group waits for them with the lock: it must not run before they are done.
    """
    KEPT.append(dist.group.WORLD)
    time.sleep(RELEASE)
    dist.destroy_process_group()


def is_distributed() -> bool:
    """Whether this process is one of several."""
    return dist.is_available() and dist.is_initialized() and dist.get_world_size() > 1


def rank() -> int:
    """Number of this process, from 0."""
    return dist.get_rank() if is_distributed() else 0


def ranks() -> int:
    """Number of processes."""
    return dist.get_world_size() if is_distributed() else 1


def all_sum(values: Tensor, where: str = "") -> Tensor:
    """Sum of ``values`` over ranks, in place.

    Raises:
        RankError: If a rank does not answer; ``where`` says when.
    """
    if is_distributed():
        with answering(where):
            dist.all_reduce(values)
    return values


def sum_gradients(parameters: list[nn.Parameter], where: str = "") -> None:
    """Replace each gradient by its sum over ranks.

    A parameter that no rank has a gradient for keeps none.
    """
    if not is_distributed():
        return
    has = torch.tensor([p.grad is not None for p in parameters], device=parameters[0].device)
    has = all_sum(has.long(), where)
    used = [p for p, n in zip(parameters, has.tolist(), strict=True) if n]
    if not used:
        return
    for p in used:
        p.grad = torch.zeros_like(p) if p.grad is None else p.grad
    gradients = [p.grad for p in used if p.grad is not None]
    flat = all_sum(torch.cat([g.flatten() for g in gradients]), where)
    for g, summed in zip(gradients, flat.split([g.numel() for g in gradients]), strict=True):
        g.copy_(summed.view_as(g))


def share_from_first(tensors: Iterator[Tensor], where: str = "") -> None:
    """Give every rank the values of rank 0; a shard stays, it is its rank's own."""
    if is_distributed():
        with answering(where, only_network=True), torch.no_grad():
            for tensor in tensors:
                if not is_sharded(tensor):
                    dist.broadcast(tensor, 0)


@contextmanager
def answering(where: str, only_network: bool = False) -> Iterator[None]:
    """Name the rank that is gone when a collective fails.

    Args:
        where: When it was.
        only_network: Whether other errors may occur in the block; these pass unchanged.
    """
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, RankError) or (only_network and not is_network_error(error)):
            raise
        others = [str(r) for r in range(ranks()) if r != rank()]
        name = (
            f"rank {others[0]}" if len(others) == 1 else f"one of the ranks {', '.join(others)}"
        )
        seconds = os.environ.get("MATHLM_RANK_TIMEOUT", "?")
        raise RankError(
            f"{name} did not answer within {seconds} s{where and ' ' + where}; nothing was "
            "saved for this step, start the run again to resume from the last checkpoint"
        ) from error


def is_network_error(error: RuntimeError) -> bool:
    """Whether torch's words tell of a rank that is gone or late."""
    text = str(error).lower()
    signs = any(sign in text for sign in NETWORK_SIGNS)
    return signs or isinstance(error, dist.DistNetworkError)
