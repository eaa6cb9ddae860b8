"""Where each token of a batch stands, and which tokens may see which."""

from dataclasses import dataclass, replace

import torch
from torch import Tensor

from ..errors import InputError, InputTypeError
from ..functional import causal_mask, require_token_ids
from ..layers import KeyValueCache


@dataclass(frozen=True)
class Layout:
    """Positions and masks of one call of a causal model.

    Args:
        queries: Positions of the new tokens, (T,) or (B, T).
        keys: Positions of all tokens, cached ones included, (S,) or (B, S).
        padding: True where a token is real, (B, S); None = all are.
        mask: Who may attend, (B, 1, T, S); None = plain causal order.
        given: Whether the caller gave positions, now or earlier.
    """

    queries: Tensor
    keys: Tensor
    padding: Tensor | None
    mask: Tensor | None
    given: bool

    @property
    def real(self) -> Tensor | None:
        """True where a new token is real, (B, T); None = all are."""
        return None if self.padding is None else self.padding[:, -self.queries.shape[-1] :]

    def behind(self, m: int) -> "Layout":
        """The same tokens behind m keys that are none; who sees any token sees them."""
        if m == 0:
            return self
        first = torch.arange(m, device=self.keys.device).expand(*self.keys.shape[:-1], m)
        keys, mask = torch.cat((first, self.keys + m), -1), self.mask
        if mask is not None:
            seen = mask.any(-1, keepdim=True).expand(*mask.shape[:-1], m)
            mask = torch.cat((seen, mask), -1)
        return replace(self, queries=self.queries + m, keys=keys, mask=mask)

    def remember(self, cache: KeyValueCache) -> None:
        """Leave in the cache what the next call needs to know."""
        cache.mask = self.padding
        rows = self.keys.expand(cache.batch, -1)
        cache.positions = rows if self.given else None


def lay_out(
    ids: Tensor,
    mask: Tensor | None,
    positions: Tensor | None,
    cache: KeyValueCache | None,
    context: int,
    window: int | None,
    prefix: Tensor | None = None,
) -> Layout:
    """Positions and masks for ``ids``, from what the caller and the cache say.

    Positions count real tokens, so that padding on either side moves nothing.
    """
    B, T = ids.shape
    past = 0 if cache is None else cache.length
    require_prefix(prefix, B, T, past, window)
    if mask is not None and mask.dtype != torch.bool:
        found = str(mask.dtype).removeprefix("torch.")
        raise InputTypeError(f"mask must be bool, True = real token, got {found}")
    full = mask if mask is not None and mask.ndim > 2 else None
    padding = _padding(mask if full is None else None, B, T, cache)
    _require_full(full, B, T, past + T)
    if cache is not None:
        cache.require_padding(padding)
    given = positions is not None or (cache is not None and cache.positions is not None)
    keys = _key_positions(padding, ids, past)
    if given:
        keys = _given_positions(keys, positions, cache, B, T, context)
    queries = keys[..., -T:]
    visible = _visible(padding, full, queries, keys, window, given, prefix)
    return Layout(queries, keys, padding, visible, given)


def _padding(mask: Tensor | None, B: int, T: int, cache: KeyValueCache | None) -> Tensor | None:
    """Which of all tokens are real: what the cache remembers, and then the mask's."""
    past = 0 if cache is None else cache.length
    before = None if cache is None else cache.mask
    if mask is None:
        if before is None:
            return None
        return torch.cat((before, before.new_ones(B, T)), 1)
    if mask.shape != (B, past + T):
        raise InputError(
            f"mask {tuple(mask.shape)} must be ({B}, {past + T}): one entry for each of "
            f"{past} cached and {T} new tokens"
        )
    if past:
        before = torch.ones_like(mask[:, :past]) if before is None else before
        if not torch.equal(mask[:, :past], before):
            raise InputError("mask differs from the one that the cached tokens were read with")
    return mask


def _require_full(full: Tensor | None, B: int, T: int, S: int) -> None:
    if full is None:
        return
    fits = full.shape[-2:] == (T, S) and full.shape[0] in (1, B) and full.ndim <= 4
    if not fits:
        raise InputError(
            f"mask {tuple(full.shape)} must be ({B}, {T}, {S}) or ({B}, 1, {T}, {S}), or for "
            f"padding ({B}, {S})"
        )


def _key_positions(padding: Tensor | None, ids: Tensor, past: int) -> Tensor:
    """0, 1, 2 ... over the real tokens of each row."""
    if padding is None:
        return torch.arange(past + ids.shape[1], device=ids.device)
    return (padding.cumsum(1) - 1).clamp(min=0)


def _given_positions(
    keys: Tensor,
    positions: Tensor | None,
    cache: KeyValueCache | None,
    B: int,
    T: int,
    context: int,
) -> Tensor:
    """Positions that the caller chose; without new ones, counting goes on."""
    before = keys[..., :-T].expand(B, -1)
    if cache is not None and cache.positions is not None:
        before = cache.positions
    if positions is None:
        positions = before[:, -1:] + torch.arange(1, T + 1, device=keys.device)
    require_token_ids(positions, context, "position")
    if positions.shape not in ((T,), (B, T)):
        raise InputError(f"positions {tuple(positions.shape)} must be ({T},) or ({B}, {T})")
    return torch.cat((before, positions.expand(B, T)), 1)


def require_prefix(
    prefix: Tensor | None, B: int, T: int, past: int, window: int | None
) -> None:
    """Refuse lengths of prefixes that do not fit the rows, a window, or what a cache holds."""
    if prefix is None:
        return
    if past or window is not None:
        raise InputError(
            f"a prefix is read at once and sees all of itself: it goes with no cached tokens, "
            f"got {past}, and no window, got {window}"
        )
    if prefix.shape != (B,):
        raise InputError(
            f"prefix {tuple(prefix.shape)} must be ({B},): one length for each row"
        )
    require_token_ids(prefix, T + 1, "prefix length")


def prefix_mask(padding: Tensor | None, S: int, prefix: Tensor) -> Tensor:
    """True where a key is one of the first real tokens of its row, (B, 1, 1, S)."""
    before = torch.arange(S, device=prefix.device)  # real tokens before each, if all are real
    if padding is not None:
        before = padding.cumsum(1) - padding.long()
    return (before < prefix[:, None])[:, None, None, :]


def _visible(
    padding: Tensor | None,
    full: Tensor | None,
    queries: Tensor,
    keys: Tensor,
    window: int | None,
    given: bool,
    prefix: Tensor | None,
) -> Tensor | None:
    """Causal order, and the window, and the caller's mask; None if only the first counts."""
    plain = padding is None and full is None and prefix is None
    if plain and not (given and window is not None):
        return None
    mask = causal_mask(queries.shape[-1], keys.shape[-1], device=keys.device)[None, None]
    if prefix is not None:
        mask = mask | prefix_mask(padding, keys.shape[-1], prefix)
    if window is not None:
        near = queries[..., :, None] - keys[..., None, :] < window
        mask = mask & (near if near.ndim == 2 else near.unsqueeze(1))
    if padding is not None:
        mask = mask & padding[:, None, None, :]
    if full is not None:
        mask = mask & (full if full.ndim == 4 else full.unsqueeze(1))
    return mask
