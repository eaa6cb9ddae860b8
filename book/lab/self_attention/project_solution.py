"""Reference solution of the project: tests that find every planted bug."""

from collections.abc import Iterator

import numpy as np
from numpy import ndarray

from .planted_layers import Sealed

Problem = tuple[ndarray, ...]


def one_by_one(x: ndarray, W_q: ndarray, W_k: ndarray, W_v: ndarray, mask: ndarray) -> ndarray:
    """Self-attention, one query after another, over the visible keys alone."""
    y = np.zeros((*x.shape[:2], len(W_v)))
    for b, t in np.ndindex(*x.shape[:2]):
        seen = x[b, mask[b, t]]  # no hidden position is ever touched
        if len(seen):
            scores = (W_q @ x[b, t]) @ (seen @ W_k.T).T / np.sqrt(len(W_k))
            powers = np.exp(scores - scores.max())
            y[b, t] = powers / powers.sum() @ (seen @ W_v.T)
    return y


def problems() -> Iterator[Problem]:
    """Inputs of which each shows what another one hides."""
    rng = np.random.default_rng(0)

    def draw(T: int) -> Problem:  # five sizes, all different; another mask in each sequence
        mask = np.tri(T, dtype=bool) & (rng.random((3, 1, T)) < 0.7)
        shapes = (3, T, 7), (4, 7), (4, 7), (2, 7)
        return (*(rng.normal(size=shape) for shape in shapes), mask)

    yield draw(5)
    yield draw(50)
    x, *W, mask = draw(5)
    mask[1, 2] = False  # a query that sees nothing
    mask[0, 4], mask[0, :, 4] = False, False  # a position that nobody uses
    x[0, 4] = np.nan
    yield x, *W, mask
    x, *W, mask = draw(5)
    x[:, 3:] *= 100  # scores of thousands, hidden from the first three queries
    yield x, *W, mask


def gradients_agree(layer: Sealed, problem: Problem, h: float = 1e-6) -> bool:
    """Each gradient against the slope of the loss in a random direction."""
    *args, mask = problem
    rng = np.random.default_rng(1)
    y, cache = layer.forward(*args, mask)
    dy = rng.normal(size=y.shape)
    layer.forward(*[2 * a for a in args], mask)  # must not disturb the first cache
    for i, gradient in enumerate(layer.backward(dy, cache)):
        step = h * rng.normal(size=args[i].shape)
        ahead, back = ([*args[:i], args[i] + s, *args[i + 1 :]] for s in (step, -step))
        rise = (dy * (layer.forward(*ahead, mask)[0] - layer.forward(*back, mask)[0])).sum()
        if not np.isclose(rise / (2 * h), (gradient * step).sum() / h, rtol=1e-5, atol=1e-6):
            return False
    return True


def examine(layer: Sealed) -> bool:
    """Whether a layer keeps its promises."""
    first = next(problems())
    for problem in problems():
        before = [a.copy() for a in problem]
        y, _ = layer.forward(*problem)
        for a, b in zip(problem, before, strict=True):
            if not np.array_equal(a, b, equal_nan=True):
                return False
        if not np.allclose(y, one_by_one(*problem), rtol=1e-9, atol=1e-12):
            return False
    return gradients_agree(layer, first)
