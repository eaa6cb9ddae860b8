"""Gradients of weights, block by block, in a model that has not been trained yet."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy import ndarray

from mathlm.train import next_token

from .block_kinds import build


def output_gradients(
    kind: str, depth: int, seeds: Sequence[int] = (0, 1, 2), *, d_model: int = 64
) -> ndarray:
    """Norm of the gradient of the mean loss in the last matrix of every block, at the start.

    The model predicts random next bytes: 4 sequences of 32, other weights and bytes for each
    seed. Its matrices start with the variance of Xavier, as in Xiong et al. (2020).

    Args:
        kind: Of block, as in :func:`build`.
        depth: Blocks, L.
        seeds: Of weights and bytes.
        d_model: Width D.

    Returns:
        Norms (seeds, L), the bottom block first.
    """
    return np.array([_one(kind, depth, seed, d_model) for seed in seeds])


def _one(kind: str, depth: int, seed: int, d_model: int) -> list[float]:
    model = build(kind, depth, seed, start="xavier", d_model=d_model)
    ids = torch.randint(256, (4, 33), generator=torch.Generator().manual_seed(seed))
    loss, count = next_token(model, {"ids": ids[:, :-1], "targets": ids[:, 1:]})
    named = model.named_parameters()
    weights = [p for name, p in named if name.endswith("feed_forward.W_out.weight")]
    return [g.norm().item() for g in torch.autograd.grad(loss / count, weights)]


__all__ = ["output_gradients"]
