"""Ten bugs of self-attention, planted one at a time, and which checks catch them.

Every step of the forward pass is one function, and a bug replaces one of them.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray

from .attention_checks import CHECKS, Attend


def softmax(scores: ndarray, axis: int = -1) -> ndarray:
    """Stable softmax along an axis."""
    powers = np.exp(scores - scores.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


@dataclass(frozen=True, kw_only=True)
class Steps:
    """One head of self-attention from six steps; called, it returns y and the weights."""

    prepare: Callable = lambda x, mask: x
    project: Callable = lambda x, W: x @ W.T
    scale: Callable = lambda s, d: s / np.sqrt(d)
    hide: Callable = lambda s, mask: np.where(mask, s, -np.inf)
    normalize: Callable = softmax
    afterwards: Callable = lambda a, mask: a

    def __call__(self, x, W_q, W_k, W_v, mask):
        """Output (T, V) and weights (T, T) for the causal or padded mask given."""
        x = self.prepare(x, mask)
        q, k, v = (self.project(x, W) for W in (W_q, W_k, W_v))
        weights = self.normalize(self.hide(self.scale(q @ k.T, k.shape[-1]), mask))
        weights = self.afterwards(weights, mask)
        return weights @ v, weights


def _clears_padding(x: ndarray, mask: ndarray) -> ndarray:
    x[~mask[-1]] = 0.0  # in the caller's array
    return x


def _plain_powers(scores: ndarray) -> ndarray:
    return np.exp(scores) / np.exp(scores).sum(-1, keepdims=True)


def _sees_padding(scores: ndarray, mask: ndarray) -> ndarray:
    return np.where(np.tril(np.ones_like(mask)) | mask.all(), scores, -np.inf)


RIGHT = Steps()
BUGS: dict[str, Steps] = {
    "softmax over the queries": replace(RIGHT, normalize=lambda s: softmax(s, axis=0)),
    "no division by √d": replace(RIGHT, scale=lambda s, d: s),
    "division by d": replace(RIGHT, scale=lambda s, d: s / d),
    "mask after the softmax": replace(
        RIGHT, hide=lambda s, mask: s, afterwards=lambda a, mask: a * mask
    ),
    "mask with 0, not −∞": replace(RIGHT, hide=lambda s, mask: s * mask),
    "mask one too wide": replace(
        RIGHT, hide=lambda s, mask: np.where(mask | np.eye(len(s), k=1, dtype=bool), s, -np.inf)
    ),
    "padding not hidden": replace(RIGHT, hide=_sees_padding),
    "weights transposed": replace(RIGHT, project=lambda x, W: x @ W),
    "maximum not subtracted": replace(RIGHT, normalize=_plain_powers),
    "writes into its input": replace(RIGHT, prepare=_clears_padding),
}


def caught(attend: Attend) -> list[bool]:
    """For each check, whether the function fails it; an error counts as a failure."""
    results = []
    for check in CHECKS.values():
        try:
            with np.errstate(all="ignore"):
                results.append(not check(attend))
        except ValueError:
            results.append(True)
    return results
