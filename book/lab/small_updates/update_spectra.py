"""The singular values of what training changed in a matrix, and what chance would give."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy import ndarray

from mathlm import reference as ref

RANKS = (1, 2, 4, 8, 16, 32, 64, 128)


def spectrum(update: ndarray, start: ndarray) -> dict[str, Any]:
    """Size and shape of one update.

    Args:
        update: ΔW.
        start: W before.

    Returns:
        ``norm`` ‖ΔW‖_F, ``relative`` to ‖W‖_F, ``effective_rank`` and its value by ``chance``,
        ``energy`` that each of :data:`RANKS` keeps, ``rank_90`` that keeps 90 % of it, and
        ``sigma``.
    """
    sigma = np.linalg.svd(update, compute_uv=False)
    kept = ref.energy_kept(sigma)
    return {
        "shape": update.shape,
        "norm": float(np.linalg.norm(update)),
        "relative": float(np.linalg.norm(update) / np.linalg.norm(start)),
        "effective_rank": ref.effective_rank(sigma),
        "chance": by_chance(update.shape),
        "energy": [float(kept[min(k, len(kept)) - 1]) for k in RANKS],
        "rank_90": int(np.argmax(kept >= 0.9)) + 1,
        "sigma": rounded(sigma),
    }


def rounded(sigma: ndarray, digits: int = 4) -> list[float]:
    """Singular values with so many digits, as a record keeps them."""
    return [float(f"{s:.{digits}g}") for s in sigma]


def by_chance(shape: Sequence[int], seed: int = 0) -> float:
    """Effective rank of a matrix of independent normal entries."""
    noise = np.random.default_rng(seed).normal(size=shape)
    return ref.effective_rank(np.linalg.svd(noise, compute_uv=False))


def spectra(
    after: Mapping[str, ndarray], before: Mapping[str, ndarray], keep: str = ""
) -> dict[str, Any]:
    """:func:`spectrum` of every matrix; ``sigma`` of those whose name begins with ``keep``."""
    found = {}
    for name, start in before.items():
        start = start.astype(np.float64)
        found[name] = spectrum(after[name].astype(np.float64) - start, start)
        if not name.startswith(keep):
            del found[name]["sigma"]
    return found


def product(update: ndarray, full: ndarray, rank: int) -> dict[str, Any]:
    """Singular values of an update of low rank, and how much it shares with a full one.

    Computes::

        overlap = ‖Uᵀ U'‖² / r,   U, U' the first r left singular vectors of either

    1 if both write the same r directions, r / rows for r directions by chance.
    """
    U, sigma, _ = np.linalg.svd(update.astype(np.float64), full_matrices=False)
    other, _, _ = np.linalg.svd(full.astype(np.float64), full_matrices=False)
    shared = U[:, :rank].T @ other[:, :rank]
    return {
        "sigma": rounded(sigma[:rank]),
        "effective_rank": ref.effective_rank(sigma[:rank]),
        "overlap": float(np.sum(shared**2) / rank),
        "overlap_by_chance": rank / len(U),
    }


def lowest(lrs: Sequence[float], losses: Sequence[float]) -> float:
    """Step size at the lowest point of the parabola through the least loss and its neighbors.

    In the logarithm of the step size; at an end of the list, the end.
    """
    i = int(np.argmin(losses))
    if i in (0, len(lrs) - 1):
        return float(lrs[i])
    x = np.log(np.asarray(lrs[i - 1 : i + 2], dtype=float))
    a, b, _ = np.polyfit(x, losses[i - 1 : i + 2], 2)
    return float(np.exp(-b / (2 * a)))
