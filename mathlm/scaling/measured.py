"""What a piece of work costs: CPU time, memory, and how both grow with its size.

    python -m mathlm.scaling.measured attention-cost.json --start 256

Fits the exponents of a record of attention_cost anew.
"""

import argparse
import json
import time
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from ..errors import ConfigError


def cpu_seconds(work: Callable[[], object], repeats: int, calls: int = 1) -> float:
    """Least CPU time of one call over some turns of several calls each."""
    turns = []
    for _ in range(repeats):
        start = time.process_time()
        for _ in range(calls):
            work()
        turns.append((time.process_time() - start) / calls)
    return min(turns)


def traced_peak(work: Callable[[], object]) -> int:
    """Largest memory that NumPy takes during a call, beyond what was there [bytes]."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def saved_bytes(work: Callable[[], object]) -> int:
    """Bytes of all storages that autograd keeps of one call for its backward pass."""
    storages = dict[int, torch.UntypedStorage]()

    def keep(x: Tensor) -> Tensor:
        storage = x.untyped_storage()
        storages[storage.data_ptr()] = storage  # held, so that no other takes its address
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        work()
    return sum(storage.nbytes() for storage in storages.values())


def profiled_peak(work: Callable[[], object]) -> int:
    """Largest sum of what torch allocated during one call and had not freed yet [bytes]."""
    with torch.profiler.profile(profile_memory=True, acc_events=True) as profiler:
        work()
    events = profiler.profiler.kineto_results.events()  # type: ignore[union-attr]
    moves = [(e.start_ns(), e.nbytes()) for e in events if e.name() == "[memory]"]
    held, largest = 0, 0
    for _, size in sorted(moves, key=lambda move: move[0]):
        held += size
        largest = max(largest, held)
    return largest


def fitted_exponent(sizes: Sequence[float | int], costs: Sequence[float | int]) -> float:
    """Exponent p of the power law that is nearest on logarithmic axes, by least squares.

    Computes::

        log cost ≈ log c + p log size

    Args:
        sizes: Two different ones or more.
        costs: One for each size.

    Raises:
        ConfigError: If there are fewer sizes, or a number is not positive and finite.
    """
    if len(set(sizes)) < 2 or len(sizes) != len(costs):
        raise ConfigError(
            f"{len(sizes)} sizes and {len(costs)} costs: give as many of both, two at least"
        )
    numbers = np.array([sizes, costs], dtype=float)
    if not (np.isfinite(numbers).all() and (numbers > 0).all()):
        raise ConfigError(f"sizes {list(sizes)} and costs {list(costs)} must all be positive")
    x, y = np.log(numbers)
    x = x - x.mean()
    return float(x @ y / (x @ x))


def exponents(rows: Sequence[dict], cost: str, start: int = 0) -> dict[str, float]:
    """Fitted exponent of one cost in the length, for each form, from length ``start`` on."""
    found = {}
    for form in {row["form"]: None for row in rows}:
        kept = [row for row in rows if row["form"] == form and row["length"] >= start]
        lengths, costs = [row["length"] for row in kept], [row[cost] for row in kept]
        found[form] = fitted_exponent(lengths, costs)
    return found


def main(argv: Sequence[str] | None = None) -> None:
    """Print the exponents of every cost."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("record", type=Path)
    parser.add_argument("--start", type=int, default=1024, help="least length that counts")
    args = parser.parse_args(argv)
    record = json.loads(args.record.read_text())
    for half in ("torch", "numpy"):
        for cost in sorted(set(record[half][0]) - {"form", "length"}):
            print(half, cost, exponents(record[half], cost, args.start))


if __name__ == "__main__":
    main()
