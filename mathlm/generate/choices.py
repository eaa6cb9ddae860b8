"""Where randomness comes from: a stream of random numbers, or every choice in turn."""

from collections.abc import Callable, Hashable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Float

Outcome = TypeVar("Outcome", bound=Hashable)


@runtime_checkable
class Choices(Protocol):
    """Makes the random choices of a program."""

    def token(self, p: Float[Tensor, " V"]) -> int:
        """A token, each with its probability."""
        ...

    def accepts(self, probability: float) -> bool:
        """True with this probability; one above 1 counts as 1."""
        ...


class RandomChoices:
    """Choices made with a stream of random numbers.

    Args:
        stream: NumPy generator; each choice takes one number from it.
    """

    def __init__(self, stream: np.random.Generator) -> None:
        self.stream = stream

    def token(self, p: Float[Tensor, " V"]) -> int:
        """A token, each with its probability."""
        cumulative = p.cumsum(-1)
        u = float(self.stream.random(dtype=np.float32))  # exact in float32: below 1 there too
        return int(torch.searchsorted(cumulative, u * cumulative[-1:], right=True))

    def accepts(self, probability: float) -> bool:
        """True with this probability."""
        return self.stream.random() < probability


class _Path:
    """Choices that follow a path and then take the first way that is possible."""

    def __init__(self, path: tuple[int, ...]) -> None:
        self.path, self.weight = path, 1.0
        self.made: tuple[int, ...] = ()
        self.untried: list[tuple[int, ...]] = []

    def token(self, p: Float[Tensor, " V"]) -> int:
        return self._choose(p.tolist())

    def accepts(self, probability: float) -> bool:
        accept = min(probability, 1.0)
        return self._choose([1.0 - accept, accept]) == 1

    def _choose(self, p: list[float]) -> int:
        if len(self.made) < len(self.path):
            choice = self.path[len(self.made)]
        else:
            choice, *others = [i for i, weight in enumerate(p) if weight > 0]
            self.untried += [(*self.made, other) for other in others]
        self.made += (choice,)
        self.weight *= p[choice]
        return choice


def outcome_distribution(
    run: Callable[[Choices], Outcome], most: int = 1_000_000
) -> dict[Outcome, float]:
    """Exact distribution of what a program returns, from every choice that it can make.

    Computes::

        P(y) = Σ over the paths that end in y of Π over the choices of a path of p(choice)

    The program is run once for each path: for a few tokens of a small vocabulary.

    Args:
        run: The program; all its randomness comes from the choices that it is given, and it
            must do the same each time that these are the same.
        most: Paths at most.

    Returns:
        Probability of each outcome that is possible; they sum to 1.

    Raises:
        InputError: If there are more paths.

    Example:
        >>> coin = torch.tensor([0.5, 0.5])
        >>> outcome_distribution(lambda choices: choices.token(coin) + choices.token(coin))
        {0: 0.25, 1: 0.5, 2: 0.25}
    """
    found: dict[Outcome, float] = {}
    waiting: list[tuple[int, ...]] = [()]
    for _ in range(most):
        path = _Path(waiting.pop())
        outcome = run(path)
        found[outcome] = found.get(outcome, 0.0) + path.weight
        waiting += path.untried
        if not waiting:
            return found
    raise InputError(
        f"after most={most} paths {len(waiting)} or more are left: shorten the program, shrink "
        "the vocabulary, or raise `most`"
    )
