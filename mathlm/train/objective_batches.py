"""Windows of a text changed into what an objective asks of them, as a function of the step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.random import Generator

from ..errors import ConfigError
from ..text import corrupt_spans, mask_tokens
from ..text.masking import BERT_SHARES
from .batches import Batch
from .objectives import IGNORED
from .record import describe
from .windows import TokenWindows

Change = Callable[[Batch, Generator], Batch]
HELD_OUT = 1  # marks the random numbers of an evaluation


class CorruptedWindows:
    """Batches of windows, each changed at random; the same for the same seed and step.

    Called with a step, it changes the batch of that step. Iterated over, it gives each window
    once, changed in the same way every time: the way to evaluate.

    Args:
        windows: The text.
        change: From a batch of windows, with ``mask`` (B, T) True where a token is real, and a
            source of randomness to the batch of an objective: :class:`MaskTokens`,
            :class:`CutSpans`, :class:`DrawPrefix`, or one of your own.
        seed: Of the changes.

    Raises:
        ConfigError: If the seed is negative.
    """

    def __init__(self, windows: TokenWindows, change: Change, *, seed: int = 0) -> None:
        if seed < 0:
            raise ConfigError(f"seed={seed} must not be negative")
        self.windows, self.change, self.seed = windows, change, seed

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``."""
        return self._changed(self.windows(step), np.random.default_rng([self.seed, 0, step]))

    def __iter__(self) -> Iterator[Batch]:
        """Each window once, in the order of the text."""
        for i, batch in enumerate(self.windows):
            yield self._changed(batch, np.random.default_rng([self.seed, HELD_OUT, i]))

    def _changed(self, batch: Batch, rng: Generator) -> Batch:
        place = batch["index"][:, None] * self.windows.context
        place = place + torch.arange(self.windows.context)
        real = place < len(self.windows.ids)
        return self.change(batch | {"mask": real}, rng) | {"index": batch["index"]}

    @property
    def sha256(self) -> list[str]:
        """Hashes of the text."""
        return self.windows.sha256

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the text itself."""
        own = {"change": describe(self.change), "change_seed": self.seed}
        return self.windows.describe() | own


@dataclass(frozen=True, kw_only=True)
class MaskTokens:
    """Hide tokens and ask for them: a batch for :func:`masked_token`.

    Args:
        mask_id: Id of ``[MASK]``.
        vocab_size: V.
        special: Ids that are never chosen and never drawn.
        rate: Share of the tokens that are asked for.
        shares: Probability that one of them is hidden, replaced and left alone.
    """

    mask_id: int
    vocab_size: int
    special: tuple[int, ...] = ()
    rate: float | int = 0.15
    shares: tuple[float | int, float | int, float | int] = BERT_SHARES

    def __call__(self, batch: Batch, rng: Generator) -> Batch:
        """``ids`` with holes, ``targets`` and ``mask``."""
        ids, targets = batch["ids"].numpy().copy(), np.full(batch["ids"].shape, IGNORED)
        real = batch["mask"].numpy()
        for length in np.unique(real.sum(1)):  # the last window of a text may be shorter
            rows = real.sum(1) == length
            ids[rows, :length], targets[rows, :length] = mask_tokens(
                ids[rows, :length],
                rng,
                mask_id=self.mask_id,
                vocab_size=self.vocab_size,
                special=self.special,
                rate=self.rate,
                shares=self.shares,
            )
        out = {"ids": torch.from_numpy(ids), "targets": torch.from_numpy(targets)}
        return out | {"mask": batch["mask"]}


@dataclass(frozen=True, kw_only=True)
class CutSpans:
    """Cut spans out and ask for them: a batch for :func:`span_corruption`.

    The decoder reads ``begin`` and then what it was to say, up to its last token.

    Args:
        sentinels: Ids that stand for holes, in their order.
        begin: Id of what the decoder reads first.
        rate: Share of the tokens that are cut out.
        mean_length: Mean length of a hole [tokens].
    """

    sentinels: tuple[int, ...]
    begin: int
    rate: float | int = 0.15
    mean_length: float | int = 3.0

    def __call__(self, batch: Batch, rng: Generator) -> Batch:
        """``source`` and ``source_mask``, ``ids`` and ``targets``."""
        texts = zip(batch["ids"].numpy(), batch["mask"].numpy(), strict=True)
        how: dict[str, Any] = {"rate": self.rate, "mean_length": self.mean_length}
        pairs = [
            corrupt_spans(ids[real], rng, sentinels=self.sentinels, **how)
            for ids, real in texts
        ]
        source = padded([source for source, _ in pairs], IGNORED)
        targets = padded([target for _, target in pairs], IGNORED)
        ids = torch.cat([torch.full((len(pairs), 1), self.begin), targets[:, :-1]], 1)
        return {
            "source": source.clamp(min=0),
            "source_mask": source != IGNORED,
            "ids": ids.clamp(min=0),  # padding is to the right, where no target sees it
            "targets": targets,
        }


@dataclass(frozen=True)
class DrawPrefix:
    """Draw how many first tokens all see each other: a batch for :func:`prefix_token`.

    Every length from one token to all but the last target is equally likely.
    """

    def __call__(self, batch: Batch, rng: Generator) -> Batch:
        """``ids``, ``targets`` behind the prefix, and ``prefix``."""
        ids, targets = batch["ids"], batch["targets"]
        asked = (targets != IGNORED).sum(1).numpy()  # at least one in each window
        prefix = torch.from_numpy(rng.integers(1, asked + 1))
        seen = torch.arange(1, ids.shape[1] + 1) < prefix[:, None]
        return {"ids": ids, "targets": targets.masked_fill(seen, IGNORED), "prefix": prefix}


def padded(rows: list[np.ndarray], fill: int) -> torch.Tensor:
    """Rows of unequal length side by side, filled up to the right, int64."""
    full = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for i, row in enumerate(rows):
        full[i, : len(row)] = row
    return torch.from_numpy(full)
