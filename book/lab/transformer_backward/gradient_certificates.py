"""How far every gradient of a model is from what its own loss says, one probe a parameter."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy import ndarray
from numpy.random import Generator

from mathlm.errors import InputError

Weights = Mapping[str, ndarray]


def probe_errors(
    loss: Callable[[dict[str, ndarray]], float],
    weights: Weights,
    gradients: Weights,
    steps: Sequence[float],
    rng: Generator,
) -> dict[str, ndarray]:
    """Relative error of each gradient against differences of the loss along a random direction.

    Implements eq-backward-probe::

        |⟨g, δ⟩ - (ℓ(θ + hδ) - ℓ(θ - hδ)) / 2h| / ‖g‖,   δ ~ N(0, 1) in every entry

    If the gradient is off by e, ⟨e, δ⟩ has mean 0 and standard deviation ‖e‖: the probe finds
    about ‖e‖ / ‖g‖, for two losses an array in place of two an entry. δ must not depend on g:
    a gradient with a part missing passes along itself.

    Args:
        loss: ℓ of all weights.
        weights: Point θ, by name.
        gradients: g of the arrays that are to be probed, by name; none may be 0.
        steps: h.
        rng: Random generator.

    Returns:
        One error a step, by name.

    Raises:
        InputError: If a gradient belongs to no weight or has another shape, or is 0, which
            leaves nothing to divide by.
    """
    for name, g in gradients.items():
        if name not in weights or weights[name].shape != g.shape:
            shape = weights[name].shape if name in weights else "no weight"
            raise InputError(f"gradient {name!r} of shape {g.shape} belongs to {shape}")
        if not np.any(g):
            raise InputError(f"gradient {name!r} is 0: a relative error divides by its size")
    return {
        name: _probe(loss, dict(weights), g, name, steps, rng) for name, g in gradients.items()
    }


def _probe(
    loss: Callable[[dict[str, ndarray]], float],
    weights: dict[str, ndarray],
    gradient: ndarray,
    name: str,
    steps: Sequence[float],
    rng: Generator,
) -> ndarray:
    direction, errors = rng.normal(size=gradient.shape), []
    claimed = float((gradient * direction).sum())
    for h in steps:
        ahead, behind = (
            loss(weights | {name: weights[name] + s * h * direction}) for s in (1, -1)
        )
        errors.append(abs(claimed - (ahead - behind) / (2 * h)))
    return np.array(errors) / np.linalg.norm(gradient)


__all__ = ["probe_errors"]
