"""Fair turns: ours and theirs alternate, so that a busy machine slows both."""

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version

import torch

PACKAGES = "transformers", "tokenizers", "peft", "trl", "gguf", "torch"
Run = Callable[[], object]


@dataclass(frozen=True)
class Row:
    """One comparison; a ratio above 1 means that ours is better.

    Args:
        name: What is measured.
        peer: What it is measured against.
        ours: Our rate, or size.
        theirs: That of the peer.
        unit: Of both.
        ratio: Ours / theirs; for sizes, theirs / ours.
        spread: The least and the largest ratio of the rounds; None = it is no time.
    """

    name: str
    peer: str
    ours: float
    theirs: float
    unit: str
    ratio: float
    spread: tuple[float, float] | None = None

    @property
    def version(self) -> str:
        """The package of the peer and its version, as installed; "" if it is none."""
        found = next((name for name in PACKAGES if name in self.peer), None)
        return "" if found is None else f"{found} {version(found)}"


def seconds(run: Run, repeats: int) -> float:
    """Seconds of one call, over ``repeats`` calls, until a GPU has done them."""
    start = time.perf_counter()
    for _ in range(repeats):
        run()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return (time.perf_counter() - start) / repeats


def compare(
    name: str,
    peer: str,
    ours: Run,
    theirs: Run,
    *,
    work: float,
    unit: str,
    rounds: int = 9,
    repeats: int = 2,
) -> Row:
    """Time both sides in turn.

    Args:
        name: What is measured.
        peer: What it is measured against.
        ours: One call of ours.
        theirs: The same work by the peer.
        work: Units of work in a call; rates are work per second.
        unit: Unit of the rates.
        rounds: Turns that each side gets, after one that does not count.
        repeats: Calls in a turn.

    Returns:
        Median rates, and the median, the least and the largest of the rounds' ours / theirs.
    """
    seconds(ours, 1), seconds(theirs, 1)
    turns = [(seconds(ours, repeats), seconds(theirs, repeats)) for _ in range(rounds)]
    a, b = (work / statistics.median(side) for side in zip(*turns, strict=True))
    ratios = [round(t / o, 3) for o, t in turns]
    spread = min(ratios), max(ratios)
    ratio = statistics.median(ratios)
    return Row(name, peer, round(a, 1), round(b, 1), unit, round(ratio, 3), spread)
