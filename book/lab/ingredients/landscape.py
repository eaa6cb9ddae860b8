"""Slices of a loss landscape: lines and planes through the weights of a model."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import nn

from mathlm.errors import InputError, NonFiniteLossError
from mathlm.train import next_token
from mathlm.train.objectives import Batch, Objective

from .directions import Direction, place, weights_kept


def losses(
    model: nn.Module,
    directions: list[Direction],
    points: Sequence[list[float]],
    batch: Batch,
    objective: Objective,
) -> list[float]:
    """Mean loss of ``batch`` at each point."""
    shapes = [tuple(p.shape) for p in model.parameters()]
    if not points or any([tuple(d.shape) for d in found] != shapes for found in directions):
        raise InputError(f"need at least one point, and directions of the shapes {shapes}")
    found = list[float]()
    with weights_kept(model) as origin, torch.no_grad():
        for at in points:
            place(model, origin, directions, at)
            loss, count = objective(model, batch)
            if not loss.isfinite():
                raise NonFiniteLossError(f"the loss at {at} is {loss.item()}: go less far")
            found.append(loss.item() / count)
    return found


def line(
    model: nn.Module,
    direction: Direction,
    xs: Sequence[float] | np.ndarray,
    batch: Batch,
    objective: Objective = next_token,
) -> np.ndarray:
    """Mean loss of ``batch`` [nats/target] at the weights θ + x d, for each x."""
    return np.array(losses(model, [direction], [[float(x)] for x in xs], batch, objective))


def plane(
    model: nn.Module,
    first: Direction,
    second: Direction,
    xs: Sequence[float] | np.ndarray,
    ys: Sequence[float] | np.ndarray,
    batch: Batch,
    objective: Objective = next_token,
) -> np.ndarray:
    """Mean loss of ``batch`` [nats/target] at θ + x d₁ + y d₂: a row for each y."""
    points = [[float(x), float(y)] for y in ys for x in xs]
    found = losses(model, [first, second], points, batch, objective)
    return np.array(found).reshape(len(ys), len(xs))


def barrier(heights: Sequence[float] | np.ndarray) -> float:
    """Largest height of a path over the straight line between its ends; at least 0.

    Computes::

        maxₜ L(t) - ((1 - t) L(0) + t L(1))   over evenly spaced t

    References:
        Entezari et al. (2022), arXiv:2110.06296, section 2.
    """
    heights = np.asarray(heights, dtype=float)
    if heights.ndim != 1 or len(heights) < 3 or not np.isfinite(heights).all():
        raise InputError(f"a path has three finite heights or more, got {heights.tolist()}")
    chord = np.linspace(heights[0], heights[-1], len(heights))
    return float((heights - chord).max())
