"""Pairs of sentences, some of which follow each other: data for BERT's second objective."""

import hashlib
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
import torch
from numpy import ndarray
from numpy.random import Generator

from ..errors import ConfigError, DataError
from ..text import mask_tokens
from ..text.masking import BERT_SHARES
from .batches import Batch
from .objective_batches import HELD_OUT, padded

Negatives = Literal["elsewhere", "same", "swapped"]
PADDING = -1


class SentencePairBatches:
    """Rows [CLS] A [SEP] B [SEP], half of them with the sentence that follows A.

    In the other half B is a sentence of another document (``elsewhere``, as in BERT), one of
    the same document that does not follow A (``same``), or the two have changed places
    (``swapped``, as in ALBERT). Called with a step it gives the batch of that step; iterated
    over, ``evaluate`` batches, the same every time.

    Args:
        documents: Sentences of each document, as token ids.
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
        self.documents = [[np.asarray(s, np.int64) for s in d] for d in documents]
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
