"""What skip-gram is trained on: pairs of neighbors, and words drawn to tell them from."""

from typing import cast

import numpy as np
import torch
from numpy import ndarray
from torch import Tensor, nn

from ..errors import ConfigError, DataError, InputError
from ..models import SkipGram
from ..shapes import Float, Int
from ..text import negative_distribution
from .objectives import Batch
from .windows import check_ids, epoch_order


class SkipGramBatches:
    """Pairs of a center and a context in a shuffled order, with words drawn for each group.

    A step holds ``groups`` groups; each has ``pairs`` pairs and ``drawn`` words that serve all
    of them. With ``pairs`` = 1 and ``drawn`` = k this is negative sampling as published. Each
    epoch visits the pairs in an order of its own; those that fill no step at its end are left
    to another epoch.

    Called with a step, it gives the batch of that step, which depends on nothing else.

    Args:
        centers: Word numbers of the centers (N), such as those of
            :func:`mathlm.text.skip_gram_pairs`.
        contexts: Word numbers of their contexts (N).
        counts: How often each word of the vocabulary occurs (V).
        groups: Groups in a step.
        pairs: Pairs in a group.
        drawn: Words drawn for each group.
        power: Exponent of the distribution that they are drawn from.
        seed: Seed of the order and of the draws.

    Raises:
        ConfigError: If a size is no positive integer, or the seed no integer from 0.
        InputError: If centers and contexts differ in length, a word number is not in the
            vocabulary, or the counts are as in :func:`mathlm.text.negative_distribution`.
        InputTypeError: If the word numbers are not integers.
        DataError: If there are fewer pairs than one step takes.

    Example:
        >>> from mathlm.text import skip_gram_pairs
        >>> centers, contexts = skip_gram_pairs([0, 1, 2, 1], window=1)
        >>> data = SkipGramBatches(
        ...     centers, contexts, np.array([1, 2, 1]), groups=2, pairs=3, drawn=4
        ... )
        >>> batch = data(0)
        >>> batch["centers"].shape, batch["negatives"].shape
        (torch.Size([2, 3]), torch.Size([2, 4]))
    """

    def __init__(
        self,
        centers: Int[ndarray, "..."],
        contexts: Int[ndarray, "..."],
        counts: Float[ndarray, "..."] | Int[ndarray, "..."],
        *,
        groups: int = 8,
        pairs: int = 256,
        drawn: int = 64,
        power: float | int = 0.75,
        seed: int = 0,
    ) -> None:
        for name, value in (("groups", groups), ("pairs", pairs), ("drawn", drawn)):
            if not isinstance(value, int) or value < 1:
                raise ConfigError(f"{name}={value!r} must be positive, an integer")
        if not isinstance(seed, int) or seed < 0:
            raise ConfigError(f"seed={seed!r} must not be negative, and an integer")
        centers, contexts = np.asarray(centers), np.asarray(contexts)
        if centers.ndim != 1 or centers.shape != contexts.shape:
            raise InputError(
                f"centers {centers.shape} and contexts {contexts.shape} must be equally long"
            )
        if len(centers) < groups * pairs:
            raise DataError(
                f"there are {len(centers)} pairs, but a step takes {groups} groups of {pairs}"
            )
        noise = negative_distribution(counts, power)
        for ids in (centers, contexts):
            check_ids(ids, len(noise))
        self.centers, self.contexts, self.cumulative = centers, contexts, noise.cumsum()
        self.groups, self.pairs, self.drawn, self.seed = groups, pairs, drawn, seed

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch."""
        return len(self.centers) // (self.groups * self.pairs)

    def __call__(self, step: int) -> Batch:
        """``centers`` and ``contexts`` (groups, pairs) and ``negatives`` (groups, drawn)."""
        epoch, i = divmod(step, self.steps_per_epoch)
        size = self.groups * self.pairs
        chosen = epoch_order(len(self.centers), self.seed, epoch)[i * size : (i + 1) * size]
        shape = (self.groups, self.pairs)
        return {
            "centers": _ids(self.centers[chosen].reshape(shape)),
            "contexts": _ids(self.contexts[chosen].reshape(shape)),
            "negatives": _ids(self.negatives(step)),
        }

    def negatives(self, step: int) -> Int[ndarray, "G N"]:
        """The words drawn in a step, by inverting the cumulative distribution."""
        rng = np.random.default_rng((self.seed, step))
        at = rng.random((self.groups, self.drawn)) * self.cumulative[-1]
        return self.cumulative.searchsorted(at, side="right")


class NegativeSampling:
    """Objective of skip-gram: the cost of negative sampling, summed over the pairs.

    Computes::

        (Σ ℓ, number of pairs)   with ℓ of negative_sampling_loss

    Args:
        k: What the drawn words of a pair weigh together, positive; None = their number.

    Raises:
        ConfigError: If k is not positive and finite.

    Example:
        >>> model = SkipGram(vocab_size=5, d_model=3)  # undecided at the start
        >>> batch = {"centers": torch.tensor([[0]]), "contexts": torch.tensor([[1]])}
        >>> batch |= {"negatives": torch.tensor([[2, 3]])}
        >>> loss, pairs = NegativeSampling(k=5)(model, batch)
        >>> round(loss.item(), 4), pairs  # (1 + 5) ln 2
        (4.1589, 1)
    """

    def __init__(self, k: float | int | None = 5) -> None:
        if k is not None and not 0 < k < np.inf:
            raise ConfigError(f"k={k} negative samples: must be positive and finite")
        self.k = k

    def __call__(self, model: nn.Module, batch: Batch) -> tuple[Tensor, int]:
        """Loss [nats] summed over the pairs of the batch, and how many there are."""
        loss = cast(SkipGram, model).loss(
            batch["centers"], batch["contexts"], batch["negatives"], self.k
        )
        return loss.sum(), loss.numel()


def _ids(array: ndarray) -> Tensor:
    return torch.from_numpy(array.astype(np.int64))


__all__ = ["NegativeSampling", "SkipGramBatches"]
