"""Completions drawn from a table, with the random numbers of generation."""

import numpy as np
import torch
from torch import Tensor

from ...generate.sampling import draw
from ...shapes import Float, Int
from .prefixes import Prefixes


def draw_completions(
    table: Float[Tensor, "P N V"],
    prefixes: Prefixes,
    prompt_index: Int[Tensor, " B"],
    seed: int,
    first_row: int = 0,
) -> Int[Tensor, " B"]:
    """Number of the completion that each row draws, token by token.

    Row i has its own stream of random numbers, made from the seed and ``first_row + i``, as in
    :func:`mathlm.generate.generate`: the completions are those that it would write.

    Args:
        table: Log-probability of each token at each prefix [nats].
        prefixes: Of the completions.
        prompt_index: The prompt of each row.
        seed: Of the random numbers.
        first_row: Number of the first row.
    """
    p, n = table.exp(), prefixes.node.shape[1]
    u = uniform_numbers(seed, len(prompt_index), n, first_row)
    node, drawn = torch.zeros_like(prompt_index), torch.full_like(prompt_index, -1)
    for t in range(n):
        token = draw(p[prompt_index, node], u[:, t])
        ends = prefixes.leaf[node, token].where(drawn < 0, -1)
        drawn = drawn.where(ends < 0, ends)
        node = prefixes.next[node, token].clamp_min(0)  # behind an end: no matter which
    return drawn


def uniform_numbers(
    seed: int, rows: int, length: int, first_row: int = 0
) -> Float[Tensor, "B n"]:
    """Uniform numbers below 1, exact in float32; each row from a stream of its own."""
    streams = (np.random.default_rng((seed, first_row + i)) for i in range(rows))
    return torch.from_numpy(np.stack([s.random(length, dtype=np.float32) for s in streams]))
