"""Gradient descent on a small network, and the curvature it meets on its way.

The network has one hidden layer of tanh and reads real handwritten digits. All its numbers are
one vector θ, so that its loss is a function of one vector.
"""

from collections.abc import Callable, Sequence
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
    """Half the squared error, mean over the digits, as a function of θ.

    Several θ as rows give the sum of their losses.
    """
    sizes = [hidden * PIXELS, hidden, CLASSES * hidden, CLASSES]
    ends = np.cumsum(sizes)

    def loss(theta: Any) -> Any:
        runs = theta.shape[:-1]
        W1 = theta[..., : ends[0]].reshape(*runs, hidden, PIXELS)
        b1 = theta[..., ends[0] : ends[1]].reshape(*runs, hidden, 1)
        W2 = theta[..., ends[1] : ends[2]].reshape(*runs, CLASSES, hidden)
        b2 = theta[..., ends[2] :].reshape(*runs, CLASSES, 1)
        error = W2 @ np.tanh(W1 @ X.T + b1) + b2 - Y.T  # (10, N): one digit a column
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
    return descend_all(loss, [theta], [step], steps, every)[step][0]


def descend_all(
    loss: Callable[[Any], Any],
    starts: Sequence[ndarray],
    sizes: Sequence[float | int],
    steps: int = 500,
    every: int = 10,
) -> dict[float, list[dict[str, ndarray]]]:
    """:func:`descend` with every step size from every start, all runs side by side.

    Args:
        loss: Of θ; of several θ as rows, the sum of their losses.
        starts: Each a θ.
        sizes: Step sizes, all different.
        steps: Number of steps.
        every: Steps between two measurements.

    Returns:
        For each step size one run a start: "step", "loss", "sharpness", and "theta" at the end.

    Raises:
        ConfigError: If a step size, ``steps`` or ``every`` is not positive.
    """
    if not all(size > 0 for size in sizes) or min(steps, every) < 1:
        raise ConfigError(f"sizes={sizes}, steps={steps} and every={every} must be positive")
    theta = np.tile(starts, (len(sizes), 1))
    step = np.repeat(np.asarray(sizes, float), len(starts))[:, None]
    v = np.tile(np.random.default_rng(0).normal(size=theta.shape[1]), (len(theta), 1))
    at, rows = range(0, steps + 1, every), []
    for t in range(steps + 1):
        if t:
            theta = theta - step * gradient(loss, theta)
        if t in at:
            curvature, v = sharpness(loss, theta, v, steps=12 if t else 60)
            rows.append([[float(loss(one)) for one in theta], curvature])
    losses, curvatures = np.array(rows).transpose(1, 2, 0)  # (runs, measurements)
    runs = [
        {"step": np.array(at), "loss": a, "sharpness": b, "theta": c}
        for a, b, c in zip(losses, curvatures, theta, strict=True)
    ]
    n = len(starts)
    return {size: runs[i * n : (i + 1) * n] for i, size in enumerate(sizes)}


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
