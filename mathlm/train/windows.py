"""Batches as a pure function of the seed and the step."""

import hashlib
from collections.abc import Iterator
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike

from ..errors import ConfigError, DataError, InputError, InputTypeError
from ..text import count_bytes
from ..text.tokenizers.named import Tokenizer
from .objectives import IGNORED, Batch

SHARD = 1 << 20  # tokens that are hashed together


class TokenWindows:
    """A text of token ids, cut into windows that tile it.

    Window i holds the inputs ``ids[iT : iT + T]`` and, as targets, the tokens that follow them.
    Each token but the first is a target exactly once per epoch. The last window may be shorter:
    it is filled with targets of -100, which no loss counts. Each epoch visits the windows in an
    order of its own; the last batch of an epoch may hold fewer of them.

    Called with a step, it gives the batch of that step, which depends on nothing else.
    Iterated over, it gives each window once, in the order of the text: the way to evaluate.

    Args:
        ids: Token ids, one dimension, any integer dtype; a memory map is not copied.
        context: Window length T [tokens].
        batch_size: Windows in a step.
        vocab_size: Ids must lie in 0..vocab_size - 1.
        seed: Seed of the order.

    Raises:
        ConfigError: If a size is not positive or the seed is negative.
        InputTypeError: If the ids are not integers.
        InputError: If an id is out of range or there is more than one dimension.
        DataError: If there are fewer than two tokens, or fewer than context + 1.

    Example:
        >>> windows = TokenWindows(range(8), context=3, batch_size=1, vocab_size=8)
        >>> [batch["targets"].tolist() for batch in windows]
        [[[1, 2, 3]], [[4, 5, 6]], [[7, -100, -100]]]
    """

    def __init__(
        self, ids: ArrayLike, *, context: int, batch_size: int, vocab_size: int, seed: int = 0
    ) -> None:
        for name, value in (("context", context), ("batch_size", batch_size)):
            if value < 1:
                raise ConfigError(f"{name}={value} must be positive")
        if seed < 0:
            raise ConfigError(f"seed={seed} must not be negative")
        self.ids = np.asanyarray(ids)
        self.context, self.batch_size = context, batch_size
        self.vocab_size, self.seed = vocab_size, seed
        check_corpus(self.ids, context, vocab_size)

    @property
    def windows(self) -> int:
        """Windows in an epoch."""
        return -(-(len(self.ids) - 1) // self.context)

    @property
    def steps_per_epoch(self) -> int:
        """Steps in an epoch; the last may be smaller."""
        return -(-self.windows // self.batch_size)

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``: ``ids``, ``targets`` (B, T); ``index`` (B,) of the windows."""
        epoch, i = divmod(step, self.steps_per_epoch)
        order = epoch_order(self.windows, self.seed, epoch)
        return self.batch(order[i * self.batch_size : (i + 1) * self.batch_size])

    def __iter__(self) -> Iterator[Batch]:
        """Each window once, in the order of the text."""
        for start in range(0, self.windows, self.batch_size):
            yield self.batch(np.arange(start, min(start + self.batch_size, self.windows)))

    def batch(self, index: np.ndarray) -> Batch:
        """The windows with the numbers ``index``."""
        at = index[:, None] * self.context + np.arange(self.context + 1)  # (B, T + 1)
        inside = at < len(self.ids)
        tokens = self.ids[np.minimum(at, len(self.ids) - 1)].astype(np.int64)
        targets = np.where(inside, tokens, IGNORED)[:, 1:]
        return {
            "ids": torch.from_numpy(tokens[:, :-1].copy()),
            "targets": torch.from_numpy(targets),
            "index": torch.from_numpy(index.astype(np.int64)),
        }

    @cached_property
    def sha256(self) -> list[str]:
        """SHA-256 of each 2²⁰ tokens as little-endian int64, whatever the dtype of ``ids``."""
        parts = (self.ids[i : i + SHARD] for i in range(0, len(self.ids), SHARD))
        return [hashlib.sha256(part.astype("<i8").tobytes()).hexdigest() for part in parts]

    def describe(self) -> dict:
        """What decides the batches, beside the corpus itself."""
        names = ("context", "batch_size", "vocab_size", "seed")
        return {"tokens": len(self.ids)} | {name: getattr(self, name) for name in names}


class TokenizedWindows(TokenWindows):
    """Token windows that know their tokenizer: for losses in bits per byte.

    A run on them is not resumed with another tokenizer.

    Args:
        ids: Token ids, as for :class:`TokenWindows`.
        tokenizer: What made them; it sets ``vocab_size``.
        **sizes: ``context``, ``batch_size`` and ``seed`` of :class:`TokenWindows`.

    Example:
        >>> from mathlm.text import Bytes
        >>> ids = Bytes().encode("to be, or")
        >>> batch = TokenizedWindows(ids, Bytes(), context=4, batch_size=2)(0)  # of step 0
        >>> batch["ids"].shape, torch.equal(batch["ids"][:, 1:], batch["targets"][:, :-1])
        (torch.Size([2, 4]), True)
    """

    def __init__(self, ids: ArrayLike, tokenizer: Tokenizer, **sizes: Any) -> None:
        super().__init__(ids, vocab_size=tokenizer.vocab_size, **sizes)
        self.tokenizer = tokenizer

    @cached_property
    def bytes_per_target(self) -> float:
        """Bytes of text for each target, in the mean; the first token is no target."""
        return count_bytes(self.ids[1:], self.tokenizer) / (len(self.ids) - 1)

    def describe(self) -> dict:
        """What decides the batches, beside the corpus itself."""
        return super().describe() | {"tokenizer_sha256": self.tokenizer.sha256}


@lru_cache(maxsize=4)
def epoch_order(windows: int, seed: int, epoch: int) -> np.ndarray:
    """Permutation of the windows; a pure function of its arguments."""
    generator = np.random.Generator(np.random.PCG64(np.random.SeedSequence([seed, epoch])))
    order = generator.permutation(windows)
    order.flags.writeable = False
    return order


def check_corpus(ids: np.ndarray, context: int, vocab_size: int) -> None:
    """Refuse what cannot be trained on."""
    if ids.ndim != 1:
        raise InputError(f"a corpus has one dimension, got shape {ids.shape}")
    if not len(ids):
        raise DataError("the corpus is empty (0 tokens after encoding)")
    check_ids(ids, vocab_size)
    if len(ids) < context + 1:
        raise DataError(
            f"corpus has {len(ids)} tokens; context {context} needs at least {context + 1}"
        )


def check_ids(ids: np.ndarray | torch.Tensor, vocab_size: int) -> None:
    """Refuse ids that are not integers or not in the vocabulary; on the CPU, before a device.

    Raises:
        InputTypeError: If the ids are not integers.
        InputError: If an id is negative or not below ``vocab_size``; names the first.

    Example:
        >>> check_ids(np.array([1, 300]), vocab_size=256)
        Traceback (most recent call last):
        mathlm.errors.InputError: token id 300 at [1] is outside 0..255
    """
    array = np.asanyarray(ids)
    if not np.issubdtype(array.dtype, np.integer):
        raise InputTypeError(
            f"token ids must be int64, got {array.dtype} (any other integer dtype will do)"
        )
    if array.size and (array.min() < 0 or array.max() >= vocab_size):
        place = [int(i) for i in np.argwhere((array < 0) | (array >= vocab_size))[0]]
        raise InputError(
            f"token id {array[tuple(place)]} at {place} is outside 0..{vocab_size - 1}"
        )
