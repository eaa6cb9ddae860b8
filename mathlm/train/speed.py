"""How fast a run is, for its log; never part of its history, which is the same each time."""

import time
from collections.abc import Iterator
from contextlib import contextmanager


class Speed:
    """Targets per second of training since the rate was last read."""

    def __init__(self) -> None:
        self.targets, self.seconds = 0.0, 0.0

    @contextmanager
    def timing(self) -> Iterator[None]:
        """Count the time of the block."""
        start = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - start

    def read(self) -> float:
        """The rate [targets/s]; the count begins anew."""
        rate = self.targets / self.seconds if self.seconds else 0.0
        self.targets = self.seconds = 0.0
        return rate
