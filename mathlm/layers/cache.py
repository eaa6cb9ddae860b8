"""The key/value cache: what attention remembers of the tokens it has read."""

import torch
from torch import Tensor

from ..errors import InputError
from ..shapes import Bool, Float, Int


class LayerCache:
    """Keys and values of one layer, in memory set aside beforehand.

    Args:
        k: Room for the keys, (B, G, capacity, K).
        v: Room for the values, of the same shape.
    """

    def __init__(self, k: Float[Tensor, "B G C K"], v: Float[Tensor, "B G C K"]) -> None:
        self.k, self.v, self.length = k, v, 0

    def append(
        self, k: Float[Tensor, "B G T K"], v: Float[Tensor, "B G T K"]
    ) -> tuple[Float[Tensor, "B G S K"], Float[Tensor, "B G S K"]]:
        """Write T more keys and values; return all S that are there now.

        Raises:
            InputError: If they do not fit, or need a gradient, which a cache would lose.
        """
        end = self.length + k.shape[2]
        if end > self.k.shape[2]:
            raise InputError(_full(self.length, self.k.shape[2], k.shape[2]))
        _refuse_gradients(k, v)
        self.k[:, :, self.length : end] = k
        self.v[:, :, self.length : end] = v
        self.length = end
        return self.k[:, :, :end], self.v[:, :, :end]


class KeyValueCache:
    """Keys and values of every layer of a model, and which positions are real.

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
    ) -> None:
        shape = (batch, n_kv_heads, capacity, d_head)
        self.batch, self.capacity = batch, capacity
        self.layers = [
            LayerCache(*(torch.zeros(shape, dtype=dtype, device=device) for _ in "kv"))
            for _ in range(n_layers)
        ]
        self.mask: Bool[Tensor, "B S"] | None = None  # None: every position is a real token
        self.positions: Int[Tensor, "B S"] | None = None  # None: derived from the mask

    @property
    def length(self) -> int:
        """Positions that are filled [tokens]."""
        return self.layers[0].length

    def require_room(self, batch: int, T: int) -> None:
        """Refuse T more tokens for ``batch`` rows if they do not fit."""
        if batch != self.batch:
            raise InputError(f"the cache holds {self.batch} rows, the ids have {batch}")
        if self.length + T > self.capacity:
            raise InputError(_full(self.length, self.capacity, T))


class MemoryCache:
    """Keys and values of one memory in one layer: computed once, then read at every step."""

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
        if self.memory.shape == memory.shape and torch.equal(self.memory, memory):
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


class DecoderCache(KeyValueCache):
    """What a decoder remembers: its own keys and values, and those of the memory.

    Args:
        n_layers: L, of the decoder.
        batch: B, rows.
        n_heads: H.
        capacity: Positions of the target that there is room for [tokens].
        d_head: K, width of one head.
        dtype: Of keys and values.
        device: Where they are.
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


def _refuse_gradients(*tensors: Tensor) -> None:
    if any(t.requires_grad for t in tensors):
        raise InputError("a key/value cache holds no gradients: run under torch.no_grad()")


def _full(length: int, capacity: int, more: int) -> str:
    return (
        f"the cache holds {length} of {capacity} positions, {more} more do not fit; "
        "start a new cache with a shorter prompt, or use a larger context"
    )
