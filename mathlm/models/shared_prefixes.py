"""A GPT on rows that begin alike: what they share is read once, and padding not at all."""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..layers import RotaryPosition
from ..layers.attention import SharedRows
from ..shapes import Float
from .gpt import GPT
from .layout import Layout


def shared_rows(ids: Tensor, lengths: Tensor) -> SharedRows:
    """Which tokens of some rows follow the same text, and are the same.

    Args:
        ids: Token ids (B, T).
        lengths: Tokens of each row that count, (B,).
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
    """
    model._require_ids(ids, None)
    places = torch.arange(ids.shape[1], device=ids.device)
    in_rows = Layout(places, places, None, None, False)
    own = (rows.first % ids.shape[1]).unsqueeze(0)
    alone = Layout(own, own, None, None, False)
    turned = isinstance(model.position, RotaryPosition)  # else attention adds biases, in rows
    terms: dict[str, Any] = model._position_terms(alone if turned else in_rows)
    x = model.embed(ids.flatten()[rows.first].unsqueeze(0), alone)
    for block in model.blocks:
        x = block(x, rows=rows, **terms)
    return model.final_norm(x)[0]
