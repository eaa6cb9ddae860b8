"""Reference solution of the project: DPO in NumPy, its derivatives and a gradient check."""

from collections.abc import Callable

import numpy as np

Array = np.ndarray


def dpo(
    logp_w: Array, logp_l: Array, ref_w: Array, ref_l: Array, beta: float
) -> tuple[Array, Array, Array]:
    """Loss of each pair, and its derivatives in both log-probabilities.

    Args:
        logp_w: log π of the chosen completion, (N,) [nats]; the next three likewise.
        logp_l: Of the rejected one.
        ref_w: log π_ref of the chosen one.
        ref_l: Of the rejected one.
        beta: β.

    Returns:
        -log σ(m), and its derivatives in ``logp_w`` and ``logp_l``, each (N,).
    """
    m = beta * ((logp_w - ref_w) - (logp_l - ref_l))
    loss = np.logaddexp(0, -m)
    weight = np.exp(-np.logaddexp(0, m))  # σ(-m)
    return loss, -beta * weight, beta * weight


def largest_error(
    f: Callable[[Array], float], gradient: Callable[[Array], Array], x: Array, h: float = 1e-5
) -> float:
    """Largest error of a claimed gradient, relative to the largest numerical slope.

    Args:
        f: From an array to a number.
        gradient: From the same array to what is said to be the gradient of f.
        x: Where to check it; not changed.
        h: Step of the central differences.
    """
    slopes = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += h
        down[i] -= h
        slopes[i] = (f(up) - f(down)) / (2 * h)
    return float(np.abs(gradient(x.copy()) - slopes).max() / np.abs(slopes).max())


def train(logp_ref: Array, win: Array, beta: float) -> Array:
    """The policy of least expected loss, over all ordered pairs drawn evenly.

    Args:
        logp_ref: log π_ref, (Y,) [nats].
        win: Probability that the row is preferred to the column, (Y, Y).
        beta: β.

    Returns:
        log π, (Y,) [nats].
    """
    z = logp_ref.copy()  # logits
    first, second = np.nonzero(~np.eye(len(z), dtype=bool))  # ordered pairs
    share = win[first, second] / win[first, second].sum()
    for _ in range(2000):
        ref_w, ref_l = logp_ref[first], logp_ref[second]
        _, up, down = dpo(z[first], z[second], ref_w, ref_l, beta)
        slope = np.bincount(first, share * up, len(z))
        slope += np.bincount(second, share * down, len(z))
        z = z - 0.4 / beta**2 * slope
    return z - np.logaddexp.reduce(z)


__all__ = ["dpo", "largest_error", "train"]
