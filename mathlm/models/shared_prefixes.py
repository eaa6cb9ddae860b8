"""A GPT on rows that begin alike: what they share is read once, and padding not at all."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import embedding

from ..layers import SelfAttention
from ..shapes import Float, Int
from .gpt import GPT
from .gpt_config import require_no_variant
from .layout import Layout


@dataclass(frozen=True, eq=False)
class SharedRows:
    """Which places of B rows of T tokens are one and the same, for they follow the same text.

    What acts on each token alone is computed for N distinct ones. For attention, which needs
    rows, queries, keys and values are spread over them, and what the heads read is collected.

    Args:
        place: Number of the distinct token at each place, below N; any at padding.
        first: Where each distinct token stands first, counted row by row.
    """

    place: Int[Tensor, "B T"]
    first: Int[Tensor, " N"]

    def spread(self, heads: Float[Tensor, "1 H N K"]) -> Float[Tensor, "B H T K"]:
        """Vectors of the distinct tokens, at all places where these stand."""
        flat = heads.transpose(1, 2).flatten(2)[0]  # (N, H·K)
        rows = embedding(self.place, flat)  # backward adds rows up; index_add is slower
        return rows.unflatten(-1, (heads.shape[1], -1)).transpose(1, 2)

    def collect(self, rows: Float[Tensor, "B T D"]) -> Float[Tensor, "1 N D"]:
        """Vectors at the first place of each distinct token."""
        return embedding(self.first, rows.flatten(0, 1)).unsqueeze(0)

    def __call__(
        self, attention: SelfAttention, x: Float[Tensor, "1 N D"], **attend: Any
    ) -> Float[Tensor, "1 N D"]:
        """Attention in the rows, for the distinct tokens."""
        q, k, v = (self.spread(h) for h in attention.project(x))
        y = attention.heads(q, k, v, **attend)  # (B, H, T, K)
        return attention.W_o(self.collect(y.transpose(1, 2).flatten(2)))


def shared_rows(ids: Tensor, lengths: Tensor) -> SharedRows:
    """Which tokens of some rows follow the same text, and are the same.

    Args:
        ids: Token ids (B, T).
        lengths: Tokens of each row that count, (B,).

    Example:
        >>> rows = shared_rows(torch.tensor([[1, 2], [1, 3]]), torch.tensor([2, 2]))
        >>> rows.place.tolist(), rows.first.tolist()  # both rows begin with the same token
        ([[0, 1], [0, 2]], [0, 1, 3])
    """
    rows, ends = ids.cpu().numpy(), lengths.cpu().numpy()
    (B, T), firsts = rows.shape, list[np.ndarray]()
    place, parent = np.zeros((B, T), np.int64), np.zeros(B, np.int64)
    count = 0
    for t in range(int(ends.max(initial=0))):
        (live,) = np.nonzero(ends > t)
        key = parent[live] * (rows.max() + 1) + rows[live, t]
        _, first, number = np.unique(key, return_index=True, return_inverse=True)
        place[live, t] = parent[live] = count + number
        count += len(first)
        firsts.append(live[first] * T + t)
    first = np.concatenate([np.zeros(0, np.int64), *firsts])
    found = (torch.from_numpy(x).to(ids.device) for x in (place, first))
    return SharedRows(*found)


def shared_hidden(model: GPT, ids: Tensor, rows: SharedRows) -> Float[Tensor, "N D"]:
    """What the head reads, at each distinct token of some rows.

    The same numbers as of :meth:`GPT.hidden` at the places ``rows.first``, to rounding.

    Args:
        model: Without virtual tokens.
        ids: Token ids (B, T).
        rows: Which of them are the same.

    Raises:
        ConfigError: If the model has a variant.

    Example:
        >>> from mathlm.models import GPTConfig
        >>> sizes = dict(vocab_size=256, context=32, d_model=16, n_layers=2, n_heads=2)
        >>> ids = torch.tensor([[1, 2], [1, 3]])  # both begin with 1
        >>> rows = shared_rows(ids, torch.tensor([2, 2]))
        >>> shared_hidden(GPT(GPTConfig(**sizes)), ids, rows).shape  # three, not four
        torch.Size([3, 16])
    """
    require_no_variant(model.config, "shared_hidden")
    model._require_ids(ids, None)
    places = torch.arange(ids.shape[1], device=ids.device)
    own = (rows.first % ids.shape[1]).unsqueeze(0)
    terms = model._position_terms(Layout(places, places, None, None, False))
    x = model.embed(ids.flatten()[rows.first].unsqueeze(0), Layout(own, own, None, None, False))
    for block in model.blocks:
        x = block(x, through=rows, **terms)
    return model.final_norm(x)[0]
