"""Gradient descent on a small network, and the curvature it meets on its way.

The network has one hidden layer of tanh and reads real handwritten digits. All its numbers are
one vector θ, so that its loss is a function of one vector.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm.errors import ConfigError
from mathlm.reference import gradient, hessian_vector_product
from mathlm.text.corpora.digits import load

from .curvature import best_step, sharpness

PIXELS, CLASSES = 64, 10


def digits(count: int = 200) -> tuple[ndarray, ndarray]:
    """Centered pixels (N, 64) divided by 8, and one-hot labels (N, 10)."""
    pixels, labels = load()
    if not 1 <= count <= len(labels):
        raise ConfigError(f"count={count} must be in 1 ... {len(labels)}, the digits there are")
    return (pixels[:count] - pixels[:count].mean(axis=0)) / 8, np.eye(CLASSES)[labels[:count]]


def initial(rng: np.random.Generator, hidden: int = 8, scale: float = 0.1) -> ndarray:
    """Random weights of standard deviation scale/√inputs, biases 0, as one vector."""
    first = rng.normal(size=hidden * PIXELS) * scale / np.sqrt(PIXELS)
    second = rng.normal(size=CLASSES * hidden) * scale / np.sqrt(hidden)
    return np.concatenate([first, np.zeros(hidden), second, np.zeros(CLASSES)])


def squared_loss(X: ndarray, Y: ndarray, hidden: int = 8) -> Callable[[Any], Any]:
    """Half the squared error, mean over the digits, as a function of θ."""
    sizes = [hidden * PIXELS, hidden, CLASSES * hidden, CLASSES]
    ends = np.cumsum(sizes)

    def loss(theta: Any) -> Any:
        W1 = theta[: ends[0]].reshape(hidden, PIXELS)
        W2 = theta[ends[1] : ends[2]].reshape(CLASSES, hidden)
        h = np.tanh(X @ W1.T + theta[ends[0] : ends[1]])  # (N, hidden)
        error = h @ W2.T + theta[ends[2] :] - Y  # (N, 10)
        return (error * error).sum() / (2 * len(X))

    return loss


def descend(
    loss: Callable[[Any], Any],
    theta: ndarray,
    step: float | int,
    steps: int = 500,
    every: int = 10,
) -> dict[str, ndarray]:
    """Gradient descent; loss and largest curvature every ``every`` steps, and θ at the end."""
    if not step > 0 or min(steps, every) < 1:
        raise ConfigError(f"step={step}, steps={steps} and every={every} must be positive")
    rows = []
    v = np.random.default_rng(0).normal(size=theta.size)
    for t in range(steps + 1):
        if t:
            theta = theta - step * gradient(loss, theta)
        if t % every == 0:
            curvature, v = sharpness(loss, theta, v, steps=12 if t else 60)
            rows.append((t, float(loss(theta)), curvature))
    columns = zip(("step", "loss", "sharpness"), np.array(rows).T, strict=True)
    return dict(columns) | {"theta": theta}


def along_gradient(
    loss: Callable[[Any], Any], theta: ndarray, points: int = 60
) -> dict[str, Any]:
    """The loss on the line down its gradient, with the tangent and the parabola at the start.

    Returns:
        "steps" η from 0 to 2.4 times "best", the lowest point of the parabola; "losses",
        "parabola" and "tangent" there; the "curvature" along the gradient.
    """
    g = gradient(loss, theta)
    value, _, Hg = hessian_vector_product(loss, theta, g)
    best, square = best_step(g, Hg), float(g @ g)
    steps = np.linspace(0, 2.4 * best, points)
    return {
        "steps": steps,
        "losses": np.array([float(loss(theta - step * g)) for step in steps]),
        "parabola": value - steps * square + 0.5 * steps**2 * float(g @ Hg),
        "tangent": value - steps * square,
        "best": best,
        "curvature": 1 / best,
    }
