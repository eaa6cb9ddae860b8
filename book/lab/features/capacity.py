"""How many directions fit into a space, and how many of them can be told apart at once."""

import math
from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from mathlm.errors import InputError, InputTypeError
from mathlm.shapes import Float

ROWS = 4096  # directions that are held at once


def random_directions(count: int, width: int, seed: int = 0) -> Float[Tensor, "m D"]:
    """Vectors of length 1, evenly spread over all directions, in float32.

    Args:
        count: How many, m.
        width: Of the space, D.
        seed: Of the draw.
    """
    require_counts(count, width)
    return torch.cat([*direction_chunks(count, width, seed)])


def direction_chunks(count: int, width: int, seed: int) -> Iterator[Float[Tensor, "rows D"]]:
    """:func:`random_directions`, some rows at a time."""
    generator = torch.Generator().manual_seed(seed)
    for start in range(0, count, ROWS):
        rows = min(ROWS, count - start)
        x = torch.randn(rows, width, generator=generator, dtype=torch.float32)
        yield x.div_(x.norm(dim=-1, keepdim=True))


def welch_bound(count: int, width: int) -> float:
    """Least root mean square of the cosines between directions, however they are placed.

    Implements eq-feature-welch::

        √((m - D) / (D (m - 1))),   0 if m ≤ D

    The largest cosine is no smaller. So more directions than dimensions always interfere.

    Args:
        count: Number m of directions, 2 or more.
        width: Number D of dimensions.

    References:
        Welch (1974), Lower bounds on the maximum cross correlation of signals.
    """
    require_counts(count, width)
    if count < 2:
        raise InputError(f"count={count} must be 2 or more: one direction has no other")
    return math.sqrt(max(0, count - width) / (width * (count - 1)))


def readout_rule(width: int, count: int) -> float:
    """About how many of m random features can be there at once and be read by a threshold.

    Implements eq-feature-rule::

        k = D / (8 log m)

    The noise of k features has variance k/D; that it passes ½ anywhere among m has a
    probability of at most m exp(- D / (8 k)), which is 1 at this k.

    Args:
        width: Number D of dimensions.
        count: Number m of features, 2 or more.

    Example:
        >>> round(readout_rule(4096, 100_000), 1)
        44.5
    """
    require_counts(count, width)
    if count < 2:
        raise InputError(f"count={count} must be 2 or more")
    return width / (8 * math.log(count))


def readout_success(width: int, count: int, active: int) -> float:
    """Probability that a threshold of ½ reads all of m random features right.

    Implements eq-feature-success::

        Φ(½ √(D / k))^(m - k) · Φ(½ √(D / (k - 1)))^k

    for k active ones of strength 1, with Gaussian noise, independent from one to the other:
    very nearly so for D of 100 and more. Φ is the distribution function of a normal variable.

    Args:
        width: Number D of dimensions.
        count: Number m of features.
        active: Number k of those that are there.
    """
    require_counts(count, width, active)
    noise = torch.tensor([active, max(active - 1, 1e-9)], dtype=torch.float64)
    silent, heard = torch.special.log_ndtr((width / noise).sqrt() / 2).tolist()
    return math.exp((count - active) * silent + active * heard)


def measured_readout(
    width: int, count: int, active: Sequence[int], *, trials: int = 20, seed: int = 0
) -> tuple[Float[Tensor, " sizes"], Float[Tensor, " sizes"]]:
    """How often all of m random features are read right when k of them are there.

    Each trial adds up k different directions f and reads every feature i as fᵢ · x. The
    features that are there are among the first 4096 directions; since all are drawn alike, they
    are as good as any.

    Args:
        width: Number D of dimensions.
        count: Number m of features.
        active: Numbers k, each at most 4096.
        trials: For each k.
        seed: Of directions and choices.

    Returns:
        For each k, the share of trials in which every read-out is on the right side of ½; and
        that in which every active feature is read larger than every other.
    """
    if not isinstance(active, Sequence):
        raise InputTypeError(f"active is a {type(active).__name__}: give a list of numbers k")
    require_counts(count, width)
    for k in active:
        require_counts(min(count, ROWS), width, k)
    if trials < 1 or not len(active):
        raise InputError(f"{trials=} and {len(active)} sizes: expected 1 or more of each")
    chunks = direction_chunks(count, width, seed)
    first = next(chunks)
    there = chosen(active, trials, len(first), seed + 1)  # (sizes trials, rows)
    x = there.to(first) @ first
    reads = first @ x.mT  # (rows, sizes trials)
    least = reads.masked_fill(~there.mT, math.inf).amin(0)
    loudest = reads.masked_fill(there.mT, -math.inf).amax(0)
    for rows in chunks:
        loudest = loudest.maximum((rows @ x.mT).amax(0))
    right = torch.stack([(least > 0.5) & (loudest < 0.5), least > loudest]).double()
    threshold, ranked = right.unflatten(1, (len(active), trials)).mean(-1)
    return threshold, ranked


def chosen(active: Sequence[int], trials: int, count: int, seed: int) -> Tensor:
    """Which features are there in each trial, bool."""
    generator = torch.Generator().manual_seed(seed)
    order = torch.rand(len(active) * trials, count, generator=generator).argsort(-1).argsort(-1)
    return order < torch.tensor(active).repeat_interleave(trials)[:, None]


def require_counts(count: int, width: int, active: int = 1) -> None:
    """Refuse numbers that are out of range, or not whole."""
    for size in (count, width, active):
        if type(size) is not int:
            raise InputTypeError(f"{count=}, {width=} and {active=} must be whole numbers")
    if count < 1 or width < 1 or not 1 <= active <= count:
        raise InputError(
            f"{count=} and {width=} must be 1 or more, and {active=} from 1 to {count}"
        )
