"""What decoding asks of a model: read these tokens, and say what may come next."""

from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..functional import require_token_ids
from ..layers import KeyValueCache
from ..layers.cache import require_past, require_rows
from ..models import GPT, Recurrent
from ..shapes import Bool, Float, Int
from .cuda_graph import FixedStep
from .fused_step import prepared_step

FEW = 16  # new tokens of a row up to which the lean step reads them


class IncrementalReader:
    """A model that reads texts from front to back, with a KV cache of what it has read.

    Computes::

        logits of p(· | all that a row has read)

    Every way of decoding goes through it: tokens are read once, a few may be taken back, rows
    may be put in another order. The model is in evaluation mode, and no gradients are kept.

    Args:
        model: The language model.
        batch: B, rows.
        capacity: Tokens that a row will hold at most, padding included.
        cache: Whether keys and values, or the state of a recurrent model, are kept, rather
            than computed again each time.
        sliding: Whether a model with a window keeps little more than the window. It can go
            back by a few tokens only, and takes padding in front only.
        fixed: Whether single tokens are read by a :class:`FixedStep` where that is possible:
            on CUDA it is recorded as a graph, which takes some steps' time and then saves most
            of each.

    Raises:
        InputError: If a number is less than 1, the capacity is beyond the model's context, or
            the model is in training mode.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> model, ids = GPT(GPTConfig(**sizes)).eval(), torch.tensor([[84, 111, 32]])
        >>> reader = IncrementalReader(model, batch=1, capacity=8)
        >>> with torch.no_grad():
        ...     first, last = reader.read(ids[:, :2]), reader.read(ids[:, 2:])
        >>> torch.allclose(last, model(ids)[:, -1], atol=1e-5)
        True
    """

    def __init__(
        self,
        model: GPT | Recurrent,
        batch: int,
        capacity: int,
        *,
        cache: bool = True,
        sliding: bool = False,
        fixed: bool = False,
    ) -> None:
        _require_sizes(model, batch, capacity)
        self.model, self.capacity, self.length = model, capacity, 0
        self.cache: Any = None
        if cache:
            options = {"sliding": True} if sliding and isinstance(model, GPT) else {}
            self.cache = model.new_cache(batch, capacity, **options)
        device = next(model.parameters()).device
        self._ids = torch.zeros(batch, capacity, dtype=torch.int64, device=device)
        self.mask: Bool[Tensor, "B S"] | None = None  # None: every token is real
        self.fixed: Any = fixed

    @cached_property
    def step(self) -> Any:
        """The lean step, prepared when the first few tokens want it; None if there is none."""
        return None if self.cache is None else prepared_step(self.model)

    @property
    def batch(self) -> int:
        """B, rows."""
        return len(self._ids)

    @property
    def ids(self) -> Int[Tensor, "B S"]:
        """All tokens that were read, padding included."""
        return self._ids[:, : self.length]

    @torch.no_grad()
    def read(
        self, ids: Int[Tensor, "B n"], mask: Tensor | None = None, last: bool = True
    ) -> Float[Tensor, "..."]:
        """Read more tokens of each row.

        Args:
            ids: The tokens that follow, int64, at least one a row.
            mask: bool (B, n), True where one of ``ids`` is real; padding may be on either side.
                None = all are.
            last: Whether only the logits behind the last real token of each row are wanted.

        Returns:
            Logits (B, V), or (B, n, V) behind each of ``ids`` without ``last``.

        Raises:
            InputError: If the ids do not fit the rows, the capacity or the vocabulary, or a
                row has no real token among them behind which logits are wanted.
            InputTypeError: If a dtype is wrong.
        """
        self._require_new(ids, mask, last)
        real = self._real(mask, ids)
        if mask is None and ids.shape[1] <= FEW and self.step is not None:
            logits = self._step(ids, last)
        else:
            logits = self._forward(ids, mask, real, last)
        end = self.length + ids.shape[1]
        self._ids[:, self.length : end] = ids
        self.length, self.mask = end, real
        return logits

    def _step(self, ids: Tensor, last: bool) -> Tensor:
        """By the lean step."""
        if self.fixed and ids.shape[1] == 1 and self.step.places.fixes(self.cache):
            return self._fixed_step(ids, last)
        try:
            return self.step(ids, self.cache, last)
        except IndexError:  # of the embedding, before anything else is done
            require_token_ids(ids, self.model.config.vocab_size)
            raise

    def _fixed_step(self, ids: Tensor, last: bool) -> Tensor:
        """By the step of fixed shapes."""
        require_token_ids(ids, self.model.config.vocab_size)
        if self.fixed is True:
            self.fixed = FixedStep(self.step, self.cache)
        logits = self.fixed(ids)
        return logits if last else logits.unsqueeze(1)

    def _forward(
        self, ids: Tensor, mask: Tensor | None, real: Tensor | None, last: bool
    ) -> Tensor:
        """By the model; the head reads only what is asked for."""
        if isinstance(self.cache, KeyValueCache) and self.length == 0 and self.batch > 1:
            first, number = distinct_rows(ids, mask)
            if len(first) < self.batch:
                return self._forward_distinct(ids, mask, last, first, number)
        return self._read_all(ids, mask, real, last)

    def _forward_distinct(
        self, ids: Tensor, mask: Tensor | None, last: bool, first: Tensor, number: Tensor
    ) -> Tensor:
        """Each of several equal beginnings once."""
        mask = None if mask is None else mask[first]
        self.cache.select(first)
        try:
            return self._read_all(ids[first], mask, mask, last)[number]
        finally:
            self.cache.select(number)

    def _read_all(
        self, ids: Tensor, mask: Tensor | None, real: Tensor | None, last: bool
    ) -> Tensor:
        new = ids if self.cache is not None else torch.cat((self.ids, ids), 1)
        model: Any = self.model
        hidden = model.hidden(new, mask=real, cache=self.cache)[:, -ids.shape[1] :]
        return model.head(behind_last_real(hidden, mask) if last else hidden)

    def rewind(self, length: int) -> None:
        """Forget all tokens behind the first ``length`` of each row.

        Raises:
            InputError: If fewer were read, or the model keeps one state that cannot go back.
        """
        require_past(length, self.length)
        if self.cache is not None:
            self.cache.rewind(length)
        self.length = length
        self.mask = None if self.mask is None else self.mask[:, :length]

    def select(self, rows: Int[Tensor, " N"]) -> None:
        """Keep these rows, in this order; one may be named several times.

        Raises:
            InputError: If there is no such row.
        """
        require_rows(rows, self.batch)
        if self.cache is not None:
            self.cache.select(rows)
            self.fixed = bool(self.fixed) if len(rows) != self.batch else self.fixed
        self._ids = self._ids[rows]
        self.mask = None if self.mask is None else self.mask[rows]

    def _real(self, mask: Tensor | None, ids: Tensor) -> Bool[Tensor, "B S"] | None:
        """Which of all tokens are real."""
        if mask is None and self.mask is None:
            return None
        before = torch.ones_like(self.ids, dtype=torch.bool) if self.mask is None else self.mask
        new = torch.ones_like(ids, dtype=torch.bool) if mask is None else mask
        return torch.cat((before, new), 1)

    def _require_new(self, ids: Tensor, mask: Tensor | None, last: bool) -> None:
        if ids.ndim != 2 or len(ids) != self.batch or ids.shape[1] == 0:
            raise InputError(
                f"ids have shape {tuple(ids.shape)}, expected ({self.batch}, tokens), 1 or more"
            )
        if self.length + ids.shape[1] > self.capacity:
            raise InputError(
                f"{self.length} of {self.capacity} tokens were read, {ids.shape[1]} more do "
                "not fit: give the reader a larger capacity"
            )
        if ids.dtype != torch.int64:
            raise InputTypeError(f"token ids must be int64, got {ids.dtype}")
        if mask is None:
            return
        if mask.dtype != torch.bool:
            raise InputTypeError(f"mask must be bool, True = real token, got {mask.dtype}")
        if mask.shape != ids.shape:
            raise InputError(
                f"mask {tuple(mask.shape)} must have the shape of ids {tuple(ids.shape)}"
            )
        if last and not mask.any(1).all():
            row = int((~mask.any(1)).nonzero()[0])
            raise InputError(f"row {row} has no real token among the {ids.shape[1]} new ones")


def behind_last_real(x: Float[Tensor, "B T D"], mask: Tensor | None) -> Float[Tensor, "B D"]:
    """What stands at the last real position of each row."""
    if mask is None:
        return x[:, -1]
    places = torch.arange(x.shape[1], device=mask.device) * mask  # 0 where padded
    return x[torch.arange(len(x), device=mask.device), places.amax(1)]


def _require_sizes(model: GPT | Recurrent, batch: int, capacity: int) -> None:
    for name, value in (("batch", batch), ("capacity", capacity)):
        if value < 1:
            raise InputError(f"{name}={value} must be at least 1")
    context = model.config.context
    if context is not None and capacity > context:
        raise InputError(
            f"capacity={capacity} tokens is more than the context {context} of the model"
        )
    if model.training:
        raise InputError("the model is in training mode: call model.eval() first")


def distinct_rows(ids: Int[Tensor, "B T"], mask: Tensor | None) -> tuple[Tensor, Tensor]:
    """Where each distinct row stands first, and the number of each row among the distinct."""
    whole = ids if mask is None else torch.cat((ids, mask.long()), 1)
    distinct, number = torch.unique(whole, dim=0, return_inverse=True)
    rows = torch.arange(len(ids), device=ids.device)
    first = rows.new_full((len(distinct),), len(ids)).scatter_reduce(0, number, rows, "amin")
    return first, number
