"""Where new tokens stand behind those that were read: what all layers need to know of it."""

from dataclasses import dataclass

import torch
from torch import Tensor

from ..layers import (
    AlibiPosition,
    KeyValueCache,
    LearnedPosition,
    RelativePosition,
    RotaryPosition,
    SinusoidalPosition,
)
from ..models import GPT
from ..shapes import Bool, Float, Int


@dataclass(frozen=True)
class Place:
    """What positions do in one step.

    Args:
        added: Vectors that are added to those of the tokens, (n, D) or (B, n, D).
        rotation: Tables for :func:`turn`, (n, K) or (B, 1, n, K).
        mask: What is added to the scores, -inf where a key is hidden, broadcastable to
            (B, G, H/G n, S); None = every key counts.
        seen: Keys that are read, the last ones; None = all.
    """

    added: Tensor | None
    rotation: tuple[Tensor, Tensor] | None
    mask: Tensor | None
    seen: int | None = None


class Places:
    """The position tables of a GPT, ready to be read at every step.

    Args:
        model: In evaluation mode.
    """

    def __init__(self, model: GPT) -> None:
        config, position = model.config, model.position
        self.groups, self.window = config.kv_heads, config.window
        self.shared = config.n_heads // config.kv_heads  # query heads that share a key
        self.dtype = dtype = next(model.parameters()).dtype
        self.added = self.cos = self.sin = self.distances = None
        if isinstance(position, LearnedPosition):
            self.added = position.weight.detach()
        elif isinstance(position, SinusoidalPosition):
            self.added = position.table.to(dtype)
        elif isinstance(position, RotaryPosition):
            cos, sin = position.cos, position.sin  # in float32 also for weights of 16 bits
            self.cos, self.sin = torch.cat((cos, cos), -1), torch.cat((-sin, sin), -1)
        elif isinstance(position, AlibiPosition | RelativePosition):
            self.distances = position

    def behind(self, cache: KeyValueCache, n: int) -> Place:
        """The place of n real tokens behind those in the cache."""
        past, S = cache.length, cache.length + n
        held = cache.held + n
        window = self.window if cache.mask is None else cache.window  # padding has gaps
        seen = held if window is None else min(held, window + n - 1)
        some = seen if seen < held else None
        if cache.mask is not None:
            return self._among_padding(cache.mask, n, seen, some)
        plain = n == 1 and self.distances is None
        keys = None if plain else torch.arange(S - seen, S, device=cache.device)
        mask = None if keys is None else self._mask(keys[-n:], keys, None)
        return Place(*self._tables(slice(past, S)), mask, some)

    def fixes(self, cache: KeyValueCache) -> bool:
        """Whether :meth:`fixed` is possible."""
        return cache.mask is None and cache.window is None and self.distances is None

    def fixed(self, position: Int[Tensor, "1"], capacity: int) -> Place:
        """The place of one token at a position that may change while all shapes stay."""
        keys = torch.arange(capacity, device=position.device)
        return Place(*self._tables(position), self._mask(position, keys, None))

    def _among_padding(
        self, before: Bool[Tensor, "B P"], n: int, seen: int, some: int | None
    ) -> Place:
        real = torch.cat((before, before.new_ones(len(before), n)), 1)
        positions = real.cumsum(1) - 1
        keys, queries = positions[:, -seen:], positions[:, -n:]
        mask = self._mask(queries, keys, real[:, -seen:])
        added, rotation = self._tables(queries)
        if rotation is not None:
            rotation = rotation[0].unsqueeze(1), rotation[1].unsqueeze(1)  # (B, 1, n, K)
        return Place(added, rotation, mask, some)

    def _tables(
        self, positions: slice | Tensor
    ) -> tuple[Tensor | None, tuple[Tensor, Tensor] | None]:
        """Rows of the tables."""
        added = None if self.added is None else self.added[positions]
        if self.cos is None or self.sin is None:
            return added, None
        return added, (self.cos[positions], self.sin[positions])

    def _mask(
        self, queries: Tensor, keys: Tensor, real: Tensor | None
    ) -> Float[Tensor, "b g hn S"]:
        """Distances, and -inf where a key comes later, is too far away or is padding."""
        distance = queries.unsqueeze(-1) - keys.unsqueeze(-2)  # ([B], n, S)
        hidden = distance < 0
        if self.window is not None:
            hidden |= distance >= self.window
        if real is not None:
            hidden |= ~real.unsqueeze(-2)
        hidden = hidden.unsqueeze(-3)  # ([B], 1, n, S)
        mask = torch.zeros(hidden.shape, dtype=self.dtype, device=keys.device)
        if self.distances is not None:
            mask = self.distances(queries, keys).to(self.dtype)  # ([B], H, n, S)
        mask = mask.masked_fill(hidden, -torch.inf)
        return self._shared(mask if mask.ndim == 4 else mask.unsqueeze(0))

    def _shared(self, mask: Float[Tensor, "b h n S"]) -> Float[Tensor, "b g hn S"]:
        """Query heads that share a key stand among the queries."""
        if mask.shape[1] > 1:
            return mask.unflatten(1, (self.groups, self.shared)).flatten(2, 3)
        return mask.repeat(1, 1, self.shared, 1)


def turn(
    x: Float[Tensor, "... K"], cos: Float[Tensor, "... K"], sin: Float[Tensor, "... K"]
) -> Float[Tensor, "... K"]:
    """Turn each vector by its angles; what :func:`mathlm.functional.rotate_half_split` does.

    Computes::

        y = x ⊙ [cos θ, cos θ] + [x₂, x₁] ⊙ [-sin θ, sin θ],   x = [x₁, x₂]

    Args:
        x: Queries or keys.
        cos: Cosines, twice.
        sin: Sines, the first half with a minus.
    """
    return torch.addcmul(x * cos, x.roll(x.shape[-1] // 2, -1), sin).to(x.dtype)


__all__ = ["Place", "Places", "turn"]
