"""Why offsets between word vectors agree: ratios of context probabilities."""

import numpy as np
from numpy import ndarray

from mathlm.errors import InputError
from mathlm.reference.arrays import Numbers, finite_array, require_same_shape


def log_ratio(a: Numbers, b: Numbers, keep: ndarray | None = None) -> ndarray:
    """How many times likelier each context is beside one word than beside another.

    Implements eq-analogy-ratio::

        log( P(c | a) / P(c | b) ) = PMI(a, c) - PMI(b, c),   P(c | a) = n_ac / Σ_c n_ac

    Args:
        a: How often each context occurs beside the first word.
        b: The same for the second word.
        keep: True for the contexts wanted; None = all. The sums are over all of them.

    Returns:
        Log ratios [nats] of the contexts wanted.

    Raises:
        InputError: If the counts do not fit each other, one is negative or too large for a
            sum, or a context that is wanted has no count beside one of the words: its ratio
            would be 0 or infinite.

    Example:
        >>> log_ratio([3, 1], [1, 1]).round(3).tolist()
        [0.405, -0.693]
    """
    a, b = finite_array(a, "a"), finite_array(b, "b")
    require_same_shape(a, b, ("a", "b"))
    keep = np.ones(a.shape, dtype=bool) if keep is None else np.asarray(keep)
    if a.ndim != 1 or keep.shape != a.shape or keep.dtype != bool:
        raise InputError(
            f"counts {a.shape} and keep {keep.shape} {keep.dtype}: expected one axis, and bool"
        )
    for name, counts in (("a", a), ("b", b)):
        if counts.min() < 0 or counts.max() > 1e300 / len(counts):
            raise InputError(
                f"{name} holds counts from {counts.min():g} to {counts.max():g}; expected none "
                f"below 0 and none above {1e300 / len(counts):g}"
            )
    x, y = a[keep], b[keep]
    if (np.minimum(x, y) <= 0).any():
        first = int(np.flatnonzero(keep)[np.argmax(np.minimum(x, y) <= 0)])
        raise InputError(
            f"context {first} has counts {a[first]:g} and {b[first]:g}: no log ratio"
        )
    return np.log(x / a.sum()) - np.log(y / b.sum())


def parallelogram_gap(C: ndarray, epsilon: Numbers) -> tuple[ndarray, np.float64]:
    """By how much four word vectors miss a parallelogram when their log ratios differ.

    Implements eq-analogy-error::

        C δ = ε,   ‖δ‖ ≤ ‖ε‖ / σ_min(C)

    Where ε is not in reach of C, δ is the gap whose scores come nearest.

    Args:
        C: Context vectors (V, D), which span all D dimensions.
        epsilon: Difference of the two log ratios at each context (V) [nats].

    Returns:
        δ (D), and the bound of its length.

    Raises:
        InputError: If the shapes do not fit, an entry is not finite, or C does not span the
            space: then the scores leave directions open.
    """
    C, epsilon = finite_array(C, "C"), finite_array(epsilon, "epsilon")
    if C.ndim != 2 or epsilon.shape != C.shape[:1]:
        raise InputError(f"C {C.shape} and epsilon {epsilon.shape}: expected (V, D) and (V,)")
    U, sigma, Vt = np.linalg.svd(C, full_matrices=False)
    if len(C) < C.shape[1] or sigma[-1] <= 1e-12 * sigma[0]:
        raise InputError(
            f"{len(C)} context vectors do not span {C.shape[1]} dimensions (smallest singular "
            f"value {sigma[-1]:.3g}): vectors with the same scores may differ"
        )
    return Vt.T @ ((U.T @ epsilon) / sigma), np.hypot.reduce(epsilon) / sigma[-1]


__all__ = ["log_ratio", "parallelogram_gap"]
