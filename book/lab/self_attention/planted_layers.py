"""Layers of self-attention with one fault each, forward or backward, for the project.

Every step is one function, and a fault replaces one of them. Reading on gives the faults away.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy import ndarray

from mathlm.reference import self_attention, self_attention_backward

Gradients = tuple[ndarray, ...]
WORKSPACE: list[Any] = []  # what one of the layers shares among its calls
CONTEXT = 16  # positions for which one of the layers has a mask


class Sealed(NamedTuple):
    """A layer as its user sees it.

    Args:
        forward: ``forward(x, W_q, W_k, W_v, mask)`` gives y and a cache, for x (B, T, D) and a
            boolean mask (B, T, T), True where a query may attend.
        backward: ``backward(dy, cache)`` gives dx, dW_q, dW_k and dW_v.
    """

    forward: Callable[..., tuple[ndarray, Any]]
    backward: Callable[..., Gradients]


def _clean(x: ndarray, mask: ndarray) -> ndarray:
    """Zero where a position sees nothing and nobody sees it."""
    used = np.expand_dims(mask.any(-1) | mask.any(-2), -1)
    return np.where(used, x, 0.0)


def _weigh(scores: ndarray, mask: ndarray) -> ndarray:
    """Softmax of each row over what it may see; 0 where that is nothing."""
    return _normalize(np.where(mask, scores, -np.inf))


def _normalize(scores: ndarray, axis: int | None = -1) -> ndarray:
    top = scores.max(axis, keepdims=True)
    powers = np.exp(scores - np.where(np.isinf(top), 0.0, top))
    total = powers.sum(-1, keepdims=True)
    return powers / np.where(total == 0, 1.0, total)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Self-attention with one head and its backward pass, from seven steps."""

    clean: Callable = _clean
    divisor: Callable = lambda K, D: np.sqrt(K)
    weigh: Callable = _weigh
    keep: Callable = lambda cache: cache
    pull: Callable = lambda A, dA: A * (dA - (A * dA).sum(-1, keepdims=True))
    join: Callable = lambda asks, is_asked, gives: asks + is_asked + gives
    total: Callable = lambda dW: dW.sum(0)

    def forward(
        self, x: ndarray, W_q: ndarray, W_k: ndarray, W_v: ndarray, mask: ndarray
    ) -> tuple[ndarray, Any]:
        """Output (B, T, V) and the cache."""
        x = self.clean(x, mask)
        q, k, v = (x @ W.T for W in (W_q, W_k, W_v))
        A = self.weigh(q @ k.mT / self.divisor(k.shape[-1], x.shape[-1]), mask)
        return A @ v, self.keep((x, (W_q, W_k, W_v), q, k, v, A))

    def backward(self, dy: ndarray, cache: Any) -> Gradients:
        """Gradients of the loss in x, W_q, W_k and W_v."""
        x, (W_q, W_k, W_v), q, k, v, A = cache
        dS = self.pull(A, dy @ v.mT) / self.divisor(k.shape[-1], x.shape[-1])
        dq, dk, dv = dS @ k, dS.mT @ q, A.mT @ dy
        dx = self.join(dq @ W_q, dk @ W_k, dv @ W_v)
        return (dx, *(self.total(d.mT @ x) for d in (dq, dk, dv)))


def _clear_in_place(x: ndarray, mask: ndarray) -> ndarray:
    x[~(mask.any(-1) | mask.any(-2))] = 0.0
    return x


def _one_maximum(scores: ndarray, mask: ndarray) -> ndarray:
    return _normalize(np.where(mask, scores, -np.inf), axis=None)


def _finite_low(scores: ndarray, mask: ndarray) -> ndarray:
    return _normalize(np.where(mask, scores, -1e9))


def _renormalized(scores: ndarray, mask: ndarray) -> ndarray:
    left = _normalize(scores) * mask
    total = left.sum(-1, keepdims=True)
    return left / np.where(total == 0, 1.0, total)


def _short_mask(scores: ndarray, mask: ndarray) -> ndarray:
    whole = scores.shape[-1] > CONTEXT
    return _weigh(scores, np.ones_like(mask) if whole else mask)


def _into_workspace(cache: tuple) -> list[Any]:
    WORKSPACE[:] = cache
    return WORKSPACE


RIGHT = Steps()
FAULTS: dict[str, Steps] = {
    "one maximum for the whole batch, so that rows far below it underflow": replace(
        RIGHT, weigh=_one_maximum
    ),
    "scores divided by √D in place of √d_k": replace(RIGHT, divisor=lambda K, D: np.sqrt(D)),
    "the mask of the first sequence used for all": replace(
        RIGHT, weigh=lambda s, mask: _weigh(s, mask[:1])
    ),
    "-10⁹ in place of -∞, so that a query that sees nothing averages": replace(
        RIGHT, weigh=_finite_low
    ),
    "masked after the softmax and renormalized": replace(RIGHT, weigh=_renormalized),
    "NaN where nobody looks multiplied by a weight of 0": replace(
        RIGHT, clean=lambda x, mask: x
    ),
    "dX without the share of the keys": replace(
        RIGHT, join=lambda asks, is_asked, gives: asks + gives
    ),
    "gradients of the matrices averaged over the batch": replace(
        RIGHT, total=lambda dW: dW.mean(0)
    ),
    "one cache for all calls": replace(RIGHT, keep=_into_workspace),
    "no mask for more than 16 positions": replace(RIGHT, weigh=_short_mask),
}
HELD_BACK: dict[str, Steps] = {
    "the row sum left out of the softmax's backward pass": replace(
        RIGHT, pull=lambda A, dA: A * dA
    ),
    "unused positions cleared in the caller's array": replace(RIGHT, clean=_clear_in_place),
}


def _reordered(
    x: ndarray, W_q: ndarray, W_k: ndarray, W_v: ndarray, mask: ndarray
) -> tuple[ndarray, Any]:
    """Right, with the division in the queries: other roundings."""
    root = 3 * np.sqrt(len(W_k))
    q_first = replace(RIGHT, divisor=lambda K, D: 1 / 3)
    y, cache = q_first.forward(x, W_q / root, W_k, W_v, mask)
    return y, (cache, root)


def _reordered_backward(dy: ndarray, cache: Any) -> Gradients:
    inner, root = cache
    dx, dW_q, dW_k, dW_v = replace(RIGHT, divisor=lambda K, D: 1 / 3).backward(dy, inner)
    return dx, dW_q / root, dW_k, dW_v


def sealed(steps: Steps) -> Sealed:
    """A layer whose steps cannot be told from outside."""
    return Sealed(
        lambda x, W_q, W_k, W_v, mask: steps.forward(x, W_q, W_k, W_v, mask),
        lambda dy, cache: steps.backward(dy, cache),
    )


LAYERS: tuple[Sealed, ...] = tuple(map(sealed, FAULTS.values()))
CORRECT: dict[str, Sealed] = {
    "written plainly": sealed(RIGHT),
    "with other roundings": Sealed(_reordered, _reordered_backward),
    "of the package": Sealed(self_attention, self_attention_backward),
}

__all__ = ["CORRECT", "FAULTS", "HELD_BACK", "LAYERS", "Sealed", "Steps", "sealed"]
