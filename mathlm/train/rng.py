"""Random numbers: seeds that are functions of where they are used, and states as plain JSON."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch


def seed_torch(*place: int) -> None:
    """Seed torch's generators with a function of ``place``, such as (seed, step, rank)."""
    word = np.random.SeedSequence(place).generate_state(1, np.uint64)
    if torch.accelerator.is_available():
        torch.manual_seed(int(word[0]))
    else:  # torch.manual_seed would format a traceback, 1 ms, for a GPU that is not there
        torch.default_generator.manual_seed(int(word[0]))


@contextmanager
def kept_rng(device: torch.device) -> Iterator[None]:
    """Give torch's generators back as they were before the block."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def rng_state() -> dict[str, Any]:
    """The states of the global generators of Python, NumPy and torch, as JSON data."""
    version, words, gauss = random.getstate()
    name, keys, *rest = np.random.get_state()  # noqa: NPY002 (an objective may draw from it)
    return {
        "python": [version, list(words), gauss],
        "numpy": [name, [int(key) for key in keys], *rest],
        "torch": torch.get_rng_state().numpy().tobytes().hex(),
        "cuda": [s.numpy().tobytes().hex() for s in cuda_states()],
    }


def set_rng_state(state: dict[str, Any]) -> None:
    """Restore what :func:`rng_state` returned."""
    version, words, gauss = state["python"]
    random.setstate((version, tuple(words), gauss))
    name, keys, *rest = state["numpy"]
    np.random.set_state((name, np.array(keys, np.uint32), *rest))  # noqa: NPY002
    torch.set_rng_state(from_hex(state["torch"]))
    if len(state["cuda"]) == torch.cuda.device_count():
        torch.cuda.set_rng_state_all([from_hex(s) for s in state["cuda"]])


def cuda_states() -> list[torch.Tensor]:
    """One state for each GPU; none where CUDA has not been used."""
    return torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []


def from_hex(text: str) -> torch.Tensor:
    """The bytes that ``text`` spells, as a tensor of uint8."""
    return torch.tensor(list(bytes.fromhex(text)), dtype=torch.uint8)
