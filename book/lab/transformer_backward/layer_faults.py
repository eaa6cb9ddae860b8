"""Faults of the backward passes of loss, linear map, normalization and attention.

A fault is made from the right function; ``planted_gradient_faults`` puts it in its place.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from mathlm.reference.network import (
    block,
    decoder_block,
    feedforward,
    heads,
    transformer,
    weights,
)

Make = Callable[[Any], Any]  # from the right function to the wrong one


class Fault(NamedTuple):
    """Where a function is used, its name, the wrong line, and what makes the function wrong."""

    where: Any
    name: str
    line: str
    make: Make


def after(change: Callable) -> Make:
    """Something is done to dy, the cache and the gradients, which gives other gradients."""
    return lambda f: lambda dy, cache, *rest: change(dy, cache, f(dy, cache, *rest))


def scaled(factor: float) -> Make:
    """The gradient, times a number."""
    return after(lambda dy, cache, gradient: factor * gradient)


def with_entry(i: int, value: Any) -> Make:
    """Entry number i of the cache is another one."""
    return lambda f: lambda dy, cache: f(dy, (*cache[:i], value, *cache[i + 1 :]))


def without_output(i: int) -> Make:
    """Gradient number i is 0."""
    return after(lambda dy, cache, out: (*out[:i], 0 * out[i], *out[i + 1 :]))


def in_table(name: str, make: Make) -> Make:
    """In a table of pairs, the second function of one pair is another one."""
    return lambda pairs: pairs | {name: (pairs[name][0], make(pairs[name][1]))}


def norm(mean: int = 1, along: int = 1, gain: int = 1) -> Make:
    """Layer normalization without one of its terms, or without its gain."""

    def change(dy: Any, cache: Any, out: Any) -> Any:
        (xhat, rstd, gamma), average = cache, lambda g: g.mean(-1, keepdims=True)
        g = dy * gamma**gain
        return rstd * (g - mean * average(g) - along * xhat * average(g * xhat)), *out[1:]

    return after(change)


def for_square(change: Callable) -> Make:
    """Only for a square matrix: any other has a shape that would tell."""
    return after(lambda dy, c, out: change(dy, c[1], *out) if np.ptp(c[1].shape) == 0 else out)


def mean_db(dy: Any, cache: Any, out: Any) -> Any:
    """The gradient of a shift is a mean over the rows."""
    return *out[:2], *(db * dy.shape[-1] / dy.size for db in out[2:])


def without_row_sum(dy: Any, cache: Any, out: Any) -> Any:
    """The softmax of the scores is taken for a product: each weight moves alone."""
    q, k, v, A = cache
    dS = A * (dy @ v.mT) / math.sqrt(q.shape[-1])
    return dS @ k, dS.mT @ q, out[2]


def without_root(dy: Any, cache: Any, out: Any) -> Any:
    """Queries and keys lose the factor 1/√d on the way back."""
    root = math.sqrt(out[0].shape[-1])
    return root * out[0], root * out[1], out[2]


LABELS, LINEAR, NORM = "label_smoothed_cross_entropy", "linear_backward", "layer_norm_backward"
LOSS, ATTEND = f"{LABELS}_backward", "dot_product_attention_backward"
all_count = np.ones((3, 5), dtype=bool)
unshifted = lambda f: lambda z, y, *rest: f(z, np.roll(y, 1, -1), *rest)  # noqa: E731
wide_open = in_table("relu", lambda f: lambda dy, cache: dy)
in_encoder = in_table("layer", norm(along=0))
transposed = for_square(lambda dy, W, dx, dW, *db: (dx, dW.T, *db))
not_back = for_square(lambda dy, W, dx, *rest: (dy @ W.T, *rest))
LAYER_FAULTS: dict[str, Fault] = {
    "sign turned": Fault(transformer, LOSS, "dz = (q − p) / N", scaled(-1.0)),
    "smoothing forgotten": Fault(transformer, LOSS, "q is one-hot", with_entry(2, 0.0)),
    "padding has labels": Fault(transformer, LOSS, "all count", with_entry(3, all_count)),
    "labels not shifted": Fault(transformer, LABELS, "y_t is what t has read", unshifted),
    "dW transposed": Fault(weights, LINEAR, "dW = xᵀ dy", transposed),
    "dx without the transpose": Fault(weights, LINEAR, "dx = dy Wᵀ", not_back),
    "db a mean": Fault(weights, LINEAR, "db = mean dy", after(mean_db)),
    "mean of g forgotten": Fault(
        decoder_block, NORM, "dx = (g − x̂ mean(g x̂)) / σ", norm(mean=0)
    ),
    "x̂ term forgotten": Fault(block, "NORMS", "dx = (g − mean g) / σ", in_encoder),
    "gain forgotten": Fault(decoder_block, NORM, "g = dy", norm(gain=0)),
    "ReLU lets all pass": Fault(feedforward, "ACTIVATIONS", "dz = dh", wide_open),
    "√d forgotten": Fault(heads, ATTEND, "dQ = dS K,  dK = dSᵀ Q", after(without_root)),
    "softmax without its sum": Fault(heads, ATTEND, "dS = A ⊙ dA", after(without_row_sum)),
    "keys learn nothing": Fault(heads, ATTEND, "dK = 0", without_output(1)),
}
