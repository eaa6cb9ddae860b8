"""The key/value cache (KV cache): what attention remembers of the tokens it has read."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Bool, Float, Int


class LayerCache:
    """KV cache of one layer: keys and values, in memory set aside beforehand.

    Args:
        k: Room for the keys, (B, G, capacity, K).
        v: Room for the values, of the same shape.

    Attributes:
        length: Tokens that were read.
        held: Those of them whose keys and values are there.

    Example:
        >>> cache = LayerCache(torch.empty(1, 2, 8, 4), torch.empty(1, 2, 8, 4))
        >>> k, v = cache.append(torch.ones(1, 2, 3, 4), torch.ones(1, 2, 3, 4))
        >>> k.shape, cache.length  # 3 of the 8 that there is room for
        (torch.Size([1, 2, 3, 4]), 3)
    """

    def __init__(self, k: Float[Tensor, "B G C K"], v: Float[Tensor, "B G C K"]) -> None:
        self.k, self.v, self.length, self.held = k, v, 0, 0

    def append(
        self, k: Float[Tensor, "B G T K"], v: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """Write T more keys and values; return all S that are there now.

        Raises:
            InputError: If they do not fit, or need a gradient, which a cache would lose.
        """
        T, end = k.shape[2], self.held + k.shape[2]
        if end > self.k.shape[2]:
            raise InputError(_full(self.length, self.k.shape[2], T))
        _refuse_gradients(k, v)
        self.k.narrow(2, self.held, T).copy_(k)
        self.v.narrow(2, self.held, T).copy_(v)
        self.length, self.held = self.length + T, end
        return self.k.narrow(2, 0, end), self.v.narrow(2, 0, end)

    def rewind(self, length: int) -> None:
        """Forget all tokens behind the first ``length``."""
        self.held -= self.length - length
        self.length = length

    def require_rewind(self, length: int) -> None:
        """Refuse to go back to where what is seen is no longer there; here all is."""

    def select(self, rows: Int[Tensor, " N"]) -> None:
        """Keep these rows, in this order; one may be named several times."""
        kept = slice(None), slice(None), slice(self.held)
        k, v = self.k, self.v
        if len(rows) != len(k):
            self.k, self.v = (x.new_zeros(len(rows), *x.shape[1:]) for x in (k, v))
        self.k[kept], self.v[kept] = k[kept][rows], v[kept][rows]


class SlidingLayerCache(LayerCache):
    """Rolling KV cache for sliding-window attention: keys and values of the last tokens only.

    Behind the window there is a little room to write on in order. When it is full the window
    moves back to the front: one copy of the window in as many steps as there is room.

    Args:
        k: Room for the keys, (B, G, capacity, K); the capacity is the window or more.
        v: Room for the values, of the same shape.
        window: Keys that a query sees, itself included.

    Example:
        >>> room = torch.empty(1, 1, 4, 2)
        >>> cache = SlidingLayerCache(room, room.clone(), window=3)
        >>> for t in range(6):
        ...     k, v = cache.append(torch.full((1, 1, 1, 2), t), torch.zeros(1, 1, 1, 2))
        >>> k[0, 0, -3:, 0].tolist(), cache.length  # the last three of six tokens
        ([3.0, 4.0, 5.0], 6)
    """

    def __init__(
        self, k: Float[Tensor, "B G C K"], v: Float[Tensor, "B G C K"], window: int
    ) -> None:
        super().__init__(k, v)
        self.window = window

    def append(
        self, k: Float[Tensor, "B G T K"], v: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """Write T more keys and values; return them behind those that they see.

        Raises:
            InputError: If they need a gradient, which a cache would lose.
        """
        _refuse_gradients(k, v)
        if self.held + k.shape[2] <= self.k.shape[2]:
            return super().append(k, v)
        seen = slice(max(0, self.held - self.window + 1), self.held)
        k, v = torch.cat((self.k[:, :, seen], k), 2), torch.cat((self.v[:, :, seen], v), 2)
        length = self.length + k.shape[2] - (seen.stop - seen.start)
        kept = min(k.shape[2], self.window)
        self.k[:, :, :kept], self.v[:, :, :kept] = k[:, :, -kept:], v[:, :, -kept:]
        self.length, self.held = length, kept
        return k, v

    def rewind(self, length: int) -> None:
        """Forget all tokens behind the first ``length``, if the window before them is there.

        Raises:
            InputError: If it is not.
        """
        self.require_rewind(length)
        super().rewind(length)

    def require_rewind(self, length: int) -> None:
        """Refuse to go back to where the window is no longer there."""
        held = self.held - (self.length - length)
        if held < min(length, self.window - 1):
            raise InputError(
                f"cannot go back from {self.length} tokens to {length}: a sliding cache has "
                f"kept the last {self.held}, and the window of {self.window} before position "
                f"{length} is no longer among them"
            )


class KeyValueCache:
    """KV cache: keys and values of every layer of a model, and which positions are real.

    Give it to a model with the prompt (prefill), then with each new token (decode): the model
    reads only the new tokens, and its logits are those of the whole text.

    Args:
        n_layers: L.
        batch: B, rows.
        n_kv_heads: G, key/value heads.
        capacity: Positions that there is room for [tokens].
        d_head: K, width of one head.
        dtype: Of keys and values.
        device: Where they are.
        window: Keys that a query sees, itself included: only they, and a quarter more, are
            kept. None = all are kept. A sequence has one of each layer.

    Example:
        >>> from mathlm.models import GPT, GPTConfig
        >>> sizes = dict(vocab_size=256, context=64, d_model=32, n_layers=2, n_heads=4)
        >>> model, ids = GPT(GPTConfig(**sizes)), torch.tensor([[72, 105, 33]])
        >>> cache = model.new_cache(batch=1)
        >>> with torch.no_grad():
        ...     first, rest = model(ids[:, :2], cache=cache), model(ids[:, 2:], cache=cache)
        >>> torch.allclose(rest, model(ids)[:, 2:], atol=1e-5)
        True
    """

    def __init__(
        self,
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        capacity: int,
        d_head: int,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
        window: int | Sequence[int | None] | None = None,
    ) -> None:
        each = [window] * n_layers if window is None or isinstance(window, int) else [*window]
        self.batch, self.capacity = batch, capacity
        self.window = min((w for w in each if w is not None), default=None)
        self.layers = []
        for w in each:
            kept = capacity if w is None else min(capacity, w + w // 4)
            k, v = torch.zeros(2, batch, n_kv_heads, kept, d_head, dtype=dtype, device=device)
            slides = w is not None and kept < capacity
            self.layers.append(SlidingLayerCache(k, v, w or 0) if slides else LayerCache(k, v))
        self.device = torch.empty(0, device=device).device
        self.mask: Bool[Tensor, "B S"] | None = None  # None: every position is a real token
        self.positions: Int[Tensor, "B S"] | None = None  # None: derived from the mask
        self.prefix_kv: list[Any] | None = None  # of each layer, what stands before the text

    @property
    def length(self) -> int:
        """Tokens that were read."""
        return self.layers[0].length

    @property
    def held(self) -> int:
        """Those of them whose keys and values are there [tokens]."""
        return self.layers[0].held

    @property
    def bytes(self) -> int:
        """Memory of the keys and values, filled or not [bytes]."""
        return sum(x.nbytes for layer in self.layers for x in (layer.k, layer.v))

    def rewind(self, length: int) -> None:
        """Forget all tokens behind the first ``length``.

        Raises:
            InputError: If there are fewer, or what they see is no longer there.
        """
        require_past(length, self.length)
        for layer in self.layers:  # all before any, so that a refusal changes nothing
            layer.require_rewind(length)
        for layer in self.layers:
            layer.rewind(length)
        self.mask = None if self.mask is None else self.mask[:, :length]
        self.positions = None if self.positions is None else self.positions[:, :length]

    def select(self, rows: Int[Tensor, " N"]) -> None:
        """Keep these rows, in this order; one may be named several times.

        Raises:
            InputError: If there is no such row.
        """
        require_rows(rows, self.batch)
        for layer in self.layers:
            layer.select(rows)
        self.mask = None if self.mask is None else self.mask[rows]
        self.positions = None if self.positions is None else self.positions[rows]
        self.batch = len(rows)

    def require_room(self, batch: int, T: int) -> None:
        """Refuse T more tokens for ``batch`` rows if they do not fit."""
        if batch != self.batch:
            raise InputError(f"the cache holds {self.batch} rows, the ids have {batch}")
        if self.length + T > self.capacity:
            raise InputError(_full(self.length, self.capacity, T))

    def require_padding(self, real: Bool[Tensor, "B S"] | None) -> None:
        """Refuse padding behind real tokens if only the last positions are kept."""
        if self.window is None or real is None:
            return
        gaps = (real[:, :-1] & ~real[:, 1:]).any(1)
        if gaps.any():
            raise InputError(
                f"row {int(gaps.int().argmax())} has padding behind real tokens: a cache that "
                f"keeps the last positions would lose some of the window of {self.window}; put "
                "the padding in front"
            )


class MemoryCache:
    """KV cache of cross-attention: a memory's keys and values, computed once, read often.

    Example:
        >>> MemoryCache().holds(torch.randn(1, 5, 8))  # nothing, at first
        False
    """

    k: Float[Tensor, "B H S K"]
    v: Float[Tensor, "B H S K"]

    def __init__(self) -> None:
        self.memory: Tensor | None = None  # None: nothing has been computed

    def holds(self, memory: Float[Tensor, "B S D"]) -> bool:
        """Whether keys and values of this memory are there.

        Raises:
            InputError: If there are those of another one.
        """
        if self.memory is None or self.memory is memory:
            return self.memory is not None
        if self.memory.shape == memory.shape and torch.allclose(
            self.memory, memory, rtol=0.0, atol=0.0, equal_nan=True
        ):
            return True
        raise InputError(
            f"the cache holds keys and values of another memory {tuple(self.memory.shape)} "
            f"than the given one {tuple(memory.shape)}: start a new cache for each source"
        )

    def fill(
        self,
        memory: Float[Tensor, "B S D"],
        k: Float[Tensor, "B H S K"],
        v: Float[Tensor, "B H S K"],
    ) -> None:
        """Keep the keys and values of this memory.

        Raises:
            InputError: If they need a gradient, which a cache would lose.
        """
        _refuse_gradients(k, v)
        self.memory, self.k, self.v = memory, k, v

    def select(self, rows: Int[Tensor, " N"]) -> None:
        """Keep these rows, in this order."""
        if self.memory is not None:
            self.memory, self.k, self.v = self.memory[rows], self.k[rows], self.v[rows]


class DecoderCache(KeyValueCache):
    """KV cache of an encoder-decoder: the decoder's own keys and values, and the memory's.

    Args:
        n_layers: L, of the decoder.
        batch: B, rows.
        n_heads: H.
        capacity: Positions of the target that there is room for [tokens].
        d_head: K, width of one head.
        dtype: Of keys and values.
        device: Where they are.

    Example:
        >>> cache = DecoderCache(n_layers=2, batch=1, n_heads=4, capacity=8, d_head=16)
        >>> cache.length, len(cache.memory_layers)
        (0, 2)
    """

    def __init__(
        self,
        n_layers: int,
        batch: int,
        n_heads: int,
        capacity: int,
        d_head: int,
        dtype: torch.dtype | None = None,
        device: torch.device | None = None,
    ) -> None:
        super().__init__(n_layers, batch, n_heads, capacity, d_head, dtype, device)
        self.memory_layers = [MemoryCache() for _ in range(n_layers)]

    def require_memory(self, memory: Float[Tensor, "B S D"]) -> None:
        """Refuse another memory than the one whose keys and values are there."""
        self.memory_layers[0].holds(memory)

    def select(self, rows: Int[Tensor, " N"]) -> None:
        """Keep these rows, of the memory too."""
        super().select(rows)
        for layer in self.memory_layers:
            layer.select(rows)


def require_past(length: int, found: int) -> None:
    """Refuse to go back to where nothing was read."""
    if not 0 <= length <= found:
        raise InputError(f"cannot go back to {length} tokens: {found} were read")


def require_rows(rows: Tensor, batch: int) -> None:
    """Refuse rows that a batch does not have."""
    if rows.dtype != torch.int64 or rows.ndim != 1 or not len(rows):
        raise InputError(
            f"rows {tuple(rows.shape)} of {rows.dtype}: give the numbers of one row or more, "
            "(N,), int64"
        )
    low, high = torch.stack(rows.aminmax()).tolist()
    if low < 0 or high >= batch:
        raise InputError(f"rows {low} to {high} are asked for, there are 0 to {batch - 1}")


def _refuse_gradients(k: Tensor, v: Tensor) -> None:
    if k.requires_grad or v.requires_grad:
        raise InputError("a key/value cache holds no gradients: run under torch.no_grad()")


def _full(length: int, capacity: int, more: int) -> str:
    return (
        f"the cache holds {length} of {capacity} positions, {more} more do not fit; "
        "start a new cache with a shorter prompt, or use a larger context"
    )
