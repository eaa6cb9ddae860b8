"""How large a signal and its gradient are at each depth of a plain network."""

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import finite_array
from mathlm.reference.network import activation as activations
from mathlm.shapes import Float

NAMES = ("relu", "tanh", "sigmoid")


def signal_by_depth(
    x: Float[ndarray, "B D"],
    weights: Sequence[Float[ndarray, "..."]],
    activation: str,
    dy: Float[ndarray, "B D"],
) -> tuple[Float[ndarray, " L"], Float[ndarray, " L"]]:
    """Root mean square of activations and of gradients, layer by layer.

    Computes::

        h_l = φ(h_{l-1} W_lᵀ),  h_0 = x          forward[l]  = rms(h_l)
        δ_{l-1} = (δ_l ⊙ φ'(z_l)) W_l,  δ_L = dy  backward[l] = rms(δ_l)

    Args:
        x: Inputs, one row for each example.
        weights: Square matrices W_1 … W_L, stored (out, in).
        activation: φ: "relu", "tanh" or "sigmoid".
        dy: Gradient of a loss in the last activations, of the shape of x.

    Returns:
        (forward, backward): rms of h_l and of the gradient in h_{l-1}, for l = 1 … L.

    Raises:
        InputError: If the activation is not known, there are no weights, a matrix does not fit,
            or a signal is not finite.
    """
    if activation not in NAMES or not len(weights):
        raise InputError(
            f"activation={activation!r} with {len(weights)} layers: choose one of "
            f"{', '.join(NAMES)} and give at least one matrix"
        )
    apply = getattr(activations, activation)
    pull_back = getattr(activations, f"{activation}_backward")
    forward, caches, x = [], [], finite_array(x, "x")
    for layer, W in enumerate(weights, start=1):
        if np.ndim(W) != 2 or np.shape(W)[1] != x.shape[-1]:
            raise InputError(
                f"weights of layer {layer} have shape {np.shape(W)}, inputs {x.shape}"
            )
        with np.errstate(over="ignore", invalid="ignore"):
            z = x @ W.T
        x, cache = apply(z)
        forward.append(_rms(x))
        caches.append(cache)
    backward = []
    for W, cache in zip(reversed(weights), reversed(caches), strict=True):
        dy = pull_back(dy, cache) @ W
        backward.append(_rms(dy))
    return np.array(forward), np.array(backward[::-1])


def _rms(x: ndarray) -> float:
    largest = float(np.abs(x).max()) or 1.0
    return largest * float(np.sqrt(((x / largest) ** 2).mean()))
