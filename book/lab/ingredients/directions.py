"""Directions in the space of a model's weights."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from mathlm.errors import InputError

Direction = list[Tensor]


def random_direction(model: nn.Module, seed: int) -> Direction:
    """A normal draw, each row as long as the row of the weights that it moves.

    Implements eq-filter-normalized::

        dᵢ = zᵢ ‖wᵢ‖ / ‖zᵢ‖,   zᵢ ~ N(0, I)   for each row i of each matrix; d = 0 for vectors

    A network of relus is the same function when one layer is made c times larger and the next c
    times smaller. Along such directions its slices are the same, too.

    Args:
        model: Its parameters are the point.
        seed: Of the draw.

    Returns:
        One tensor for each parameter.

    References:
        Li et al. (2018), arXiv:1712.09913, section 4.
    """
    generator = torch.Generator().manual_seed(seed)
    direction = []
    for w in model.parameters():
        z = torch.randn(w.shape, generator=generator, dtype=torch.float64).to(w)
        if w.ndim < 2:
            direction.append(torch.zeros_like(w))
            continue
        axes = tuple(range(1, w.ndim))
        length, own = z.square().sum(axes, True).sqrt(), w.detach().square().sum(axes, True)
        direction.append(z * own.sqrt() / length)
    return direction


def towards(model: nn.Module, other: nn.Module) -> Direction:
    """The way from the weights of ``model`` to those of ``other``: x = 1 arrives there.

    Raises:
        InputError: If the models differ in their shapes.
    """
    pairs = [list(m.parameters()) for m in (model, other)]
    shapes = [[tuple(p.shape) for p in side] for side in pairs]
    if shapes[0] != shapes[1]:
        raise InputError(f"the models differ in their shapes: {shapes[0]} and {shapes[1]}")
    return [(b - a).detach() for a, b in zip(*pairs, strict=True)]


@contextmanager
def weights_kept(model: nn.Module) -> Iterator[list[Tensor]]:
    """The weights of ``model``, without dropout; all is bit for bit as it was afterwards."""
    kept, was_training = [p.detach().clone() for p in model.parameters()], model.training
    model.eval()
    try:
        yield kept
    finally:
        place(model, kept, [], [])
        model.train(was_training)


@torch.no_grad()
def place(
    model: nn.Module, origin: list[Tensor], directions: list[Direction], at: list[float]
) -> None:
    """Give ``model`` the weights θ + Σ xₖ dₖ."""
    for i, (p, start) in enumerate(zip(model.parameters(), origin, strict=True)):
        p.copy_(start)
        for x, direction in zip(at, directions, strict=True):
            p.add_(direction[i], alpha=x)
