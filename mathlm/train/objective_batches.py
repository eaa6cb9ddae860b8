"""Windows of a text changed into what an objective asks of them, as a function of the step."""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy import ndarray
from numpy.random import Generator

from ..errors import ConfigError, DataError
from ..functional import mask_exactly, mask_independently, mask_levels
from ..text import corrupt_spans, mask_tokens
from ..text.masking import BERT_SHARES
from .objectives import IGNORED, Batch
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
            :class:`MaskLevels`, :class:`CutSpans`, :class:`DrawPrefix`, or one of your own.
        seed: Of the changes.

    Raises:
        ConfigError: If the seed is negative.

    Example:
        >>> windows = TokenWindows(range(8), context=3, batch_size=1, vocab_size=8)
        >>> data = CorruptedWindows(windows, DrawPrefix())
        >>> torch.equal(data(5)["prefix"], data(5)["prefix"])  # the batch of a step is fixed
        True
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

    Example:
        >>> hide = MaskTokens(mask_id=0, vocab_size=8, rate=1.0, shares=(1, 0, 0))
        >>> ids = torch.tensor([[5, 6, 7]])
        >>> batch = {"ids": ids, "mask": torch.ones_like(ids).bool()}
        >>> batch = hide(batch, np.random.default_rng(0))
        >>> batch["ids"], batch["targets"]
        (tensor([[0, 0, 0]]), tensor([[5, 6, 7]]))
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
class MaskLevels:
    """Hide a share of each row, drawn for the row: a batch for :func:`masked_diffusion`.

    Args:
        mask_id: Id of ``[MASK]``.
        stratified: Whether the levels of a batch cover 0 to 1 evenly, or are independent.
        exact: Whether just k = ⌈m T⌉ tokens are hidden, and the level is k / T, or each token
            independently with the probability m. Both have the bound as their mean.

    Example:
        >>> ids = torch.tensor([[5, 6, 7, 8]])
        >>> batch = {"ids": ids, "mask": torch.ones_like(ids).bool()}
        >>> batch = MaskLevels(mask_id=0)(batch, np.random.default_rng(0))
        >>> hidden = batch["ids"] == 0
        >>> torch.equal(hidden.float().mean(1), batch["levels"])
        True
    """

    mask_id: int
    stratified: bool = True
    exact: bool = True

    def __call__(self, batch: Batch, rng: Generator) -> Batch:
        """``ids`` with masks, ``targets``, ``levels`` and ``mask``."""
        ids, real = batch["ids"], batch["mask"]
        draws = torch.Generator().manual_seed(int(rng.integers(2**62)))
        levels = mask_levels(len(ids), draws, stratified=self.stratified)
        if self.exact:
            noisy = ids.clone()
            counts, lengths = torch.zeros(len(ids), dtype=torch.int64), real.sum(1)
            for n in lengths.unique():  # the last window of a text may be shorter
                rows = lengths == n
                counts[rows] = (levels[rows] * n).ceil().long()
                noisy[rows, :n] = mask_exactly(ids[rows, :n], counts[rows], self.mask_id, draws)
            levels = counts / lengths
        else:
            noisy = mask_independently(ids, levels, self.mask_id, draws)
        hidden = (noisy == self.mask_id) & real
        return {
            "ids": torch.where(real, noisy, ids),
            "targets": ids.masked_fill(~hidden, IGNORED),
            "levels": levels,
            "mask": real,
        }


@dataclass(frozen=True, kw_only=True)
class CutSpans:
    """Span corruption: cut spans out and ask for them, a batch for :func:`span_corruption`.

    The decoder reads ``begin`` and then what it was to say, up to its last token.

    Args:
        sentinels: Ids that stand for holes, in their order.
        begin: Id of what the decoder reads first.
        rate: Share of the tokens that are cut out.
        mean_length: Mean length of a hole [tokens].

    Example:
        >>> ids = torch.tensor([[5, 6, 7, 8]])
        >>> batch = {"ids": ids, "mask": torch.ones_like(ids).bool()}
        >>> cut = CutSpans(sentinels=(90, 91), begin=0, rate=0.5, mean_length=2)
        >>> source = cut(batch, np.random.default_rng(0))["source"]
        >>> int((source == 90).sum()), int((source < 90).sum())  # a hole, and two that are left
        (1, 2)
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

    Example:
        >>> batch = {"ids": torch.tensor([[5, 6]]), "targets": torch.tensor([[6, 7]])}
        >>> batch = DrawPrefix()(batch, np.random.default_rng(0))
        >>> n = int(batch["prefix"])  # 1 or 2
        >>> batch["targets"][0, n - 1 :].tolist() == [6, 7][n - 1 :]  # behind the prefix
        True
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


Negatives = Literal["elsewhere", "same", "swapped"]
PADDING = -1


class SentencePairBatches:
    """Rows [CLS] A [SEP] B [SEP], half of them with the sentence that follows A.

    In the other half B is a sentence of another document (``elsewhere``, as in BERT), one of
    the same document that does not follow A (``same``), or the two have changed places
    (``swapped``, as in ALBERT). Called with a step it gives the batch of that step; iterated
    over, ``evaluate`` batches, the same every time.

    Args:
        documents: Sentences of each document, as token ids; one without any is left out.
        cls_id: Id of ``[CLS]``.
        sep_id: Id of ``[SEP]``.
        context: Longest row; of A the last tokens are kept, of B the first.
        batch_size: Pairs in a step.
        negatives: What stands in for the next sentence.
        mask_id: Id of ``[MASK]``; None hides no tokens.
        vocab_size: V, for the tokens that replace hidden ones.
        special: Ids that are never hidden and never drawn, beside the two marks.
        rate: Share of the tokens of a row that are asked for.
        shares: Probability that one of them is hidden, replaced and left alone.
        evaluate: Batches of an iteration.
        seed: Of pairs and holes.

    Raises:
        ConfigError: If a size or a choice makes no sense.
        DataError: If there are too few documents or sentences for such pairs.

    Example:
        >>> documents = [[[5], [6]], [[7], [8]]]  # two of two sentences, of a token each
        >>> data = SentencePairBatches(documents, cls_id=1, sep_id=2, context=8, batch_size=4)
        >>> batch = data(0)
        >>> batch["ids"].shape, batch["ids"][0, 0].item()  # [CLS] A [SEP] B [SEP]
        (torch.Size([4, 5]), 1)
    """

    def __init__(
        self,
        documents: Sequence[Sequence[Sequence[int] | ndarray]],
        *,
        cls_id: int,
        sep_id: int,
        context: int,
        batch_size: int,
        negatives: Negatives = "elsewhere",
        mask_id: int | None = None,
        vocab_size: int | None = None,
        special: tuple[int, ...] = (),
        rate: float | int = 0.15,
        shares: tuple[float | int, float | int, float | int] = BERT_SHARES,
        evaluate: int = 8,
        seed: int = 0,
    ) -> None:
        self.documents = [[np.asarray(s, np.int64) for s in d] for d in documents if len(d)]
        self.cls_id, self.sep_id, self.mask_id = cls_id, sep_id, mask_id
        self.context, self.batch_size, self.negatives = context, batch_size, negatives
        self.vocab_size, self.rate, self.shares = vocab_size, rate, shares
        self.special = (cls_id, sep_id, *special)
        self.evaluate, self.seed = evaluate, seed
        self._require_sense()

    def __call__(self, step: int) -> Batch:
        """The batch of ``step``: ids, segments, mask, follows and, with holes, targets."""
        return self.batch(np.random.default_rng([self.seed, 0, step]))

    def __iter__(self) -> Iterator[Batch]:
        """Batches to evaluate on."""
        for i in range(self.evaluate):
            yield self.batch(np.random.default_rng([self.seed, HELD_OUT, i]))

    def batch(self, rng: Generator) -> Batch:
        """Pairs drawn from ``rng``, with holes if there is a mask."""
        pairs = [self.pair(rng) for _ in range(self.batch_size)]
        rows = [self.row(first, second) for first, second, _ in pairs]
        ids = padded([row for row, _ in rows], PADDING)
        batch = {
            "ids": ids.clamp(min=0),
            "segments": padded([segment for _, segment in rows], 0),
            "mask": ids != PADDING,
            "follows": torch.tensor([follows for _, _, follows in pairs]),
        }
        return batch if self.mask_id is None else batch | self.hide(batch, rng)

    def pair(self, rng: Generator) -> tuple[ndarray, ndarray, int]:
        """Two sentences, and whether the second follows the first."""
        d = int(rng.choice(self.usable, p=self.weights))
        document = self.documents[d]
        i = int(rng.integers(len(document) - 1))
        first, second = document[i], document[i + 1]
        if rng.integers(2):
            return first, second, 1
        if self.negatives == "swapped":
            return second, first, 0
        return first, self.stranger(d, i, rng), 0

    def stranger(self, d: int, i: int, rng: Generator) -> ndarray:
        """A sentence that does not follow number ``i`` of document ``d``."""
        if self.negatives == "same":
            document = self.documents[d]
            j = int(rng.integers(len(document) - 2))  # neither the sentence nor the next
            return document[j if j < i else j + 2]
        other = int(rng.integers(len(self.documents) - 1))
        document = self.documents[other if other < d else other + 1]
        return document[int(rng.integers(len(document)))]

    def row(self, first: ndarray, second: ndarray) -> tuple[ndarray, ndarray]:
        """Ids and segments of one pair."""
        room = self.context - 3
        half = room // 2
        b = second[: max(half, room - len(first))]
        a = first[-(room - len(b)) :]
        ids = np.concatenate([[self.cls_id], a, [self.sep_id], b, [self.sep_id]])
        return ids, (np.arange(len(ids)) > len(a) + 1).astype(np.int64)

    def hide(self, batch: Batch, rng: Generator) -> Batch:
        """Ids with holes, and the targets; the marks and the padding stay."""
        ids = np.where(batch["mask"].numpy(), batch["ids"].numpy(), self.cls_id)
        holes, targets = mask_tokens(
            ids,
            rng,
            mask_id=int(self.mask_id or 0),
            vocab_size=int(self.vocab_size or 0),
            special=self.special,
            rate=self.rate,
            shares=self.shares,
        )
        return {"ids": torch.from_numpy(holes), "targets": torch.from_numpy(targets)}

    @cached_property
    def usable(self) -> ndarray:
        """Numbers of the documents that hold pairs."""
        least = 3 if self.negatives == "same" else 2
        return np.array([d for d, doc in enumerate(self.documents) if len(doc) >= least])

    @cached_property
    def weights(self) -> ndarray:
        """Probability of each usable document: as many pairs as it holds."""
        pairs = np.array([len(self.documents[d]) - 1 for d in self.usable], float)
        return pairs / pairs.sum()

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of all sentences as little-endian int64, each behind its length."""
        digest = hashlib.sha256()
        for sentence in (s for document in self.documents for s in document):
            digest.update(np.append(len(sentence), sentence).astype("<i8").tobytes())
        return digest.hexdigest()

    def describe(self) -> dict[str, Any]:
        """What decides the batches, beside the sentences themselves."""
        hidden = {"documents", "usable", "weights", "sha256"}
        return {name: value for name, value in vars(self).items() if name not in hidden}

    def _require_sense(self) -> None:
        if self.negatives not in get_args(Negatives):
            raise ConfigError(
                f"negatives={self.negatives!r} is not one of {', '.join(get_args(Negatives))}"
            )
        if self.context < 5 or self.batch_size < 1 or self.evaluate < 1 or self.seed < 0:
            raise ConfigError(
                f"context={self.context} must be at least 5, batch_size={self.batch_size} and "
                f"evaluate={self.evaluate} at least 1, seed={self.seed} at least 0"
            )
        if (self.mask_id is None) != (self.vocab_size is None):
            raise ConfigError("mask_id and vocab_size come together: give both or neither")
        if any(len(s) == 0 for document in self.documents for s in document):
            raise DataError("a sentence has no tokens")
        if not len(self.usable) or (self.negatives == "elsewhere" and len(self.documents) < 2):
            raise DataError(
                f"{len(self.documents)} documents, {len(self.usable)} of them with sentences "
                f"enough: too few for negatives={self.negatives!r}"
            )
